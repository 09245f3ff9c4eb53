//! What an entry answers to its table: what became of it, what it owes, how a reference is named.

use thiserror::Error;

use crate::{ExportIndex, NodeId};

/// A release that is owed to a peer: "`count` of the references I received under your `index` are gone".
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Release {
    /// Whom it is owed to.
    pub to: NodeId,
    /// That peer's export index.
    pub index: ExportIndex,
    /// How many references.
    pub count: u32,
}

/// What became of an entry.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[must_use = "an entry that is gone is to be removed in the same step, and its release is owed"]
pub enum Fate {
    /// Something keeps it still.
    Kept,
    /// Nothing keeps it. The caller removes it in the same step, in which nobody else can find it, and owes the release.
    /// A home entry's object is dropped, outside of all locks.
    Gone {
        /// The number under which a bridge was passed on. `None` if it never was, and for a home entry, whose export
        /// index is that of its object.
        export: Option<ExportIndex>,
        /// What the parent is owed. `None` for a home entry and for an orphan.
        release: Option<Release>,
    },
}

/// How a reference is named on the wire.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Sent {
    /// By our export index and with the object's description, because no reference written before it is still counted.
    /// Counted.
    Described {
        /// Our export index.
        index: ExportIndex,
        /// The receiver's distance from the home, whose own is 0.
        depth: u8,
    },
    /// By our export index alone, whose meaning the peer still knows. Counted.
    Known {
        /// Our export index.
        index: ExportIndex,
    },
    /// To the parent, by its own export index. Not counted: our share there outlives the frame, as a release cannot
    /// overtake it.
    Yours {
        /// The parent's export index.
        index: ExportIndex,
    },
    /// To a home that is not the parent, by object and key. Not counted; the entry is pinned until the frame is
    /// acknowledged.
    YoursByKey,
}

/// Why a reference cannot be passed on now.
///
/// An orphan's reference may dangle; were it passed on, its receiver would never be told.
#[derive(Clone, Copy, Debug, Eq, Error, Hash, PartialEq)]
pub enum CannotForward {
    /// The path to the home is in doubt.
    #[error("the reference cannot be passed on while its path to the home is in doubt")]
    Suspect,
    /// The object is lost to this node.
    #[error("the reference cannot be passed on: the session with its home was lost")]
    Broken,
}
