//! From a borrowed argument to the owned type that is decoded at the home.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::visit_mut::{self, VisitMut};
use syn::{Ident, Type, TypeReference, parse_quote};

/// How the types of the standard library are named.
#[derive(Clone, Copy)]
pub(crate) enum Names {
    /// For generated code: `::std::string::String`.
    Absolute,
    /// For people and signatures: `String`.
    Short,
}

impl Names {
    /// The type `ident` of `::std::module`, with the span of the borrow that it stands for.
    fn name(self, module: &str, ident: &str, at: Span) -> TokenStream {
        let (module, ident) = (Ident::new(module, at), Ident::new(ident, at));
        match self {
            Self::Absolute => quote_spanned!(at=> ::std::#module::#ident),
            Self::Short => quote!(#ident),
        }
    }
}

/// The owned form of a borrow: `String` for `&str`, `Vec<T>` for `&[T]`, `T` for `&T`.
pub(crate) fn owned(borrow: &TypeReference, names: Names) -> Type {
    let at = borrow.and_token.span;
    match plain(&borrow.elem) {
        Type::Slice(slice) => {
            let element = &slice.elem;
            let vec = names.name("vec", "Vec", at);
            parse_quote!(#vec<#element>)
        }
        Type::Path(path) if path.path.is_ident("str") => {
            let string = names.name("string", "String", at);
            parse_quote!(#string)
        }
        Type::Path(path) if is_std_path(&path.path) => {
            let path = names.name("path", "PathBuf", at);
            parse_quote!(#path)
        }
        other => other.clone(),
    }
}

/// The same type with every borrow in it replaced by its owned form: what to write instead.
pub(crate) fn deeply_owned(ty: &Type) -> Type {
    struct Owner;
    impl VisitMut for Owner {
        fn visit_type_mut(&mut self, ty: &mut Type) {
            while let Type::Reference(borrow) = ty {
                *ty = owned(borrow, Names::Short);
            }
            visit_mut::visit_type_mut(self, ty);
        }
    }
    let mut ty = ty.clone();
    Owner.visit_type_mut(&mut ty);
    ty
}

/// The type without parentheses and the invisible groups that `macro_rules!` leaves.
pub(crate) fn plain(ty: &Type) -> &Type {
    match ty {
        Type::Paren(inner) => plain(&inner.elem),
        Type::Group(inner) => plain(&inner.elem),
        other => other,
    }
}

/// `Path`, `path::Path`, `std::path::Path`, `::std::path::Path`.
fn is_std_path(path: &syn::Path) -> bool {
    let names: Vec<_> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
    let bare = path.segments.iter().all(|segment| segment.arguments.is_empty());
    bare && ["std", "path", "Path"].ends_with(&names.iter().map(String::as_str).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use quote::ToTokens;

    use super::*;

    #[test]
    fn a_borrow_becomes_what_owns_the_same_data() {
        let cases: [(Type, Type); 7] = [
            (parse_quote!(&str), parse_quote!(String)),
            (parse_quote!(&[Item]), parse_quote!(Vec<Item>)),
            (parse_quote!(&Item), parse_quote!(Item)),
            (parse_quote!(&(u8, u8)), parse_quote!((u8, u8))),
            (parse_quote!(&std::path::Path), parse_quote!(PathBuf)),
            (parse_quote!(&my::Path), parse_quote!(my::Path)),
            (parse_quote!(&(str)), parse_quote!(String)),
        ];
        for (borrow, want) in cases {
            let Type::Reference(borrow) = borrow else { unreachable!("every case is a borrow") };
            assert_eq!(owned(&borrow, Names::Short), want);
        }
    }

    #[test]
    fn the_suggestion_has_no_borrow_at_any_depth() {
        let nested: Type = parse_quote!(Vec<(&'static str, Option<&&[u8]>)>);
        let want: Type = parse_quote!(Vec<(String, Option<Vec<u8>>)>);
        assert_eq!(
            deeply_owned(&nested).to_token_stream().to_string(),
            want.to_token_stream().to_string()
        );
    }
}
