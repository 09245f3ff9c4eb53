//! The attribute `#[remote]`: a trait becomes an interface whose objects can be referred to from
//! other nodes.
//!
//! Use it through the crate `rmi`, whose paths the generated code names. The way of a trait
//! through this crate: `parse` reads the tokens, `check` finds everything that cannot cross a
//! wire and reports all of it at once, `expand` writes the reference, the stub and the skeleton.

#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "syn's enums are not ours, grow with the language, and want a wildcard"
)]

mod check;
mod expand;
mod interface;
mod owned;
mod parse;
mod signature;
#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

/// Makes a trait a remote interface.
///
/// For a trait `Account` this generates `AccountRef`, a reference to an object that implements
/// `Account` on this node or on any other. It is cloned, compared, sent and stored like an
/// `Arc<dyn Account>`, and implements `Account` itself.
///
/// ```text
/// #[rmi::remote]
/// pub trait Account {
///     async fn balance(&self) -> rmi::Result<i64>;
///     async fn rename(&self, name: &str) -> rmi::Result<()>;
///     #[remote(oneway)]
///     async fn note(&self, text: String) -> rmi::Result<()>;
/// }
///
/// struct Savings;
///
/// impl Account for Savings {
///     async fn balance(&self) -> rmi::Result<i64> {
///         Ok(12)
///     }
///     // ...
/// }
/// ```
///
/// # What a method looks like
///
/// Every method is an `async fn` that takes `&self` and returns a `Result`. Its arguments are
/// `Serialize + DeserializeOwned`, or borrows of such, one level deep: `&str`, `&[T]`, `&T`,
/// `&Path`. Its error type is `Serialize + DeserializeOwned + From<rmi::Error>`. A method with a
/// body runs that body at the object's home, unless the object has a better one.
///
/// # Options
///
/// - `#[remote(name = "bank.Account")]` on the trait: the name by which nodes know the interface;
///   by default the trait's own.
/// - `#[remote(oneway)]` on a method that returns `Result<()>`: the call is over once it is handed
///   to the session; nothing comes back, not even a failure.
///
/// # Super-traits
///
/// A super-trait is remote itself, or one of those that every reference has (`Send`, `Sync`,
/// `Debug`, `Eq`, `Hash`, `Clone`, `Any`, `Unpin`, ...). With one remote super-trait, the
/// reference inherits that one's super-traits too; a trait with several lists all that it
/// inherits: `trait Dog: Pet + Guard + Animal`.
#[proc_macro_attribute]
pub fn remote(options: TokenStream, item: TokenStream) -> TokenStream {
    expand(options.into(), item.into()).into()
}

/// The attribute on ordinary tokens, as unit tests have them.
fn expand(
    options: proc_macro2::TokenStream,
    item: proc_macro2::TokenStream,
) -> proc_macro2::TokenStream {
    let parsed = match parse::parse(options, item) {
        Ok(parsed) => parsed,
        Err(error) => return error,
    };
    match check::check(parsed) {
        Ok(interface) => expand::expand(&interface),
        Err(error) => error.into_compile_error(),
    }
}
