//! The local handle: what all clones of a reference share, and what the collector counts.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rmi_gc::ObjectId;
use rmi_transport::Endpoint;
use smallvec::SmallVec;

use crate::interface::{Interface, InterfaceId};
use crate::node::NodeInner;

/// The key that makes an object callable by those who were given it: 128 random bits.
pub(crate) type Key = [u8; 16];

/// What never changes about an object, as its home or a frame described it. Never logged whole:
/// the key is a capability.
pub(crate) struct Identity {
    pub(crate) id: ObjectId,
    pub(crate) key: Key,
    pub(crate) interfaces: SmallVec<[InterfaceId; 1]>,
    /// Hops to the home, as the description said; 0 at home.
    pub(crate) depth: u8,
    /// Where the home listens; empty if it only dials.
    pub(crate) endpoints: Arc<[Endpoint]>,
}

impl Identity {
    /// The home as errors name a peer, whether or not there is a session with it.
    pub(crate) fn home_in_words(&self) -> String {
        let home = self.id.home;
        match self.endpoints.first() {
            Some(endpoint) => format!("{home} ({endpoint})"),
            None => home.to_string(),
        }
    }
}

/// One local handle: the collector counts it at its entry until it is dropped.
pub(crate) struct Handle {
    pub(crate) node: Arc<NodeInner>,
    pub(crate) identity: Arc<Identity>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.node.handle_dropped(self.identity.id);
    }
}

/// A reference to an object whose interface is not told by its type.
///
/// Cloning costs one atomic increment. The last clone's drop queues the release and returns: it
/// never waits, and needs no runtime.
#[derive(Clone)]
pub struct Untyped(Arc<Handle>);

impl Untyped {
    /// Takes over a local handle that the entry has counted already.
    pub(crate) fn counted(node: &Arc<NodeInner>, identity: Arc<Identity>) -> Self {
        Self(Arc::new(Handle { node: Arc::clone(node), identity }))
    }

    /// How many clones share this local handle.
    pub(crate) fn clones(&self) -> usize {
        Arc::strong_count(&self.0)
    }

    pub(crate) fn node(&self) -> &Arc<NodeInner> {
        &self.0.node
    }

    pub(crate) fn identity(&self) -> &Arc<Identity> {
        &self.0.identity
    }

    /// The object's identity.
    pub fn id(&self) -> ObjectId {
        self.0.identity.id
    }

    pub(crate) fn is_local(&self) -> bool {
        self.id().home == self.0.node.id
    }

    pub(crate) fn implements(&self, interface: InterfaceId) -> bool {
        if self.0.identity.interfaces.contains(&interface) {
            return true;
        }
        // It may have been exported under another interface since.
        self.0.node.table.identity(self.id()).is_some_and(|now| now.interfaces.contains(&interface))
    }

    /// The object itself, if this node is its home.
    pub fn local<O: ?Sized + Interface>(&self) -> Option<Arc<O>> {
        if !self.is_local() {
            return None;
        }
        self.0.node.table.exported(self.id())?.interfaces.object::<O>()
    }
}

impl PartialEq for Untyped {
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id()
    }
}

impl Eq for Untyped {}

impl Hash for Untyped {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id().hash(state);
    }
}

impl fmt::Debug for Untyped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.id(), f)
    }
}
