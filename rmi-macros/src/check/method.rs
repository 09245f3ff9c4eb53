//! The rules for one method.

use quote::quote;
use syn::{
    FnArg, GenericParam, Generics, Ident, Pat, PatType, Receiver, ReceiverKind, ReturnType, Safety,
    Signature, TraitItemFn, Type,
};

use super::{Mistakes, types};
use crate::interface::{Argument, Method};
use crate::owned::{Names, owned, plain};
use crate::parse::method_options;
use crate::signature;

/// Arguments travel as one tuple, and serde knows tuples up to this length.
const ARGUMENTS_MAX: usize = 16;

/// `None` if something is missing without which there is no method; the mistake is reported.
pub(super) fn check_method(mut item: TraitItemFn, mistakes: &mut Mistakes) -> Option<Method> {
    let oneway = method_options(&mut item.attrs, mistakes);
    let signature = &item.sig;
    check_qualifiers(signature, mistakes);
    check_generics(&signature.generics, mistakes);
    check_receiver(signature, mistakes);

    let typed = signature.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(argument) => Some(argument),
        FnArg::Receiver(_) => None,
    });
    let arguments: Vec<_> = typed
        .filter_map(|argument| check_argument(argument, item.default.is_some(), mistakes))
        .collect();
    if let Some(extra) = signature.inputs.iter().nth(ARGUMENTS_MAX + 1) {
        let what = format!("a remote method takes at most {ARGUMENTS_MAX} arguments");
        mistakes.add(extra, what, "put what belongs together into a struct");
    }

    let output = check_output(signature, mistakes)?;
    if oneway {
        types::check_oneway(&output, mistakes);
    }
    Some(Method {
        signature: text(&arguments, &output),
        attrs: item.attrs,
        ident: item.sig.ident,
        arguments,
        output,
        oneway,
        default: item.default,
    })
}

fn check_qualifiers(signature: &Signature, mistakes: &mut Mistakes) {
    if let Some(token) = &signature.constness {
        let what = "a remote method cannot be `const`: it runs when another node calls it";
        mistakes.add(token, what, "write `async fn`");
    }
    match &signature.safety {
        Safety::Unsafe(token) => {
            let what =
                "a remote method cannot be unsafe: a call from another node can promise nothing";
            mistakes.add(token, what, "leave out `unsafe`, and check the arguments in the method");
        }
        Safety::Safe(token) => {
            mistakes.add(token, "`safe` belongs in `extern` blocks", "leave it out");
        }
        Safety::Default => {}
    }
    if let Some(abi) = &signature.abi {
        let what = "a remote method has no ABI: it is called by messages";
        mistakes.add(abi, what, "leave out `extern`");
    }
    if signature.asyncness.is_none() {
        let what = "a remote method is asynchronous: its caller waits for another node";
        mistakes.add(signature.fn_token, what, format!("write `async fn {}`", signature.ident));
    }
    if let Some(variadic) = &signature.variadic {
        let what = "a remote method takes a fixed number of arguments";
        mistakes.add(variadic.dots, what, "take a `Vec`");
    }
}

fn check_generics(generics: &Generics, mistakes: &mut Mistakes) {
    let lifetimes = generics.params.iter().filter(|p| matches!(p, GenericParam::Lifetime(_)));
    if !generics.params.is_empty() {
        if lifetimes.count() == generics.params.len() {
            let what = "a remote method has no lifetime parameters: its arguments are borrowed for the \
                        call, and its result owns what it holds";
            mistakes.add(brackets(generics), what, "leave them out, and write plain `&`");
        } else {
            let what = "a remote method cannot be generic: \
                        both nodes must agree on its types beforehand";
            mistakes.add(
                brackets(generics),
                what,
                "make the trait generic, or take a concrete type",
            );
        }
    }
    if let Some(clause) = &generics.where_clause {
        let what = "a remote method has no `where` clause of its own";
        mistakes.add(clause, what, "put it on the trait");
    }
}

/// `<T: Serialize>`, without the `where` clause.
fn brackets(generics: &Generics) -> proc_macro2::TokenStream {
    let Generics { lt_token, params, gt_token, .. } = generics;
    quote!(#lt_token #params #gt_token)
}

fn check_receiver(signature: &Signature, mistakes: &mut Mistakes) {
    const SHARED: &str = "every clone of a reference calls the same object";
    let Some(receiver) = signature.receiver() else {
        let what = "a remote method is called on an object";
        let instead = format!("take `&self` first: `async fn {}(&self, ...)`", signature.ident);
        mistakes.add(&signature.ident, what, instead);
        return;
    };
    let mutable = "write `&self`, and keep what changes in a `Mutex` or an atomic";
    let (what, instead) = match &receiver.kind {
        ReceiverKind::Reference(_, None, None) => return,
        ReceiverKind::Reference(_, _, Some(_)) => {
            (format!("a remote method cannot take `&mut self`: {SHARED}"), mutable)
        }
        ReceiverKind::Reference(_, Some(_), None) => {
            ("a remote method borrows its object for the call only".to_owned(), "write `&self`")
        }
        ReceiverKind::Value => {
            (format!("a remote method cannot take `self` by value: {SHARED}"), "write `&self`")
        }
        _ => (
            "a remote method takes its object as `&self` and in no other way".to_owned(),
            "write `&self`",
        ),
    };
    mistakes.add(whole(receiver), what, instead);
}

/// The receiver without its attributes.
fn whole(receiver: &Receiver) -> Receiver {
    Receiver { attrs: Vec::new(), ..receiver.clone() }
}

fn check_argument(argument: &PatType, body: bool, mistakes: &mut Mistakes) -> Option<Argument> {
    types::check_argument(&argument.ty, mistakes);
    for attr in &argument.attrs {
        if attr.path().is_ident("cfg") || attr.path().is_ident("cfg_attr") {
            let what = "an argument of a remote method is there on every node";
            mistakes.add(attr, what, "put the `cfg` on the method, or on the trait");
        }
    }
    let (ident, mutable) = name(&argument.pat, body, mistakes)?;
    let (owned, borrowed) = match plain(&argument.ty) {
        Type::Reference(borrow) => (owned(borrow, Names::Absolute), true),
        other => (other.clone(), false),
    };
    let (attrs, ty) = (argument.attrs.clone(), (*argument.ty).clone());
    Some(Argument { attrs, mutable, ident, ty, owned, borrowed })
}

/// A plain name, which only a body may make `mut`.
fn name(pattern: &Pat, body: bool, mistakes: &mut Mistakes) -> Option<(Ident, bool)> {
    let what = "an argument of a remote method has a plain name";
    match pattern {
        Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() => {
            if let Some(token) = name.mutability.as_ref().filter(|_| !body) {
                mistakes.add(token, what, "write `mut` where the method is implemented");
            }
            return Some((name.ident.clone(), name.mutability.is_some()));
        }
        Pat::Wild(_) => mistakes.add(pattern, what, "give it one, such as `_unused`"),
        _ => mistakes.add(pattern, what, "give it one, and take it apart in the method"),
    }
    None
}

fn check_output(signature: &Signature, mistakes: &mut Mistakes) -> Option<Type> {
    // `fn f(&self) -> impl Future<...>` is told to become an `async fn`: that says it all.
    if let (None, ReturnType::Type(_, ty)) = (&signature.asyncness, &signature.output) {
        if matches!(plain(ty), Type::ImplTrait(_)) {
            return None;
        }
    }
    types::check_result(&signature.output, &signature.ident, mistakes)
}

fn text(arguments: &[Argument], output: &Type) -> String {
    let short: Vec<_> = arguments
        .iter()
        .map(|argument| match plain(&argument.ty) {
            Type::Reference(borrow) => owned(borrow, Names::Short),
            other => other.clone(),
        })
        .collect();
    signature::text(short.iter(), output)
}
