//! References that know their interface: the heart of every generated `…Ref`, and the trait that
//! they all implement.

use std::fmt;
use std::future::Future;
use std::hash::Hash;
use std::sync::Arc;

use rmi_gc::{NodeId, ObjectId};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Untyped;
use crate::error::{Error, ErrorKind, Result};
use crate::interface::{Interface, InterfaceId, Interfaces};

/// A remote reference to an object, whatever its interface: what all generated references share.
///
/// Equality and hash are those of the object's identity.
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
            let text = format!("the object does not implement {}{}", O::NAME, O::types());
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

/// The object is handed over by value.
#[derive(Clone, Copy, Debug)]
pub struct ByValue;

/// The object is handed over in an `Arc`, and may be used beside.
#[derive(Clone, Copy, Debug)]
pub struct ByArc;

/// Implemented by a reference for each remote super-trait of its interface: `NAME` is the hash of
/// the super-trait's name, `ARGUMENTS` the tuple of its type arguments.
pub trait Inherits<const NAME: u64, ARGUMENTS>: RemoteRef {}
