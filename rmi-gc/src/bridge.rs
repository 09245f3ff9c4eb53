//! A node's one record of one remote object.

use serde::{Deserialize, Serialize};

use crate::counts::Counts;
use crate::home::release;
use crate::{CannotForward, ExportIndex, Fate, NodeId, ObjectId, PeerMisbehaved, Release, Sent};

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
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Bridge {
    /// Whom the references here are counted at. `None` after the session with it was given up, until the home itself
    /// sends a reference again.
    pub(crate) parent: Option<Parent>,
    /// Our number for this entry, from the first time it is passed on to a child.
    pub(crate) export: Option<ExportIndex>,
    /// References sent to each peer and not yet released.
    pub(crate) children: Counts,
    /// Frames to each peer that carry an uncounted reference and are not yet acknowledged.
    pub(crate) pins: Counts,
    pub(crate) local: u32,
    /// Hops to the home when the reference was first received; 1 if the home sent it.
    pub(crate) depth: u8,
    pub(crate) standing: Standing,
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
    /// The session with its parent was given up. The object may live on, or not.
    Suspect,
    /// The session with its home was given up: its users get an error.
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
            local: 1,
            depth: if from == id.home { 1 } else { depth.max(2) },
            standing: Standing::Confirmed,
            relay: false,
        }
    }

    /// Whom the references here are counted at; none for an orphan.
    pub fn parent(&self) -> Option<Parent> {
        self.parent
    }

    /// Whether it can count on its path to the home.
    pub fn standing(&self) -> Standing {
        self.standing
    }

    pub(crate) fn is_kept(&self) -> bool {
        self.local > 0 || !self.children.is_empty() || !self.pins.is_empty()
    }

    pub(crate) fn is_zombie(&self) -> bool {
        self.local == 0 && !self.children.is_empty()
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
    ) -> Result<Option<Release>, PeerMisbehaved> {
        match &mut self.parent {
            Some(parent) if parent.peer == from => parent.received_again(id, index),
            Some(_) | None if from == id.home => Ok(self.taken_in_by_home(from, index)),
            // A second parent would let two bridges wait for each other for ever. An orphan keeps to that as well: the
            // sender may be a child of its own.
            Some(_) | None => Ok(Some(Release { to: from, index, count: 1 })),
        }
    }

    /// The home itself sent a reference, late: it is the best parent there is, whatever the standing was.
    fn taken_in_by_home(&mut self, home: NodeId, index: ExportIndex) -> Option<Release> {
        let old = self.parent.replace(Parent { peer: home, index, received: 1 });
        self.standing = Standing::Confirmed;
        self.depth = 1;
        old.map(owed_in_full)
    }

    /// Rules 1 and 2.
    pub(crate) fn reference_sent(
        &mut self,
        id: ObjectId,
        to: NodeId,
        fresh: impl FnOnce() -> ExportIndex,
    ) -> Result<Sent, CannotForward> {
        match self.standing {
            Standing::Confirmed => {}
            Standing::Suspect => return Err(CannotForward::Suspect),
            Standing::Broken => return Err(CannotForward::Broken),
        }
        if let Some(parent) = &self.parent
            && parent.peer == to
        {
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
    fn received_again(
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

fn owed_in_full(parent: Parent) -> Release {
    Release { to: parent.peer, index: parent.index, count: parent.received }
}

/// Rule 1, the same at home and at a bridge.
pub(crate) fn pass_on(children: &mut Counts, to: NodeId, index: ExportIndex, depth: u8) -> Sent {
    match children.add_one(to) {
        0 => Sent::Described { index, depth: depth.saturating_add(1) },
        _ => Sent::Known { index },
    }
}
