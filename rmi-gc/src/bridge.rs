//! A node's one record of one remote object.

use serde::{Deserialize, Serialize};

use crate::counts::Counts;
use crate::estate::Estate;
use crate::home::release;
use crate::{
    CannotForward, ExportIndex, Fate, NodeId, ObjectId, Orders, PeerMisbehaved, Release, Sent,
};

/// As many references a bridge keeps from its parent; of more, all but one are given back.
///
/// Without a bound, a reference that is received time and again while one handle lives would overflow the counts of both
/// sides. One merged release for 65 536 references costs nothing.
pub const RECEIVED_MAX: u32 = 1 << 16;

/// One node's record of one remote object: who here uses it, whom it was passed to, and where it came from.
///
/// ```text
///             ┌── passed on, returned, received again ──┐
///             ▼                                         │
///  received ─▶ Counting ──last local handle, children──▶ Zombie
///                 │          left                          │
///   last local handle, no child, no pin          last child and pin
///                 └───────────▶ gone ◀─────────────────────┘
///                    (its parent is owed a release)
/// ```
///
/// An estate keeps it like a child. [`Standing`] is a second machine beside this one.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Bridge {
    /// Whom the references here are counted at. `None` after the session with it was given up, until the home adopts the
    /// bridge or sends a reference itself.
    pub(crate) parent: Option<Parent>,
    /// Our number for this entry, from the first time it is passed on to a child.
    pub(crate) export: Option<ExportIndex>,
    /// References sent to each peer and not yet released.
    pub(crate) children: Counts,
    /// Frames to each peer that carry an uncounted reference and are not yet acknowledged.
    pub(crate) pins: Counts,
    /// Peers that were given up while they were counted, or while a frame to them was not acknowledged.
    pub(crate) estate: Estate,
    pub(crate) local: u32,
    /// Hops to the home when the reference was first received, and 1 once the home is the parent. Paths only get shorter
    /// afterwards, so that it is never too small.
    pub(crate) depth: u8,
    pub(crate) standing: Standing,
    /// Whether the parent said `Reroot` and neither took it back nor was replaced since.
    pub(crate) rerooted: bool,
    /// Whether the proxy role was taken on (rule 11).
    pub(crate) relay: bool,
}

/// Where a bridge's references came from, and what it will owe when it goes.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
pub struct Parent {
    /// The node.
    pub peer: NodeId,
    /// Its export index for the object.
    pub index: ExportIndex,
    /// References received from it, for which no release is owed yet.
    pub received: u32,
}

/// Whether a bridge can count on its path to the home.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
pub enum Standing {
    /// It has a parent, which counts it.
    Confirmed,
    /// The home was asked to count it instead of the parent, and has not answered.
    Adopting {
        /// Whether the path through the parent is good as well, so that references may be passed on meanwhile.
        voluntary: bool,
    },
    /// Its path is in doubt, and there is no session with its home to be adopted by. The object may live on, or not.
    Suspect,
    /// The object is lost to this node: its users get an error.
    Broken,
}

impl Bridge {
    /// The first reference to the object arrives (rule 3): there is one local handle, and one reference received.
    ///
    /// `depth` is what the sender said. What comes from the home itself is at depth 1, and nothing else is.
    pub fn new(id: ObjectId, from: NodeId, index: ExportIndex, depth: u8) -> Self {
        Self {
            parent: Some(Parent { peer: from, index, received: 1 }),
            export: None,
            children: Counts::None,
            pins: Counts::None,
            estate: Estate::default(),
            local: 1,
            depth: if from == id.home { 1 } else { depth.max(2) },
            standing: Standing::Confirmed,
            rerooted: false,
            relay: false,
        }
    }

    /// Whom the references here are counted at; none for an orphan.
    pub fn parent(&self) -> Option<Parent> {
        self.parent
    }

    /// Hops to the home, as last heard.
    pub fn depth(&self) -> u8 {
        self.depth
    }

    /// Whether it can count on its path to the home.
    pub fn standing(&self) -> Standing {
        self.standing
    }

    pub(crate) fn is_kept(&self) -> bool {
        self.local > 0
            || !self.children.is_empty()
            || !self.pins.is_empty()
            || !self.estate.is_empty()
    }

    pub(crate) fn is_zombie(&self) -> bool {
        self.local == 0 && !(self.children.is_empty() && self.estate.is_empty())
    }

    /// Rule 4.
    pub(crate) fn fate(&self) -> Fate {
        if self.is_kept() {
            return Fate::Kept;
        }
        Fate::Gone { export: self.export, release: self.parent.map(owed_in_full) }
    }

    /// Rule 3, for an object that is known here. The local handle is counted by the entry.
    pub(crate) fn reference_received(
        &mut self,
        id: ObjectId,
        from: NodeId,
        index: ExportIndex,
    ) -> Result<Orders, PeerMisbehaved> {
        if from == id.home {
            // The best parent there is, whatever the standing was: as good as an adoption.
            return self.adopted(id, index);
        }
        match &mut self.parent {
            Some(parent) if parent.peer == from => {
                Ok(Orders::owe(parent.received_again(id, index)?))
            }
            // A second parent would let two bridges wait for each other for ever. An orphan keeps to that as well: the
            // sender may be a child of its own.
            Some(_) | None => Ok(Orders::owe(Some(Release { to: from, index, count: 1 }))),
        }
    }

    /// Rules 1 and 2.
    pub(crate) fn reference_sent(
        &mut self,
        id: ObjectId,
        to: NodeId,
        fresh: impl FnOnce() -> ExportIndex,
    ) -> Result<Sent, CannotForward> {
        match self.standing {
            Standing::Confirmed | Standing::Adopting { voluntary: true } => {}
            Standing::Adopting { voluntary: false } | Standing::Suspect => {
                return Err(CannotForward::Suspect);
            }
            Standing::Broken => return Err(CannotForward::Broken),
        }
        if let Some(parent) = self.parent.as_ref().filter(|parent| parent.peer == to) {
            return Ok(Sent::Yours { index: parent.index });
        }
        if to == id.home {
            self.pins.add_one(to);
            return Ok(Sent::YoursByKey);
        }
        let index = *self.export.get_or_insert_with(fresh);
        Ok(pass_on(&mut self.children, to, index, self.depth))
    }

    /// Rule 5; climbing the tree is rule 4 again.
    pub(crate) fn released(&mut self, by: NodeId, count: u32) -> Result<Fate, PeerMisbehaved> {
        release(&mut self.children, by, count)?;
        Ok(self.fate())
    }

    /// Rule 12, without estates and adoption.
    pub(crate) fn peer_gone(&mut self, id: ObjectId, peer: NodeId) {
        self.children.remove(peer);
        self.pins.remove(peer);
        if self.parent.is_some_and(|parent| parent.peer == peer) {
            self.parent = None;
            self.standing = if peer == id.home { Standing::Broken } else { Standing::Suspect };
        }
    }
}

impl Parent {
    pub(crate) fn received_again(
        &mut self,
        object: ObjectId,
        named: ExportIndex,
    ) -> Result<Option<Release>, PeerMisbehaved> {
        // Our share keeps the parent's entry, and the entry keeps its index.
        if named != self.index {
            let known = self.index;
            return Err(PeerMisbehaved::TwoIndicesForOne { object, known, named });
        }
        if self.received < RECEIVED_MAX {
            self.received += 1;
            return Ok(None);
        }
        // The reference that just arrived is the one to keep.
        let rest = Release { to: self.peer, index: self.index, count: self.received };
        self.received = 1;
        Ok(Some(rest))
    }
}

pub(crate) fn owed_in_full(parent: Parent) -> Release {
    Release { to: parent.peer, index: parent.index, count: parent.received }
}

/// Rule 1, the same at home and at a bridge.
pub(crate) fn pass_on(children: &mut Counts, to: NodeId, index: ExportIndex, depth: u8) -> Sent {
    match children.add_one(to) {
        0 => Sent::Described { index, depth: depth.saturating_add(1) },
        _ => Sent::Known { index },
    }
}
