//! A remote interface as the checks leave it: everything here can be expanded.

use proc_macro2::Span;
use quote::format_ident;
use syn::{Attribute, Block, Generics, Ident, Path, Type, TypeParamBound, Visibility};

/// A checked trait.
pub(crate) struct Interface {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) ident: Ident,
    /// What nodes call it.
    pub(crate) name: String,
    pub(crate) generics: Generics,
    /// All super-traits as written, for the trait itself.
    pub(crate) bounds: Vec<TypeParamBound>,
    /// Those of them that must be remote.
    pub(crate) supers: Vec<Path>,
    /// False if a super-trait such as `Eq` forbids `dyn Trait`, by which heirs find an interface.
    pub(crate) inheritable: bool,
    pub(crate) methods: Vec<Method>,
}

/// A checked method.
pub(crate) struct Method {
    /// Without `#[remote(...)]`.
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) ident: Ident,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) output: Type,
    pub(crate) oneway: bool,
    pub(crate) default: Option<Block>,
    /// Argument and result types as text, equal at both ends.
    pub(crate) signature: String,
}

/// One argument of a method.
pub(crate) struct Argument {
    /// Such as `#[allow(...)]`; never a `cfg`.
    pub(crate) attrs: Vec<Attribute>,
    /// Whether a default body may change it: `mut count: u32`.
    pub(crate) mutable: bool,
    pub(crate) ident: Ident,
    /// As written: `&str`.
    pub(crate) ty: Type,
    /// As decoded at the home: `String`.
    pub(crate) owned: Type,
    pub(crate) borrowed: bool,
}

impl Interface {
    /// `AccountRef`.
    pub(crate) fn reference(&self) -> Ident {
        format_ident!("{}Ref", self.ident)
    }

    /// `__AccountObject`: the object-safe twin of the trait.
    pub(crate) fn twin(&self) -> Ident {
        format_ident!("__{}Object", self.ident)
    }

    /// Whether the methods' fingerprints depend on type arguments.
    pub(crate) fn is_generic(&self) -> bool {
        !self.generics.params.is_empty()
    }
}

impl Method {
    /// Its name in the twin. Another than in the trait, for both are in scope together, and every
    /// object implements both.
    pub(crate) fn boxed(&self) -> Ident {
        format_ident!("__boxed_{}", self.ident)
    }

    /// The attributes that decide whether the method exists at all.
    pub(crate) fn cfgs(&self) -> impl Iterator<Item = &Attribute> {
        self.attrs.iter().filter(|attr| attr.path().is_ident("cfg"))
    }
}

impl Argument {
    /// Its name in generated code where the user's own might be taken for something else.
    pub(crate) fn local(position: usize) -> Ident {
        format_ident!("__argument_{position}", span = Span::mixed_site())
    }
}

/// An identifier without `r#`.
pub(crate) fn bare(ident: &Ident) -> String {
    let ident = ident.to_string();
    ident.strip_prefix("r#").map_or(ident.clone(), str::to_owned)
}
