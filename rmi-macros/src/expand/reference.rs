//! The reference: a typed shell around `rmi`'s own, with the traits that every reference has.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::{bounds, inherited_attrs, local, object};
use crate::interface::Interface;

/// `pub struct AccountRef`, with the trait's documentation.
pub(super) fn item(interface: &Interface) -> TokenStream {
    let Interface { vis, ident, generics, .. } = interface;
    let (reference, object) = (interface.reference(), object(interface));
    let clause = &generics.where_clause;
    let attrs = inherited_attrs(interface);
    let paragraph = format!(
        " A remote reference to an object that implements [`{ident}`], on this node or on any \
         other; it implements the trait itself. Cloning it sends nothing. The object lives as \
         long as some reference to it does."
    );
    quote! {
        #(#attrs)*
        #[doc = ""]
        #[doc = #paragraph]
        #vis struct #reference #generics #clause {
            inner: ::rmi::__private::Reference<#object>,
        }
    }
}

/// Identity, printing, travelling, and the way to and from untyped references.
pub(super) fn impls(interface: &Interface) -> TokenStream {
    let reference = interface.reference();
    let name = reference.to_string();
    let own = &bounds::own(interface);
    let (generics, arguments, clause) = own.split_for_impl();
    let decoded = format_ident!("__Decoded");
    let (f, inner, untyped) = (local("f"), local("inner"), local("untyped"));
    let (serializer, deserializer) = (local("serializer"), local("deserializer"));
    let traits = identity(interface);
    let mut with_lifetime = own.clone();
    with_lifetime.params.insert(0, syn::parse_quote!('__de));
    let (de_generics, _, _) = with_lifetime.split_for_impl();
    quote! {
        #traits

        #[automatically_derived]
        impl #generics ::core::fmt::Debug for #reference #arguments #clause {
            fn fmt(&self, #f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                ::core::fmt::Formatter::write_fmt(
                    #f,
                    ::core::format_args!("{}({:?})", #name, self.inner.untyped()),
                )
            }
        }

        #[automatically_derived]
        impl #generics ::rmi::__private::serde::Serialize for #reference #arguments #clause {
            fn serialize<__S>(&self, #serializer: __S) -> ::core::result::Result<__S::Ok, __S::Error>
            where
                __S: ::rmi::__private::serde::Serializer,
            {
                ::rmi::__private::serde::Serialize::serialize(self.inner.untyped(), #serializer)
            }
        }

        #[automatically_derived]
        impl #de_generics ::rmi::__private::serde::Deserialize<'__de> for #reference #arguments
        #clause
        {
            fn deserialize<#decoded>(
                #deserializer: #decoded,
            ) -> ::core::result::Result<Self, #decoded::Error>
            where
                #decoded: ::rmi::__private::serde::Deserializer<'__de>,
            {
                ::rmi::__private::deserialize_reference(#deserializer)
            }
        }

        impl #generics ::rmi::RemoteRef for #reference #arguments #clause {
            fn __untyped(&self) -> &::rmi::__private::Untyped {
                self.inner.untyped()
            }

            fn __from_untyped(
                #untyped: ::rmi::__private::Untyped,
            ) -> ::core::result::Result<Self, ::rmi::Error> {
                let #inner = ::rmi::__private::Reference::from_untyped(#untyped)?;
                ::core::result::Result::Ok(Self { inner: #inner })
            }
        }
    }
}

/// `Clone`, `Eq` and `Hash` by the object's identity, whatever the type parameters can do.
fn identity(interface: &Interface) -> TokenStream {
    let reference = interface.reference();
    let own = &bounds::own(interface);
    let (generics, arguments, clause) = own.split_for_impl();
    let (other, state) = (local("other"), local("state"));
    quote! {
        #[automatically_derived]
        impl #generics ::core::clone::Clone for #reference #arguments #clause {
            fn clone(&self) -> Self {
                Self { inner: ::core::clone::Clone::clone(&self.inner) }
            }
        }

        #[automatically_derived]
        impl #generics ::core::cmp::PartialEq for #reference #arguments #clause {
            fn eq(&self, #other: &Self) -> ::core::primitive::bool {
                ::core::cmp::PartialEq::eq(self.inner.untyped(), #other.inner.untyped())
            }
        }

        #[automatically_derived]
        impl #generics ::core::cmp::Eq for #reference #arguments #clause {}

        #[automatically_derived]
        impl #generics ::core::hash::Hash for #reference #arguments #clause {
            fn hash<__H: ::core::hash::Hasher>(&self, #state: &mut __H) {
                ::core::hash::Hash::hash(self.inner.untyped(), #state);
            }
        }
    }
}
