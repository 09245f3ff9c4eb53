//! References that do not keep their object alive.

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Weak as WeakArc};

use rmi_gc::ObjectId;

use super::{RemoteRef, Untyped};
use crate::node::NodeInner;

/// A reference that does not keep its object alive.
///
/// It keeps neither the object nor the node's entry for it: upgrading succeeds as long as this
/// node still has a reference, or another node has one from it; at the object's home, as long as
/// the object lives.
pub struct Weak<R> {
    node: WeakArc<NodeInner>,
    id: ObjectId,
    reference: PhantomData<fn() -> R>,
}

impl<R: RemoteRef> Weak<R> {
    /// A weak reference to the object of `reference`.
    pub fn new(reference: &R) -> Self {
        let untyped = reference.__untyped();
        Self { node: Arc::downgrade(untyped.node()), id: untyped.id(), reference: PhantomData }
    }

    /// The reference, if somebody on this node still keeps it. Costs no message.
    pub fn upgrade(&self) -> Option<R> {
        let node = self.node.upgrade()?;
        let identity = node.table.acquire(self.id)?;
        R::__from_untyped(Untyped::counted(&node, identity)).ok()
    }
}

impl<R> Weak<R> {
    /// The object's identity.
    pub fn id(&self) -> ObjectId {
        self.id
    }
}

impl<R> Clone for Weak<R> {
    fn clone(&self) -> Self {
        Self { node: self.node.clone(), id: self.id, reference: PhantomData }
    }
}

impl<R> fmt::Debug for Weak<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Weak").field(&self.id).finish()
    }
}
