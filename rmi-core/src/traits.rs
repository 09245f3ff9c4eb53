//! What may cross the wire, as bounds that read as sentences when they are not met.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Error;

/// An argument of a remote method.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a remote method",
    label = "must be `Serialize + DeserializeOwned + Send + 'static`",
    note = "derive `serde::Serialize` and `serde::Deserialize` for it"
)]
pub trait Argument: Serialize + DeserializeOwned + Send + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned + Send + 'static> Argument for T {}

/// What an argument of the form `&T` refers to: the handler lends it what was decoded.
#[diagnostic::on_unimplemented(
    message = "`&{Self}` cannot be an argument of a remote method",
    label = "must be `Serialize + DeserializeOwned + Send + Sync + 'static`",
    note = "derive `serde::Serialize` and `serde::Deserialize` for it"
)]
pub trait BorrowedArgument: Argument + Sync {}

#[diagnostic::do_not_recommend]
impl<T: Argument + Sync> BorrowedArgument for T {}

/// What a remote method returns if it succeeds.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the result of a remote method",
    label = "must be `Serialize + DeserializeOwned + Send + 'static`",
    note = "derive `serde::Serialize` and `serde::Deserialize` for it"
)]
pub trait Value: Serialize + DeserializeOwned + Send + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned + Send + 'static> Value for T {}

/// What a remote method returns if it fails: also the failures of the call itself.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of a remote method",
    label = "must be `Serialize + DeserializeOwned + From<rmi::Error> + Send + 'static`",
    note = "a call can fail by itself: implement `From<rmi::Error>`, or return `rmi::Result`"
)]
pub trait ErrorValue: Serialize + DeserializeOwned + From<Error> + Send + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned + From<Error> + Send + 'static> ErrorValue for T {}

/// How the result of a remote method reads: a `Result`, by whatever alias.
#[diagnostic::on_unimplemented(
    message = "a remote method returns a `Result`, not `{Self}`",
    label = "not a `Result`",
    note = "a call can fail by itself: return `rmi::Result<…>`, or a `Result` with an error of \
            your own that is `From<rmi::Error>`"
)]
pub trait Outcome {
    /// What it is if the method succeeds.
    type Value;
    /// What it is if the method or the call fails.
    type Error;
    /// The result itself.
    fn into_result(self) -> Result<Self::Value, Self::Error>;
    /// The way back, for a caller who knows no more of the type than that it is a `Result`.
    fn from_result(result: Result<Self::Value, Self::Error>) -> Self;
}

impl<T, E> Outcome for Result<T, E> {
    type Value = T;
    type Error = E;

    fn into_result(self) -> Self {
        self
    }

    fn from_result(result: Self) -> Self {
        result
    }
}

/// Is `T` itself, whatever `Self` is. Generated `impl`s bound their types by this detour: the
/// compiler judges a bound like `Picture: Argument` where it stands, but this one where it is used.
pub trait Deferred<T: ?Sized> {
    /// `T`.
    type Type: ?Sized;
}

impl<Of: ?Sized, T: ?Sized> Deferred<T> for Of {
    type Type = T;
}

/// Compiles if `T` can be an argument.
pub const fn assert_argument<T: Argument>() {}

/// Compiles if `&T`, or what `T` is the owned form of, can be an argument.
pub const fn assert_borrowed_argument<T: BorrowedArgument>() {}

/// Compiles if a method can return `R`.
pub const fn assert_result<R: Outcome<Value: Value, Error: ErrorValue>>() {}

/// Compiles if a one-way method can return `R`.
pub const fn assert_oneway_result<R: Outcome<Value = (), Error: ErrorValue>>() {}
