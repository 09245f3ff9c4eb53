//! What a node shares at one moment, to look at and to test against.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::{Millis, NodeId, ObjectId, Parent, Standing};

/// What a node shares with others at one moment.
///
/// Taken entry by entry: while references move, two entries may be seen at different moments.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Snapshot {
    /// The node.
    pub node: NodeId,
    /// Its own objects that are shared.
    pub exports: Vec<EntrySnapshot>,
    /// Objects of other nodes that it knows.
    pub bridges: Vec<EntrySnapshot>,
    /// Merged releases that wait to be written, over all sessions.
    pub owed_releases: usize,
    /// Export indices of peers whose meaning is remembered, over all sessions.
    pub remembered: usize,
}

/// One entry of a [`Snapshot`].
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct EntrySnapshot {
    /// The object.
    pub id: ObjectId,
    /// Live local handles.
    pub local: u32,
    /// References sent to each peer and not yet released.
    pub children: BTreeMap<NodeId, u32>,
    /// Frames to each peer that keep the entry until they are acknowledged.
    pub pins: BTreeMap<NodeId, u32>,
    /// Peers that were given up while they were counted, and how long that is kept.
    pub estate: BTreeMap<NodeId, Millis>,
    /// Where the references here are counted. `None` at home, and for an orphan.
    pub parent: Option<Parent>,
    /// What the entry does.
    pub state: State,
    /// Whether it can count on its path to the home.
    pub standing: Standing,
    /// Hops to the home, as last heard; 0 at home.
    pub depth: u8,
}

/// What an entry shows of itself; [`EntrySnapshot`] adds whose it is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct EntryView {
    /// Live local handles.
    pub local: u32,
    /// References sent to each peer and not yet released.
    pub children: BTreeMap<NodeId, u32>,
    /// Frames to each peer that keep the entry until they are acknowledged.
    pub pins: BTreeMap<NodeId, u32>,
    /// Peers that were given up while they were counted, and how long that is kept.
    pub estate: BTreeMap<NodeId, Millis>,
    /// Where the references here are counted.
    pub parent: Option<Parent>,
    /// Hops to the home, as last heard; 0 at home.
    pub depth: u8,
    /// Whether it can count on its path to the home.
    pub standing: Standing,
    /// What the entry does.
    pub state: State,
}

/// What an entry does.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, Serialize)]
pub enum State {
    /// It counts local handles and references passed on.
    Counting,
    /// A bridge that has taken on its proxy role, with local handles or without.
    Relaying,
    /// A bridge with children and no local handle: a counter, nothing more.
    Zombie,
}

impl Snapshot {
    /// Whether nothing is shared any more: no exports, no bridges, nothing owed, nothing remembered.
    pub fn is_empty(&self) -> bool {
        self.exports.is_empty()
            && self.bridges.is_empty()
            && self.owed_releases == 0
            && self.remembered == 0
    }
}

impl EntrySnapshot {
    /// The snapshot of the entry that is held under `id`.
    pub fn new(id: ObjectId, view: EntryView) -> Self {
        let EntryView { local, children, pins, estate, parent, depth, standing, state } = view;
        Self { id, local, children, pins, estate, parent, state, standing, depth }
    }
}

impl fmt::Display for Snapshot {
    /// A table, one line for each entry.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, exports, bridges, owed_releases, remembered } = self;
        write!(f, "{node}: ")?;
        if self.is_empty() {
            return write!(f, "empty");
        }
        write!(f, "exports {}, bridges {}, ", exports.len(), bridges.len())?;
        write!(f, "releases owed {owed_releases}, indices remembered {remembered}")?;
        exports.iter().chain(bridges).try_for_each(|entry| write!(f, "\n  {entry}"))
    }
}

impl fmt::Display for EntrySnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, local, children, pins, estate, parent, state, standing, depth } = self;
        write!(f, "{id}  {state:?}  local {local}")?;
        write_counts(f, "children", children)?;
        write_counts(f, "pins", pins)?;
        for (at, peer) in estate.keys().enumerate() {
            write!(f, "{} {peer}", if at == 0 { "  estate of" } else { "," })?;
        }
        if let Some(Parent { peer, index, received }) = parent {
            write!(f, "  parent {peer} {index} ×{received}  depth {depth}")?;
        }
        match standing {
            Standing::Confirmed => Ok(()),
            Standing::Adopting { voluntary: true } => write!(f, "  Adopting"),
            Standing::Adopting { voluntary: false } => write!(f, "  Adopting, in doubt"),
            Standing::Suspect | Standing::Broken => write!(f, "  {standing:?}"),
        }
    }
}

fn write_counts(
    f: &mut fmt::Formatter<'_>,
    title: &str,
    counts: &BTreeMap<NodeId, u32>,
) -> fmt::Result {
    for (at, (peer, count)) in counts.iter().enumerate() {
        match at {
            0 => write!(f, "  {title} {peer} ×{count}")?,
            _ => write!(f, ", {peer} ×{count}")?,
        }
    }
    Ok(())
}
