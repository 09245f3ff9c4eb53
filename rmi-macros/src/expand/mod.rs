//! From a checked interface to the code that stands in for the trait.
//!
//! Next to the trait stand the reference and the hidden object-safe twin; everything else is put
//! into a `const _` block, where its names meet nobody else's. Names inside functions have the
//! hygiene of `macro_rules!`; paths are absolute, so that neither a missing prelude nor a user's
//! own `Result` matters.

mod assertions;
mod bounds;
mod lineage;
mod reference;
mod skeleton;
mod stub;
mod twin;

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, Ident, Path, TypeParamBound};

use crate::interface::{Argument, Interface, Method, bare};

/// The trait, its reference, and what connects them.
pub(crate) fn expand(interface: &Interface) -> TokenStream {
    let cfgs: Vec<_> = interface.attrs.iter().filter(|attr| attr.path().is_ident("cfg")).collect();
    let the_trait = the_trait(interface);
    let twin = twin::item(interface);
    let reference = reference::item(interface);
    let methods = method_constants(interface);
    let parts = [
        assertions::assertions(interface),
        twin::impls(interface),
        reference::impls(interface),
        lineage::impls(interface),
        stub::impls(interface),
        skeleton::impls(interface),
    ];
    quote! {
        #the_trait

        #(#cfgs)*
        #twin

        #(#cfgs)*
        #reference

        #(#cfgs)*
        #[allow(deprecated, unused_qualifications, unused_variables)]
        #[allow(clippy::all, clippy::pedantic, clippy::nursery)]
        const _: () = {
            #methods
            #(#parts)*
        };
    }
}

/// The trait as users implement it: with plain `async fn`s, whose futures must be `Send`.
///
/// `where Self: Sized` leaves `dyn Trait` a type. Nobody has an object of it, but it names the
/// trait in type position: `Remote` leads from there to the reference (see `lineage`).
fn the_trait(interface: &Interface) -> TokenStream {
    let Interface { attrs, vis, ident, generics, bounds, .. } = interface;
    let clause = &generics.where_clause;
    let methods = interface.methods.iter().map(|method| {
        let Method { attrs, ident, output, .. } = method;
        let arguments = method.arguments.iter().map(|argument| {
            let Argument { attrs, ident, ty, mutable, .. } = argument;
            let mutable = mutable.then(|| quote!(mut));
            quote!(#(#attrs)* #mutable #ident: #ty)
        });
        let body = match &method.default {
            Some(body) => quote!({ async move #body }),
            None => quote!(;),
        };
        let quiet = method.default.as_ref().map(|_| quote!(#[allow(clippy::manual_async_fn)]));
        quote! {
            #(#attrs)*
            #quiet
            fn #ident(&self, #(#arguments),*)
                -> impl ::rmi::__private::Future<Output = #output> + ::core::marker::Send
            where
                Self: ::core::marker::Sized
            #body
        }
    });
    let missing = missing_bounds(bounds);
    quote! {
        #(#attrs)*
        #vis trait #ident #generics: #(#bounds +)* #(#missing +)* 'static #clause {
            #(#methods)*
        }
    }
}

/// `Send` and `Sync`, unless the user wrote them already.
fn missing_bounds(bounds: &[TypeParamBound]) -> impl Iterator<Item = TokenStream> {
    let written = |name: &str| {
        bounds.iter().any(|bound| match bound {
            TypeParamBound::Trait(bound) => {
                bound.path.segments.last().is_some_and(|last| last.ident == name)
            }
            _ => false,
        })
    };
    let required = [("Send", quote!(::core::marker::Send)), ("Sync", quote!(::core::marker::Sync))];
    required.into_iter().filter(move |(name, _)| !written(name)).map(|(_, path)| path)
}

/// One constant for each method and for its id, and the proof that no two ids are the same.
fn method_constants(interface: &Interface) -> TokenStream {
    let interface_name = &interface.name;
    let constants = interface.methods.iter().enumerate().map(|(position, method)| {
        let (constant, id) = (constant(position), id(position));
        let (name, signature) = (bare(&method.ident), &method.signature);
        let cfgs: Vec<_> = method.cfgs().collect();
        quote! {
            #(#cfgs)*
            const #constant: ::rmi::__private::Method =
                ::rmi::__private::Method::new(#interface_name, #name, #signature);
            #(#cfgs)*
            const #id: ::core::primitive::u32 = #constant.id;
        }
    });
    let ids = interface.methods.iter().enumerate().map(|(position, method)| {
        let (cfgs, id) = (method.cfgs(), id(position));
        quote!(#(#cfgs)* #id)
    });
    let message = format!("two methods of `{interface_name}` have the same id: rename one of them");
    let at = interface.ident.span();
    // The loops are spelled out because `for` is not `const`.
    let (all, one, other) = (local("all"), local("one"), local("other"));
    let unique = quote_spanned! {at=>
        const _: () = {
            let #all: &[::core::primitive::u32] = &[#(#ids),*];
            let mut #one = 0;
            while #one < #all.len() {
                let mut #other = #one + 1;
                while #other < #all.len() {
                    ::core::assert!(#all[#one] != #all[#other], #message);
                    #other += 1;
                }
                #one += 1;
            }
        };
    };
    quote!(#(#constants)* #unique)
}

/// The constant that describes a method.
fn constant(position: usize) -> Ident {
    format_ident!("__METHOD_{position}")
}

/// The constant that is its id; a constant, because it stands in patterns.
fn id(position: usize) -> Ident {
    format_ident!("__ID_{position}")
}

/// The method as a value. In a generic interface its fingerprint covers the type arguments.
fn method_value(interface: &Interface, position: usize) -> TokenStream {
    let constant = constant(position);
    if !interface.is_generic() {
        return quote!(#constant);
    }
    let object = object(interface);
    quote!(#constant.of_types(<#object as ::rmi::__private::Interface>::types()))
}

/// `dyn __AccountObject`.
fn object(interface: &Interface) -> TokenStream {
    let twin = interface.twin();
    let (_, arguments, _) = interface.generics.split_for_impl();
    quote!((dyn #twin #arguments + 'static))
}

/// The type that stands for the trait where one trait's reference inherits from another: `dyn
/// Account`. Whoever names the trait can name it, from any crate and under any alias. The twin has
/// to do if `dyn Account` is no type; then the trait has no heirs.
fn key(interface: &Interface) -> TokenStream {
    if !interface.inheritable {
        return object(interface);
    }
    let ident = &interface.ident;
    let (_, arguments, _) = interface.generics.split_for_impl();
    quote!((dyn #ident #arguments + 'static))
}

/// `dyn Audit` for a super-trait, wherever it is declared and whatever it is imported as.
fn super_key(path: &Path) -> TokenStream {
    quote_spanned!(path.span()=> (dyn #path + 'static))
}

/// A local variable that cannot be mistaken for one of the user's, nor, by its underscores, for
/// a constant: in a pattern the compiler would take it for that.
fn local(name: &str) -> Ident {
    format_ident!("__{name}", span = Span::mixed_site())
}

/// What of the trait's attributes is true of its reference as well.
fn inherited_attrs(interface: &Interface) -> impl Iterator<Item = &Attribute> {
    let kept =
        |attr: &&Attribute| attr.path().is_ident("doc") || attr.path().is_ident("deprecated");
    interface.attrs.iter().filter(kept)
}
