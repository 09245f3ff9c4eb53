//! The collector of a node, to look at.

use std::fmt;
use std::time::Duration;

use rmi_gc::{EntrySnapshot, Millis, NodeId, ObjectId, Policy, Snapshot};
use serde::Serialize;

use super::{Node, NodeInner};
use crate::reference::RemoteRef;

/// A view of a node's collector.
#[derive(Clone, Copy, Debug)]
pub struct Gc<'a>(pub(super) &'a Node);

impl Gc<'_> {
    /// Every export and bridge, with its local count, children, parent and state. Costs one visit
    /// to each entry; entries that change meanwhile are seen before or after.
    pub fn snapshot(&self) -> Snapshot {
        let inner = self.0.inner();
        let (exports, bridges) = inner.table.snapshot();
        // What an ended session still had in its ledger can neither be sent nor be asked for.
        let open = inner.sessions.all().into_iter().filter(|session| session.is_open());
        let waiting = open.map(|session| session.waiting());
        let (owed_releases, remembered) =
            waiting.fold((0, 0), |(owed, known), (o, k)| (owed + o, known + k));
        Snapshot { node: inner.id, exports, bridges, owed_releases, remembered }
    }

    /// Who keeps the object of `reference` alive, as this node knows: to hunt a leak, ask the home
    /// first.
    ///
    /// The home counts those that received the object from it, or were adopted; under
    /// [`Policy::Adopting`] these are soon all that hold it. Behind one that has passed the object
    /// on, others may hold it: ask there. Costs a look at one entry and at the bound names, and no
    /// message.
    ///
    /// # Examples
    ///
    /// ```
    /// use rmi::prelude::*;
    ///
    /// # #[remote] trait Greeter { async fn greet(&self) -> Result<()>; }
    /// # struct Polite;
    /// # impl Greeter for Polite { async fn greet(&self) -> Result<()> { Ok(()) } }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<()> {
    /// let home = Node::builder().listen("inproc://holders").start().await?;
    /// let greeter: GreeterRef = home.export(Polite);
    /// home.bind("greeter", &greeter)?;
    /// let elsewhere = Node::builder().start().await?;
    /// let far: GreeterRef = elsewhere.lookup("inproc://holders/greeter").await?;
    ///
    /// let holders = home.gc().who_holds(&greeter);
    /// assert_eq!((holders.clones, &*holders.names), (2, &["greeter".to_owned()][..]));
    /// assert_eq!(holders.peers[0].peer, elsewhere.id());
    /// # drop(far);
    /// # Ok(())
    /// # }
    /// ```
    pub fn who_holds<R: RemoteRef>(&self, reference: &R) -> Holders {
        let inner = self.0.inner();
        let object = reference.id();
        let names = inner.names.of(object);
        let clones = reference.__untyped().clones();
        match inner.table.look_at(object) {
            Some(entry) => inner.holders(entry, clones, names),
            // It is a reference of another node of this process.
            None => Holders::nobody(inner.id, object),
        }
    }

    /// How holders stand to the homes of their objects.
    pub fn policy(&self) -> Policy {
        self.0.inner().policy
    }
}

/// Who keeps an object alive, as one node knows; [`Gc::who_holds`] says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Holders {
    /// The node that says so.
    pub node: NodeId,
    /// The object. Unless the node is its home, others know more.
    pub object: ObjectId,
    /// Live local handles. Clones share one; what was received or exported anew has its own.
    pub local: u32,
    /// Clones of the reference that was asked with, itself and those of bound names included.
    pub clones: usize,
    /// The names that it is bound to here.
    pub names: Vec<String>,
    /// Other nodes that are counted here, in the order of their incarnations.
    pub peers: Vec<Holder>,
    /// The node where this one is counted: nobody at home, nor for an orphan.
    pub parent: Option<NodeId>,
}

/// A node that is counted among [`Holders`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Holder {
    /// Its incarnation.
    pub peer: NodeId,
    /// Incarnation and address of the session with it, if there is one.
    pub session: Option<String>,
    /// References that it was sent and has not released. It may have passed them on.
    pub references: u32,
    /// Frames to it that carry the reference home, and are not acknowledged.
    pub pins: u32,
    /// It was given up: what it had is kept for so long, in case that others have it from there.
    pub estate_for: Option<Duration>,
}

impl NodeInner {
    fn holders(&self, entry: EntrySnapshot, clones: usize, names: Vec<String>) -> Holders {
        let EntrySnapshot { id, local, children, pins, estate, parent, .. } = entry;
        let now = self.keeper.awake();
        let mut peers: Vec<NodeId> = children.keys().chain(pins.keys()).copied().collect();
        peers.extend(estate.keys());
        peers.sort_unstable();
        peers.dedup();
        let holder = |peer: NodeId| Holder {
            peer,
            session: self.sessions.open(peer).map(|session| session.peer_name.clone()),
            references: children.get(&peer).copied().unwrap_or(0),
            pins: pins.get(&peer).copied().unwrap_or(0),
            estate_for: estate.get(&peer).map(|until| {
                let Millis(left) = until.since(now);
                Duration::from_millis(left)
            }),
        };
        Holders {
            node: self.id,
            object: id,
            local,
            clones,
            names,
            peers: peers.into_iter().map(holder).collect(),
            parent: parent.map(|parent| parent.peer),
        }
    }
}

impl Holders {
    fn nobody(node: NodeId, object: ObjectId) -> Self {
        let (names, peers) = (Vec::new(), Vec::new());
        Self { node, object, local: 0, clones: 0, names, peers, parent: None }
    }
}

impl fmt::Display for Holders {
    /// One line for the node, and one for each peer.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, object, local, clones, names, peers, parent } = self;
        write!(f, "{object} at {node}: local handles {local}, clones of this one {clones}")?;
        for (at, name) in names.iter().enumerate() {
            write!(f, "{}{name:?}", if at == 0 { ", bound as " } else { ", " })?;
        }
        if let Some(parent) = parent {
            write!(f, ", counted at {parent}")?;
        }
        peers.iter().try_for_each(|peer| write!(f, "\n  {peer}"))
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { peer, session, references, pins, estate_for } = self;
        match session {
            Some(session) => write!(f, "{session}: references {references}")?,
            None => write!(f, "{peer}, no session: references {references}")?,
        }
        if *pins > 0 {
            write!(f, ", unacknowledged frames {pins}")?;
        }
        match estate_for {
            Some(left) => write!(f, ", given up, kept for {left:?}"),
            None => Ok(()),
        }
    }
}
