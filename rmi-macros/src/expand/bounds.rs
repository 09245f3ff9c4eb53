//! Generics of the generated `impl`s: the trait's own, and what its types must be able to do.
//!
//! Bounds are put on the types that methods use, not on the trait's parameters: a `Cell<T>` that
//! passes `Vec<T>` needs `Vec<T>: Argument` and nothing of `T`. Types without parameters are
//! bounded as well. That adds nothing when they are what they should be; when they are not, the
//! compiler complains about the bound, under the type and in our words, and takes it for granted
//! in the code below, which then is not complained about again.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{GenericParam, Generics, Ident, Type, TypeParam, WherePredicate, parse_quote};

use crate::interface::{Interface, Method};
use crate::owned::plain;

/// The trait's parameters, bounds and `where` clause. `dyn` needs the parameters to be `'static`.
pub(super) fn own(interface: &Interface) -> Generics {
    let mut generics = interface.generics.clone();
    let params: Vec<_> = generics.type_params().map(|param| param.ident.clone()).collect();
    let clause = generics.make_where_clause();
    clause
        .predicates
        .extend(params.iter().map(|param| -> WherePredicate { parse_quote!(#param: 'static) }));
    generics
}

/// The same, where calls are encoded or decoded.
pub(super) fn travelling(interface: &Interface) -> Generics {
    let mut generics = own(interface);
    let params = Params::of(&interface.generics);
    let clause = generics.make_where_clause();
    for method in &interface.methods {
        let of_method = predicates(method, &params);
        // A predicate cannot be configured away, and the types of such a method may not exist.
        let conditional = method.cfgs().next().is_some();
        let kept = of_method.into_iter().filter(|bound| !conditional || params.are_in(bound));
        clause.predicates.extend(kept);
    }
    generics
}

/// With one more type parameter.
pub(super) fn with(mut generics: Generics, param: &Ident) -> Generics {
    generics.params.push(GenericParam::Type(TypeParam::from(param.clone())));
    generics
}

/// Adds to the `where` clause.
pub(super) fn require(generics: &mut Generics, predicate: TokenStream) {
    generics.make_where_clause().predicates.push(parse_quote!(#predicate));
}

fn predicates(method: &Method, params: &Params) -> Vec<WherePredicate> {
    let mut predicates = Vec::new();
    for argument in &method.arguments {
        let (written, owned) = (&argument.ty, &argument.owned);
        let at = written.span();
        let Type::Reference(borrow) = plain(written) else {
            predicates.push(quote_spanned!(at=> #owned: ::rmi::__private::Argument));
            continue;
        };
        predicates.push(quote_spanned!(at=> #owned: ::rmi::__private::BorrowedArgument));
        let lent = &borrow.elem;
        if params.are_in(lent) {
            // `Vec<T>: Serialize` does not imply it of `[T]`.
            predicates.push(quote_spanned! {at=>
                #lent: ::rmi::__private::serde::Serialize + ::core::marker::Sync
            });
        }
    }
    let output = &method.output;
    let at = output.span();
    let outcome = quote_spanned!(at=> <#output as ::rmi::__private::Outcome>);
    if method.oneway {
        predicates.push(quote_spanned!(at=> #output: ::rmi::__private::Outcome<Value = ()>));
    } else {
        predicates.push(quote_spanned!(at=> #output: ::rmi::__private::Outcome));
        predicates.push(quote_spanned!(at=> #outcome::Value: ::rmi::__private::Value));
    }
    predicates.push(quote_spanned!(at=> #outcome::Error: ::rmi::__private::ErrorValue));
    predicates.into_iter().map(|predicate| parse_quote!(#predicate)).collect()
}

/// The names of a trait's parameters.
struct Params(Vec<Ident>);

impl Params {
    fn of(generics: &Generics) -> Self {
        let names = generics.params.iter().filter_map(|param| match param {
            GenericParam::Type(param) => Some(param.ident.clone()),
            GenericParam::Const(param) => Some(param.ident.clone()),
            GenericParam::Lifetime(_) => None,
        });
        Self(names.collect())
    }

    /// Whether one of them is mentioned. A field or module of the same name counts too: a bound
    /// that is always true does no harm.
    fn are_in(&self, tokens: &impl ToTokens) -> bool {
        self.are_in_stream(tokens.to_token_stream())
    }

    fn are_in_stream(&self, tokens: TokenStream) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Ident(ident) => self.0.contains(&ident),
            TokenTree::Group(group) => self.are_in_stream(group.stream()),
            TokenTree::Punct(_) | TokenTree::Literal(_) => false,
        })
    }
}

/// `(T, [(); N])`: a type that tells all instances of a generic interface apart.
pub(super) fn arguments_as_type(generics: &Generics) -> TokenStream {
    let arguments = generics.params.iter().map(|param| match param {
        GenericParam::Type(param) => param.ident.to_token_stream(),
        GenericParam::Const(param) => {
            let name = &param.ident;
            quote!([(); #name])
        }
        GenericParam::Lifetime(param) => param.to_token_stream(),
    });
    quote!((#(#arguments,)*))
}
