//! Which traits a reference implements beside its own.
//!
//! The macro sees the names of a trait's super-traits and nothing else of them, not even where they
//! are declared. It hangs everything on the one type that a trait's name gives: `dyn Trait`.
//!
//! ```text
//!  trait Gold: Account        dyn Gold: Extends<dyn Gold>
//!                             dyn Gold: Extends<K>         for all K with dyn Account: Extends<K>
//!                             GoldRef:  Inherits<dyn Gold>
//!                             GoldRef:  Inherits<K>        for all K with dyn Account: Extends<K>
//! ```
//!
//! Neither line may be said twice of one `K`, or the `impl`s overlap. So a trait with several
//! remote super-traits, which may have ancestors in common, says the second line once for each
//! trait that it lists, and for those only.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::Generics;
use syn::spanned::Spanned;

use super::{bounds, key, object, super_key};
use crate::interface::Interface;

pub(super) fn impls(interface: &Interface) -> TokenStream {
    let (key, object, reference) = (key(interface), object(interface), interface.reference());
    let own = &bounds::own(interface);
    let (generics, arguments, clause) = own.split_for_impl();
    let reference = quote!(#reference #arguments);
    let above_reference = ancestors(interface, own, &quote!(Inherits), &reference);
    let extends = interface.inheritable.then(|| {
        let above = ancestors(interface, own, &quote!(Extends), &key);
        quote! {
            impl #generics ::rmi::__private::Extends<#key> for #key #clause {}
            #above
        }
    });
    quote! {
        impl #generics ::rmi::__private::Remote for #key #clause {
            type Object = #object;
        }

        impl #generics ::rmi::__private::Typed for #reference #clause {
            type Trait = #key;
        }

        #[doc(hidden)]
        impl #generics ::rmi::__private::Inherits<#key> for #reference #clause {
            fn object(
                &self,
            ) -> ::core::option::Option<::std::borrow::Cow<'_, ::rmi::__private::Arc<#object>>> {
                // A short cut that only the reference of the trait itself has.
                ::core::option::Option::map(self.inner.local(), ::std::borrow::Cow::Borrowed)
            }
        }

        #extends
        #above_reference
    }
}

/// `Inherits` or `Extends` for everything above the trait.
fn ancestors(
    interface: &Interface,
    own: &Generics,
    relation: &TokenStream,
    of: &TokenStream,
) -> TokenStream {
    if let [parent] = interface.supers.as_slice() {
        let (parent, ancestor) = (super_key(parent), format_ident!("__Ancestor"));
        let extends = quote_spanned! {parent.span()=>
            #parent: ::rmi::__private::Extends<#ancestor>
        };
        let mut open = bounds::with(own.clone(), &ancestor);
        let bound = quote!(#ancestor: ?::core::marker::Sized + ::rmi::__private::Remote);
        bounds::require(&mut open, bound);
        bounds::require(&mut open, extends);
        let (generics, _, clause) = open.split_for_impl();
        return quote! {
            #[doc(hidden)]
            impl #generics ::rmi::__private::#relation<#ancestor> for #of #clause {}
        };
    }
    let (generics, _, clause) = own.split_for_impl();
    let each = interface.supers.iter().map(|parent| {
        let parent = super_key(parent);
        quote! {
            #[doc(hidden)]
            impl #generics ::rmi::__private::#relation<#parent> for #of #clause {}
        }
    });
    quote!(#(#each)*)
}
