//! The caller's side: references implement the trait, and those of its heirs do too.
//!
//! One `impl` serves all of them: `impl<R: Inherits<dyn Account>> Account for R`. A reference
//! inherits its own trait, and those that `lineage` finds above it. `dyn Account` in the bound is a
//! type of the trait's own crate, so the compiler knows which types the `impl` covers, and leaves
//! all others to the user: a `struct Savings`, but a `Mutex<State>` as well.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::{bounds, key, local, method_value, object};
use crate::interface::{Argument, Interface, Method};

pub(super) fn impls(interface: &Interface) -> TokenStream {
    let ident = &interface.ident;
    let (_, arguments, _) = interface.generics.split_for_impl();
    let key = key(interface);
    let holder = format_ident!("__Reference");
    let supers = &interface.bounds;

    let mut generics = bounds::travelling(interface, &holder);
    bounds::require(&mut generics, quote!(#holder: #(#supers +)* ::rmi::__private::Inherits<#key>));
    let (generics, _, clause) = generics.split_for_impl();
    let methods = interface.methods.iter().enumerate();
    let methods = methods.map(|(position, method)| stub(interface, position, method));
    quote! {
        #[doc(hidden)]
        impl #generics #ident #arguments for #holder #clause {
            #(#methods)*
        }
    }
}

/// A method: a plain call if the object is in this process, else a message to its home.
fn stub(interface: &Interface, position: usize, method: &Method) -> TokenStream {
    let Method { ident, output, oneway, .. } = method;
    let (cfgs, boxed) = (method.cfgs(), method.boxed());
    let (key, object, twin) = (key(interface), object(interface), interface.twin());
    let (_, type_arguments, _) = interface.generics.split_for_impl();
    let constant = method_value(interface, position);
    let arguments = method.arguments.iter().map(|Argument { ident, ty, .. }| quote!(#ident: #ty));
    let names: Vec<_> = method.arguments.iter().map(|argument| &argument.ident).collect();
    let (near, call) = (local("near"), local("call"));
    let start = if *oneway { quote!(send) } else { quote!(call) };
    quote! {
        #(#cfgs)*
        fn #ident(&self, #(#arguments),*)
            -> impl ::rmi::__private::Future<Output = #output> + ::core::marker::Send
        {
            async move {
                match <Self as ::rmi::__private::Inherits<#key>>::object(self) {
                    ::core::option::Option::Some(#near) => {
                        let #call =
                            <#object as #twin #type_arguments>::#boxed(&**#near, #(#names),*);
                        ::rmi::RemoteRef::__untyped(self).near(#constant, #call).await
                    }
                    ::core::option::Option::None => {
                        // A statement of its own: the tuple must not live until the answer comes.
                        let #call = ::rmi::RemoteRef::__untyped(self)
                            .#start(#constant, &(#(#names,)*));
                        ::rmi::__private::Outcome::from_result(#call.await)
                    }
                }
            }
        }
    }
}
