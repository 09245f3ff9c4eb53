//! Types that mean something in one process only.

use quote::ToTokens;
use syn::visit::{self, Visit};
use syn::{
    Lifetime, Path, ReturnType, Type, TypeFnPtr, TypeImplTrait, TypePtr, TypeReference,
    TypeTraitObject,
};

use super::Mistakes;
use crate::owned::{deeply_owned, plain};
use crate::signature::type_text;

/// Types of the standard library and the language that are plainly no `Result`. Any other name
/// may be an alias of one, and is left to the compiler.
const NO_RESULTS: [&str; 20] = [
    "bool", "char", "String", "Vec", "Option", "Box", "u8", "u16", "u32", "u64", "u128", "usize",
    "i8", "i16", "i32", "i64", "i128", "isize", "f32", "f64",
];

/// Where a type stands, as far as messages differ.
#[derive(Clone, Copy)]
enum Place {
    Argument,
    Result,
}

/// An argument's type: owned, or borrowed at the top and nowhere else.
pub(super) fn check_argument(ty: &Type, mistakes: &mut Mistakes) {
    let mut inside = ty;
    if let Type::Reference(borrow) = plain(ty) {
        inside = &borrow.elem;
        if let Some(token) = &borrow.mutability {
            let what = "a remote method cannot change its caller's data: \
                        the argument is copied to the home";
            let instead = "take the value, and return the changed one";
            mistakes.add(MutBorrow(borrow, token), what, instead);
        }
        if let Some(lifetime) = borrow.lifetime.as_ref().filter(|name| name.ident != "_") {
            let what = "a borrowed argument lives as long as the call, and no longer";
            let instead = format!("write `&{}`", type_text(&borrow.elem));
            mistakes.add(lifetime, what, instead);
        }
    }
    Wireless { place: Place::Argument, whole: ty, mistakes }.visit_type(inside);
}

/// `&mut` as two tokens: the error stands under both.
struct MutBorrow<'a>(&'a TypeReference, &'a syn::Token![mut]);

impl ToTokens for MutBorrow<'_> {
    fn to_tokens(&self, tokens: &mut proc_macro2::TokenStream) {
        self.0.and_token.to_tokens(tokens);
        self.1.to_tokens(tokens);
    }
}

/// A result's type; `None` if there is none to go on with.
pub(super) fn check_result(
    output: &ReturnType,
    method: &syn::Ident,
    mistakes: &mut Mistakes,
) -> Option<Type> {
    const WHAT: &str = "a remote method returns a `Result`, because any call can fail";
    let ReturnType::Type(_, ty) = output else {
        mistakes.add(method, WHAT, "write `-> rmi::Result<()>`");
        return None;
    };
    if is_no_result(plain(ty)) {
        mistakes.add(ty, WHAT, format!("write `rmi::Result<{}>`", type_text(&deeply_owned(ty))));
        return None;
    }
    Wireless { place: Place::Result, whole: ty, mistakes }.visit_type(ty);
    Some((**ty).clone())
}

fn is_no_result(ty: &Type) -> bool {
    match ty {
        Type::Path(path) => match path.path.segments.first() {
            Some(first) if path.path.segments.len() == 1 => {
                NO_RESULTS.iter().any(|name| first.ident == name)
            }
            _ => false,
        },
        Type::Array(_) | Type::Slice(_) | Type::Tuple(_) | Type::Reference(_) => true,
        // Infinite loops, macros and whatever has a message of its own.
        _ => false,
    }
}

/// A one-way method gives nothing back.
pub(super) fn check_oneway(output: &Type, mistakes: &mut Mistakes) {
    let Type::Path(path) = plain(output) else { return };
    let Some(last) = path.path.segments.last() else { return };
    let syn::PathArguments::AngleBracketed(arguments) = &last.arguments else { return };
    let Some(syn::GenericArgument::Type(value)) = arguments.args.first() else { return };
    let unit = matches!(plain(value), Type::Tuple(tuple) if tuple.elems.is_empty());
    if last.ident == "Result" && !unit {
        let what = "a one-way method has no result: nothing comes back from the home";
        mistakes.add(value, what, "write `()` here, or leave out `oneway`");
    }
}

/// Looks for what cannot leave the process, at any depth.
struct Wireless<'a> {
    place: Place,
    /// The type as written, for the suggestion.
    whole: &'a Type,
    mistakes: &'a mut Mistakes,
}

impl Wireless<'_> {
    fn owned(&self) -> String {
        type_text(&deeply_owned(self.whole))
    }
}

impl<'ast> Visit<'ast> for Wireless<'_> {
    fn visit_type_reference(&mut self, borrow: &'ast TypeReference) {
        let (what, verb) = match self.place {
            Place::Argument => {
                ("an argument can be borrowed only as a whole, one level deep", "take")
            }
            Place::Result => ("a result cannot borrow: it leaves the object's node", "return"),
        };
        self.mistakes.add(borrow, what, format!("{verb} `{}`", self.owned()));
        // One message for the outermost borrow, which says all.
    }

    fn visit_lifetime(&mut self, lifetime: &'ast Lifetime) {
        if lifetime.ident != "static" {
            let what = "a type that borrows cannot travel to another node";
            self.mistakes.add(lifetime, what, "name a type that owns its data");
        }
    }

    fn visit_type_trait_object(&mut self, object: &'ast TypeTraitObject) {
        let what = "a trait object cannot travel to another node";
        let instead =
            "name a concrete type; for a remote trait `Account`, its reference `AccountRef`";
        self.mistakes.add(object, what, instead);
    }

    fn visit_type_impl_trait(&mut self, opaque: &'ast TypeImplTrait) {
        let what = "a remote method has no `impl Trait` in its signature: \
                    both nodes must agree on its types beforehand";
        let instead = "make the trait generic, or name a concrete type";
        self.mistakes.add(opaque, what, instead);
    }

    fn visit_type_fn_ptr(&mut self, pointer: &'ast TypeFnPtr) {
        let what = "a function pointer means nothing on another node";
        let instead = "take a reference to an object of a remote trait, and call that";
        self.mistakes.add(pointer, what, instead);
    }

    fn visit_type_ptr(&mut self, pointer: &'ast TypePtr) {
        let what = "a pointer means nothing on another node";
        self.mistakes.add(pointer, what, "name a type that owns its data");
    }

    fn visit_path(&mut self, path: &'ast Path) {
        if path.segments.first().is_some_and(|segment| segment.ident == "Self") {
            let what = "`Self` is another type on each node";
            let instead = "name a concrete type, or the reference that `#[remote]` generates";
            self.mistakes.add(path, what, instead);
            return;
        }
        visit::visit_path(self, path);
    }
}
