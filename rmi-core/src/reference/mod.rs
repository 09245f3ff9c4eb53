//! What users hold: typed references, untyped ones, weak ones, and the handle under them all.

mod any;
mod handle;
mod typed;
mod weak;

pub use self::any::AnyRef;
pub use self::handle::Untyped;
pub(crate) use self::handle::{Identity, Key};
pub use self::typed::{
    ByArc, ByValue, Exports, Extends, FromObject, Inherits, Reference, Remote, RemoteRef, Typed,
};
pub use self::weak::Weak;
