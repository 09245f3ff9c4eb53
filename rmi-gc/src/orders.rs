//! What a step of an entry asks its table to carry out.

use crate::{ExportIndex, Fate, NodeId, Release};

/// What one step of an entry asks its table to carry out, in the step's own lock or after it.
#[derive(Clone, Debug, Eq, PartialEq)]
#[must_use = "orders are to be carried out"]
pub struct Orders {
    /// What became of the entry.
    pub fate: Fate,
    /// What a node that the references came from is owed, beside what the fate says.
    pub release: Option<Release>,
    /// The home is to be asked for adoption ([`Ledger::ask_adoption`](crate::Ledger::ask_adoption)).
    pub adopt: bool,
    /// What the children are to be told.
    pub tell: Option<Tell>,
    /// What becomes of sends that wait for this entry.
    pub waiting: Option<Waiting>,
}

/// News for children.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Tell {
    /// What they are told.
    pub news: News,
    /// The export index under which they know the entry.
    pub index: ExportIndex,
    /// Whom.
    pub children: Vec<NodeId>,
}

/// What a parent tells a child about the path to the home.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum News {
    /// The path is in doubt: find another.
    Reroot,
    /// The path is good again.
    Confirm,
    /// The parent is about to leave: please be adopted. The path is good still.
    Leaving,
}

/// What becomes of the sends that wait for an entry.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Waiting {
    /// They try again.
    GoOn,
    /// They fail: the object is lost to this node.
    Fail,
}

/// Whether a reference may be put on a frame now.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Forwarding {
    /// It may.
    Now,
    /// It waits until the entry is adopted or confirmed; then [`Orders::waiting`] says so.
    ///
    /// At the depth bound nobody has asked for adoption on behalf of this send yet: the table does
    /// ([`Entry::adoption_wanted`](crate::Entry::adoption_wanted)).
    AfterAdoption,
    /// It fails.
    Never,
}

/// Whether there is a session with an object's home, with a connection or waiting for one.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum HomeSession {
    /// There is: what is owed on it arrives, or it is given up and the entry is told.
    Exists,
    /// There is none.
    Absent,
}

impl Orders {
    /// Nothing to do: something keeps the entry.
    pub const NONE: Self =
        Self { fate: Fate::Kept, release: None, adopt: false, tell: None, waiting: None };

    pub(crate) fn owe(release: Option<Release>) -> Self {
        Self { release, ..Self::NONE }
    }

    pub(crate) fn fate(fate: Fate) -> Self {
        Self { fate, ..Self::NONE }
    }
}
