//! The object-safe twin of the trait: the same methods with boxed futures, so that a reference can
//! hold the object behind an `Arc<dyn ...>` when it lives in this process.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::spanned::Spanned;
use syn::visit_mut::VisitMut;
use syn::{Lifetime, Type};

use super::{bounds, method_value, object};
use crate::interface::{Argument, Interface, Method};

/// The trait, hidden and as visible as the one it stands for.
pub(super) fn item(interface: &Interface) -> TokenStream {
    let (vis, twin, generics) = (&interface.vis, interface.twin(), &interface.generics);
    let clause = &generics.where_clause;
    let methods = interface.methods.iter().map(signature);
    quote! {
        #[doc(hidden)]
        #[allow(deprecated, clippy::all, clippy::pedantic, clippy::nursery)]
        #vis trait #twin #generics:
            ::core::marker::Send + ::core::marker::Sync + 'static
        #clause
        {
            #(#methods;)*
        }
    }
}

/// The twin of every object, and what is known of the interface at run time.
pub(super) fn impls(interface: &Interface) -> TokenStream {
    let (ident, twin, name) = (&interface.ident, interface.twin(), &interface.name);
    let (_, arguments, _) = interface.generics.split_for_impl();

    let implementor = format_ident!("__Implementor");
    let mut generics = bounds::with(bounds::own(interface), &implementor);
    bounds::require(&mut generics, quote!(#implementor: #ident #arguments));
    let (of_object, _, object_clause) = generics.split_for_impl();
    let methods = interface.methods.iter().map(|method| {
        let (signature, method_ident) = (signature(method), &method.ident);
        let passed = (0..method.arguments.len()).map(Argument::local);
        quote! {
            #signature {
                ::std::boxed::Box::pin(
                    <#implementor as #ident #arguments>::#method_ident(self, #(#passed),*)
                )
            }
        }
    });

    let generics = bounds::own(interface);
    let (of_interface, _, clause) = generics.split_for_impl();
    let object = object(interface);
    let types = if interface.is_generic() {
        let types = bounds::arguments_as_type(&interface.generics);
        quote!(::core::any::type_name::<#types>())
    } else {
        quote!("")
    };
    let values = interface.methods.iter().enumerate().map(|(position, method)| {
        let (cfgs, value) = (method.cfgs(), method_value(interface, position));
        quote!(#(#cfgs)* #value)
    });
    quote! {
        impl #of_object #twin #arguments for #implementor #object_clause {
            #(#methods)*
        }

        impl #of_interface ::rmi::__private::Interface for #object #clause {
            const NAME: &'static ::core::primitive::str = #name;

            fn types() -> &'static ::core::primitive::str {
                #types
            }

            fn methods() -> ::std::vec::Vec<::rmi::__private::Method> {
                ::core::convert::From::from([#(#values),*])
            }
        }
    }
}

/// `fn __boxed_put<'__call>(&'__call self, __argument_0: &'__call str) -> BoxFuture<'__call, ...>`
fn signature(method: &Method) -> TokenStream {
    let (ident, output) = (method.boxed(), &method.output);
    let cfgs = method.cfgs();
    let arguments = method.arguments.iter().enumerate().map(|(position, argument)| {
        let (name, mut ty) = (Argument::local(position), argument.ty.clone());
        ForTheCall.visit_type_mut(&mut ty);
        quote!(#name: #ty)
    });
    quote! {
        #(#cfgs)*
        fn #ident<'__call>(&'__call self, #(#arguments),*)
            -> ::rmi::__private::BoxFuture<'__call, #output>
    }
}

/// Names the lifetime of a borrowed argument, which lives as long as the call. The checks leave no
/// borrow but the outermost.
struct ForTheCall;

impl VisitMut for ForTheCall {
    fn visit_type_mut(&mut self, ty: &mut Type) {
        match ty {
            Type::Reference(borrow) => {
                borrow.lifetime = Some(Lifetime::new("'__call", borrow.span()));
            }
            Type::Paren(inner) => self.visit_type_mut(&mut inner.elem),
            Type::Group(inner) => self.visit_type_mut(&mut inner.elem),
            _ => {}
        }
    }
}
