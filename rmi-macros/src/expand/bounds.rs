//! Generics of the generated `impl`s: the trait's own, and what its types must be able to do.
//!
//! Bounds are put on the types that methods use, not on the trait's parameters: a `Cell<T>` that
//! passes `Vec<T>` needs `Vec<T>: Argument` and nothing of `T`.
//!
//! Types without parameters are bounded as well, so that one that cannot travel is complained about
//! once, in `assertions`, and not again wherever generated code handles it. The compiler would
//! report such a bound itself, in words of its own, if it could see that no parameter is in it;
//! hence the detour through `Deferred`, which is the type itself for any `impl` in particular.

use proc_macro2::{Span, TokenStream, TokenTree};
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

/// The same, where calls are encoded or decoded on behalf of `of`, one more type parameter.
pub(super) fn travelling(interface: &Interface, of: &Ident) -> Generics {
    let mut generics = with(own(interface), of);
    let params = Params::of(&interface.generics);
    let clause = generics.make_where_clause();
    for method in &interface.methods {
        let of_method = predicates(method, of);
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

/// `ty`, though the compiler does not know that before it knows `of`.
pub(super) fn deferred(ty: &impl ToTokens, of: &Ident, at: Span) -> TokenStream {
    quote_spanned!(at=> <#of as ::rmi::__private::Deferred<#ty>>::Type)
}

fn predicates(method: &Method, of: &Ident) -> Vec<WherePredicate> {
    let mut predicates = Vec::new();
    for argument in &method.arguments {
        let (written, owned) = (&argument.ty, &argument.owned);
        let owned = deferred(owned, of, written.span());
        let Type::Reference(borrow) = plain(written) else {
            predicates.push(quote!(#owned: ::rmi::__private::Argument));
            continue;
        };
        predicates.push(quote!(#owned: ::rmi::__private::BorrowedArgument));
        // `Vec<T>: Serialize` does not imply it of `[T]`.
        let lent = deferred(&borrow.elem, of, written.span());
        predicates.push(quote! {
            #lent: ::rmi::__private::serde::Serialize + ::core::marker::Sync
        });
    }
    let output = &method.output;
    let at = output.span();
    let outcome = quote_spanned!(at=> <#output as ::rmi::__private::Outcome>);
    let error = deferred(&quote_spanned!(at=> #outcome::Error), of, at);
    predicates.push(quote!(#error: ::rmi::__private::ErrorValue));
    if method.oneway {
        let output = deferred(output, of, at);
        predicates.push(quote!(#output: ::rmi::__private::Outcome<Value = ()>));
    } else {
        let value = deferred(&quote_spanned!(at=> #outcome::Value), of, at);
        predicates.push(quote!(#value: ::rmi::__private::Value));
    }
    predicates.into_iter().map(|predicate| parse_quote!(#predicate)).collect()
}

/// The names of a trait's parameters.
pub(super) struct Params(Vec<Ident>);

impl Params {
    pub(super) fn of(generics: &Generics) -> Self {
        let names = generics.params.iter().filter_map(|param| match param {
            GenericParam::Type(param) => Some(param.ident.clone()),
            GenericParam::Const(param) => Some(param.ident.clone()),
            GenericParam::Lifetime(_) => None,
        });
        Self(names.collect())
    }

    /// Whether one of them is mentioned. A field or module of the same name counts too: a bound
    /// that is always true does no harm.
    pub(super) fn are_in(&self, tokens: &impl ToTokens) -> bool {
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
