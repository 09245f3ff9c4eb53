//! The home's side: decodes a call, calls the object, encodes what it returns.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::spanned::Spanned;
use syn::{GenericParam, Ident};

use super::{bounds, id, key, local, method_value, object, super_key};
use crate::interface::{Argument, Interface, Method};

pub(super) fn impls(interface: &Interface) -> TokenStream {
    let implementor = format_ident!("__Implementor");
    let skeleton = skeleton(interface, &implementor);
    let exports = exports(interface, &implementor);
    quote!(#skeleton #exports)
}

fn skeleton(interface: &Interface, implementor: &Ident) -> TokenStream {
    let ident = &interface.ident;
    let object_type = object(interface);
    let (_, arguments, _) = interface.generics.split_for_impl();
    let mut generics = bounds::travelling(interface, implementor);
    bounds::require(&mut generics, quote!(#implementor: #ident #arguments));
    let (of_skeleton, skeleton_arguments, clause) = generics.split_for_impl();
    let params = generics.type_params().map(|param| &param.ident);
    let declared = generics.params.iter().map(bare_param);
    let arms = interface.methods.iter().enumerate();
    let arms = arms.map(|(position, method)| arm(interface, position, method, implementor));
    let (method, input, object) = (local("method"), local("arguments"), local("object"));
    let fingerprints = interface.methods.iter().enumerate().map(|(position, method)| {
        let (cfgs, id, value) = (method.cfgs(), id(position), method_value(interface, position));
        quote!(#(#cfgs)* #id => ::core::option::Option::Some(#value.fingerprint),)
    });
    quote! {
        struct __Skeleton<#(#declared),*>(
            ::rmi::__private::Arc<#implementor>,
            ::core::marker::PhantomData<fn() -> (#(#params,)*)>,
        );

        impl #of_skeleton ::rmi::__private::Skeleton for __Skeleton #skeleton_arguments #clause {
            fn interface(&self) -> ::rmi::__private::InterfaceInfo {
                ::rmi::__private::InterfaceInfo::of::<#object_type>()
            }

            fn handle(
                &self,
                #method: ::core::primitive::u32,
                #input: ::rmi::__private::Arguments,
            ) -> ::core::option::Option<
                ::rmi::__private::BoxFuture<'static, ::rmi::__private::Reply>,
            > {
                let #object = ::core::clone::Clone::clone(&self.0);
                match #method {
                    #(#arms)*
                    _ => ::core::option::Option::None,
                }
            }

            fn fingerprint(
                &self,
                #method: ::core::primitive::u32,
            ) -> ::core::option::Option<::core::primitive::u32> {
                match #method {
                    #(#fingerprints)*
                    _ => ::core::option::Option::None,
                }
            }
        }
    }
}

/// The handler of one method.
fn arm(
    interface: &Interface,
    position: usize,
    method: &Method,
    implementor: &Ident,
) -> TokenStream {
    let (id, cfgs, trait_ident) = (id(position), method.cfgs(), &interface.ident);
    let (_, type_arguments, _) = interface.generics.split_for_impl();
    let method_ident = &method.ident;
    let owned = method.arguments.iter().map(|argument| &argument.owned);
    let names: Vec<_> = (0..method.arguments.len()).map(Argument::local).collect();
    let passed = method.arguments.iter().zip(&names).map(|(argument, name)| {
        let borrow = argument.borrowed.then(|| quote!(&));
        quote!(#borrow #name)
    });
    let (object, input, error) = (local("object"), local("arguments"), local("error"));
    quote! {
        #(#cfgs)*
        #id => ::core::option::Option::Some(::std::boxed::Box::pin(async move {
            match #input.decode::<(#(#owned,)*)>() {
                ::core::result::Result::Ok((#(#names,)*)) => ::rmi::__private::Reply::of(
                    ::rmi::__private::Outcome::into_result(
                        <#implementor as #trait_ident #type_arguments>::#method_ident(
                            &*#object,
                            #(#passed),*
                        )
                        .await,
                    ),
                ),
                ::core::result::Result::Err(#error) => ::rmi::__private::Reply::failed(#error),
            }
        })),
    }
}

/// What an object is exported as: its own interface, and those of the remote super-traits.
fn exports(interface: &Interface, implementor: &Ident) -> TokenStream {
    let (ident, object_type) = (&interface.ident, object(interface));
    let (key, parents) = (key(interface), interface.supers.iter().map(super_key));
    let parents: Vec<_> = parents.collect();
    let (_, arguments, _) = interface.generics.split_for_impl();
    let shared = quote!(::rmi::__private::Arc<#implementor>);

    let mut generics = bounds::travelling(interface, implementor);
    bounds::require(&mut generics, quote!(#implementor: #ident #arguments));
    for parent in &parents {
        let parent = bounds::deferred(parent, implementor, parent.span());
        bounds::require(&mut generics, quote!(#parent: ::rmi::__private::Exports<#implementor>));
    }
    let (of_exports, _, clause) = generics.split_for_impl();
    let (object, interfaces) = (local("object"), local("interfaces"));
    quote! {
        #[doc(hidden)]
        impl #of_exports ::rmi::__private::Exports<#implementor> for #key #clause {
            fn interfaces(#object: #shared) -> ::rmi::__private::Interfaces {
                let mut #interfaces = ::rmi::__private::Interfaces::new();
                #(#interfaces.merge(
                    <#parents as ::rmi::__private::Exports<#implementor>>::interfaces(
                        ::core::clone::Clone::clone(&#object),
                    ),
                );)*
                #interfaces.add::<#object_type>(
                    ::core::clone::Clone::clone(&#object) as _,
                    __Skeleton(#object, ::core::marker::PhantomData),
                );
                #interfaces
            }
        }
    }
}

/// A parameter without bounds and default.
fn bare_param(param: &GenericParam) -> TokenStream {
    match param {
        GenericParam::Type(param) => {
            let name = &param.ident;
            quote!(#name)
        }
        GenericParam::Const(param) => {
            let (name, ty) = (&param.ident, &param.ty);
            quote!(const #name: #ty)
        }
        GenericParam::Lifetime(param) => quote!(#param),
    }
}
