//! What cannot cross a wire, found in one pass and reported all at once.

mod method;
mod mistakes;
mod types;

use quote::ToTokens;
use syn::{
    GenericParam, Generics, ItemTrait, TraitBound, TraitItem, Type, TypeParamBound, WherePredicate,
};

pub(crate) use self::mistakes::Mistakes;
use crate::interface::{Interface, Method, bare};
use crate::parse::Parsed;

/// Super-traits that every reference has, with whether `dyn Trait` is still a type under them.
const ORDINARY: [(&str, bool); 11] = [
    ("Send", true),
    ("Sync", true),
    ("Unpin", true),
    ("Debug", true),
    ("Any", true),
    ("UnwindSafe", true),
    ("RefUnwindSafe", true),
    ("Sized", false),
    ("Clone", false),
    ("PartialEq", false),
    ("Eq", false),
];

/// Turns a trait into an interface that can be expanded.
///
/// # Errors
///
/// All mistakes of the trait, each under its token.
pub(crate) fn check(parsed: Parsed) -> Result<Interface, syn::Error> {
    let Parsed { name, item, mut mistakes } = parsed;
    check_kind(&item, &mut mistakes);
    check_generics(&item.generics, &mut mistakes);

    let mut supers = Vec::new();
    let mut inheritable = true;
    for bound in &item.supertraits {
        let TypeParamBound::Trait(bound) = bound else { continue };
        match ordinary(bound) {
            Some(dyn_compatible) => inheritable &= dyn_compatible,
            None => supers.push(bound.path.clone()),
        }
    }

    let methods = item
        .items
        .into_iter()
        .filter_map(|item| check_item(item, &mut mistakes))
        .collect::<Vec<_>>();
    check_names(&methods, &mut mistakes);
    mistakes.finish()?;
    Ok(Interface {
        attrs: item.attrs,
        vis: item.vis,
        name: name.map_or_else(|| bare(&item.ident), |name| name.value()),
        ident: item.ident,
        generics: item.generics,
        bounds: item.supertraits.into_iter().collect(),
        supers,
        inheritable,
        methods,
    })
}

fn check_kind(item: &ItemTrait, mistakes: &mut Mistakes) {
    if let Some(token) = &item.unsafety {
        let what = "a remote trait cannot be unsafe: a call from another node can promise nothing";
        mistakes.add(token, what, "leave out `unsafe`");
    }
    if let Some(token) = &item.modifiers.auto_token {
        let what = "a remote trait cannot be an auto trait: it has methods to call";
        mistakes.add(token, what, "leave out `auto`");
    }
}

fn check_generics(generics: &Generics, mistakes: &mut Mistakes) {
    for param in &generics.params {
        match param {
            GenericParam::Lifetime(param) => {
                let what = "a remote trait has no lifetime parameters: \
                            an object may outlive whatever its exporter borrows";
                mistakes.add(param, what, "leave it out, and let the trait's types own their data");
            }
            GenericParam::Const(param) if !is_named(&param.ty, "usize") => {
                let what = "a constant parameter of a remote trait is a `usize`";
                mistakes.add(&param.ty, what, "write `usize`");
            }
            GenericParam::Const(_) | GenericParam::Type(_) => {}
        }
    }
    let predicates = generics.where_clause.iter().flat_map(|clause| &clause.predicates);
    for predicate in predicates {
        if let WherePredicate::Type(predicate) = predicate {
            if is_named(&predicate.bounded_ty, "Self") {
                let what = "a remote trait names its super-traits in one place";
                mistakes.add(
                    predicate,
                    what,
                    "write them after the trait's name: `trait C: B + A`",
                );
            }
        }
    }
}

fn is_named(ty: &Type, name: &str) -> bool {
    matches!(ty, Type::Path(path) if path.path.is_ident(name))
}

/// `Some` if every reference has the super-trait anyway; whether it leaves `dyn Trait` a type.
fn ordinary(bound: &TraitBound) -> Option<bool> {
    if bound.maybe.is_some() {
        return Some(true);
    }
    let last = bound.path.segments.last()?.ident.to_string();
    // `Hash` is generic in its method, which `dyn` does not allow.
    let known = ORDINARY.into_iter().chain([("Hash", false)]).find(|(name, _)| *name == last);
    known.map(|(_, dyn_compatible)| dyn_compatible)
}

/// The compiler would say it once for everything that is generated for a method.
fn check_names(methods: &[Method], mistakes: &mut Mistakes) {
    for (position, method) in methods.iter().enumerate() {
        let twice = methods.iter().take(position).any(|earlier| earlier.ident == method.ident);
        // Two of which a `cfg` leaves one are fine; if it leaves both, the compiler tells.
        if twice && method.cfgs().next().is_none() {
            let what = format!("a second method with the name `{}`", method.ident);
            mistakes.add(&method.ident, what, "give it a name of its own");
        }
    }
}

fn check_item(item: TraitItem, mistakes: &mut Mistakes) -> Option<Method> {
    let (tokens, what, instead): (&dyn ToTokens, _, _) = match &item {
        TraitItem::Fn(method) => return method::check_method(method.clone(), mistakes),
        TraitItem::Type(item) => (
            &item.type_token,
            "a remote trait has no associated types: both nodes must agree on them beforehand",
            "make it a type parameter of the trait, or name a concrete type",
        ),
        TraitItem::Const(item) => (
            &item.const_token,
            "a remote trait has no constants: an object's class is not known to its callers",
            "make it a method, or a constant beside the trait",
        ),
        TraitItem::Macro(item) => (
            &item.mac,
            "a remote trait cannot hold a macro call: its methods must be known when it is expanded",
            "write the methods out, or let the macro make the whole trait",
        ),
        _ => (
            &item,
            "a remote trait holds methods, and nothing else",
            "write `async fn name(&self, ...) -> Result<...>;`",
        ),
    };
    mistakes.add(tokens, what, instead);
    None
}
