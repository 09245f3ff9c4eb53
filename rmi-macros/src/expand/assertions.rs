//! What must be true of the types in a trait, asked once for each, where each stands.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use super::bounds::Params;
use crate::interface::{Interface, Method};

/// Types with parameters are left out: whether those can travel depends on who names them.
pub(super) fn assertions(interface: &Interface) -> TokenStream {
    let params = Params::of(&interface.generics);
    let of_methods = interface.methods.iter().map(|method| of_method(method, &params));
    let ancestors = ancestors(interface);
    quote! {
        const _: fn() = || {
            #(#of_methods)*
            #ancestors
        };
    }
}

/// A trait with several remote super-traits lists those above them as well; else its reference does
/// not implement it. The detour over a type of its own has the compiler tell why.
fn ancestors(interface: &Interface) -> Option<TokenStream> {
    let [first, _, ..] = interface.supers.as_slice() else { return None };
    if interface.is_generic() {
        return None;
    }
    let (ident, reference) = (&interface.ident, interface.reference());
    Some(quote_spanned! {first.span()=>
        struct OfReference<Reference>(Reference);
        trait HasAllAncestors {}
        impl<Reference: #ident> HasAllAncestors for OfReference<Reference> {}
        fn check<T: HasAllAncestors>() {}
        check::<OfReference<#reference>>();
    })
}

fn of_method(method: &Method, params: &Params) -> TokenStream {
    let cfgs: Vec<_> = method.cfgs().collect();
    let arguments = method.arguments.iter().filter(|argument| !params.are_in(&argument.ty));
    let arguments = arguments.map(|argument| {
        let owned = &argument.owned;
        let at = argument.ty.span();
        if argument.borrowed {
            quote_spanned!(at=> ::rmi::__private::assert_borrowed_argument::<#owned>();)
        } else {
            quote_spanned!(at=> ::rmi::__private::assert_argument::<#owned>();)
        }
    });
    let output = &method.output;
    let result = (!params.are_in(output)).then(|| {
        let assertion = if method.oneway {
            quote_spanned!(output.span()=> ::rmi::__private::assert_oneway_result::<#output>())
        } else {
            quote_spanned!(output.span()=> ::rmi::__private::assert_result::<#output>())
        };
        quote!(#assertion;)
    });
    quote! {
        #(#cfgs)*
        {
            #(#arguments)*
            #result
        }
    }
}
