//! References that know their interface: the heart of every generated `…Ref`, and the trait that
//! they all implement.

use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::hash::Hash;
use std::sync::Arc;

use rmi_gc::{NodeId, ObjectId};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Untyped;
use crate::error::{Error, ErrorKind, Result};
use crate::interface::{Interface, InterfaceId, Interfaces, full_name};

/// A remote reference to an object, whatever its interface: what all generated references share.
///
/// Equality and hash are those of the object's identity.
///
/// A reference belongs to the node that exported its object, looked it up or received it, and can
/// be passed only in calls by references of the same node. That matters where one process runs
/// several nodes: a reference of another is an `Encode` error that says so.
pub trait RemoteRef:
    Clone + fmt::Debug + Eq + Hash + Serialize + DeserializeOwned + Send + Sync + 'static
{
    /// The object's identity: its home and its number there.
    fn id(&self) -> ObjectId {
        self.__untyped().id()
    }

    /// The incarnation of the node where the object lives.
    fn home(&self) -> NodeId {
        self.id().home
    }

    /// Whether the object lives on the node that this reference belongs to: its calls are then
    /// plain calls.
    fn is_local(&self) -> bool {
        self.__untyped().is_local()
    }

    /// Asks the home whether the object is there: one round trip, none for a local object.
    ///
    /// # Errors
    ///
    /// `Unreachable`, `Disconnected` or `NoSuchObject`.
    fn ping(&self) -> impl Future<Output = Result<()>> + Send {
        self.__untyped().ping()
    }

    #[doc(hidden)]
    fn __untyped(&self) -> &Untyped;

    #[doc(hidden)]
    fn __from_untyped(untyped: Untyped) -> Result<Self>;
}

/// A reference whose object-safe interface is `O`, with a short cut to the object if it is local.
pub struct Reference<O: ?Sized> {
    // Dropped first, so that the handle's drop finds the entry's own `Arc` to be the last.
    local: Option<Arc<O>>,
    untyped: Untyped,
}

impl<O: ?Sized + Interface> Reference<O> {
    /// The object, if its home is the node that this reference belongs to.
    pub fn local(&self) -> Option<&Arc<O>> {
        self.local.as_ref()
    }

    /// The reference without its type.
    pub fn untyped(&self) -> &Untyped {
        &self.untyped
    }

    /// # Errors
    ///
    /// `WrongInterface` if the object does not implement `O`.
    pub fn from_untyped(untyped: Untyped) -> Result<Self> {
        let local = untyped.local::<O>();
        if local.is_none() && !untyped.implements(InterfaceId::of::<O>()) {
            let name = full_name(O::NAME, O::types());
            let text = format!("the object does not implement {name}");
            return Err(Error::new(ErrorKind::WrongInterface, text).on_object(untyped.id()));
        }
        Ok(Self { local, untyped })
    }
}

impl<O: ?Sized> Clone for Reference<O> {
    fn clone(&self) -> Self {
        Self { local: self.local.clone(), untyped: self.untyped.clone() }
    }
}

/// How an object of type `T` becomes one that `Self` refers to. `M` tells a value from an `Arc`.
#[diagnostic::on_unimplemented(
    message = "`{T}` does not implement the remote interface of `{Self}`",
    label = "cannot be exported as `{Self}`",
    note = "implement the `#[remote]` trait for it with plain `async fn`s"
)]
pub trait FromObject<T, M>: RemoteRef {
    /// The interfaces of `object`: that of `Self`, and those it inherits.
    fn interfaces(object: T) -> Interfaces;
}

#[diagnostic::do_not_recommend]
impl<T, R> FromObject<T, ByValue> for R
where
    R: Typed<Trait: Exports<T>>,
{
    fn interfaces(object: T) -> Interfaces {
        <R::Trait as Exports<T>>::interfaces(Arc::new(object))
    }
}

#[diagnostic::do_not_recommend]
impl<T, R> FromObject<Arc<T>, ByArc> for R
where
    R: Typed<Trait: Exports<T>>,
{
    fn interfaces(object: Arc<T>) -> Interfaces {
        <R::Trait as Exports<T>>::interfaces(object)
    }
}

/// The object is handed over by value.
#[derive(Clone, Copy, Debug)]
pub struct ByValue;

/// The object is handed over in an `Arc`, and may be used beside.
#[derive(Clone, Copy, Debug)]
pub struct ByArc;

/// Leads from a trait to what `#[remote]` made of it. Implemented for the type `dyn Account`, which
/// whoever names the trait can name, from any crate and under any alias.
#[diagnostic::on_unimplemented(
    message = "a super-trait of a remote trait is remote itself",
    label = "no remote trait",
    note = "put `#[remote]` on the super-trait, or take it off the list of super-traits"
)]
pub trait Remote {
    /// The object-safe twin of the trait, as a trait object.
    type Object: ?Sized + Interface;
}

/// A reference to objects of one trait.
pub trait Typed: RemoteRef {
    /// `dyn Account` for `AccountRef`.
    type Trait: ?Sized + Remote;
}

/// How an object of type `T` is exported under a trait; implemented for `dyn Account`.
pub trait Exports<T>: Remote {
    /// The interfaces of `object`: that of the trait, and those of the traits above it.
    fn interfaces(object: Arc<T>) -> Interfaces;
}

/// `dyn Gold: Extends<dyn Account>` says that `Account` is `Gold` itself, or above it.
#[diagnostic::on_unimplemented(
    message = "a super-trait of a remote trait is remote itself",
    label = "no remote trait",
    note = "put `#[remote]` on the super-trait, or take it off the list of super-traits"
)]
pub trait Extends<Trait: ?Sized + Remote>: Remote {}

/// Implemented by a reference for its own trait, and for each remote trait above that; `Trait` is
/// `dyn Account`. From it follows that the reference implements the trait.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not implement the remote trait of `{Trait}`",
    label = "neither an object of that trait, nor a reference to one",
    note = "a trait with several remote super-traits lists those above them as well: \
            `trait Dog: Pet + Guard + Animal`"
)]
pub trait Inherits<Trait: ?Sized + Remote>: RemoteRef {
    /// The object, if its home is the node that this reference belongs to.
    fn object(&self) -> Option<Cow<'_, Arc<Trait::Object>>> {
        self.__untyped().local::<Trait::Object>().map(Cow::Owned)
    }
}
