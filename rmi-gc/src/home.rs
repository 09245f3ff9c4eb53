//! An object at its home.

use crate::counts::Counts;
use crate::estate::Estate;
use crate::{Fate, NodeId, PeerMisbehaved};

/// What keeps one of our own objects alive: local handles, and the references that peers hold.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Home {
    pub(crate) local: u32,
    /// References sent to each peer and not yet released.
    pub(crate) children: Counts,
    /// Peers that were given up while they were counted.
    pub(crate) estate: Estate,
}

impl Home {
    /// An object of which a first local handle exists.
    #[expect(clippy::new_without_default, reason = "an object with one handle is no neutral value")]
    pub fn new() -> Self {
        Self { local: 1, children: Counts::None, estate: Estate::default() }
    }

    pub(crate) fn is_kept(&self) -> bool {
        self.local > 0 || !self.children.is_empty() || !self.estate.is_empty()
    }

    pub(crate) fn fate(&self) -> Fate {
        if self.is_kept() { Fate::Kept } else { Fate::Gone { export: None, release: None } }
    }

    pub(crate) fn released(&mut self, by: NodeId, count: u32) -> Result<Fate, PeerMisbehaved> {
        release(&mut self.children, by, count)?;
        Ok(self.fate())
    }
}

/// Rule 5, the same at home and at a bridge.
pub(crate) fn release(children: &mut Counts, by: NodeId, count: u32) -> Result<(), PeerMisbehaved> {
    if count == 0 {
        return Err(PeerMisbehaved::ReleasedNothing);
    }
    if children.of(by) == 0 {
        return Err(PeerMisbehaved::ReleasedUnshared);
    }
    children.take(by, count).ok_or(PeerMisbehaved::ReleasedTooMany)
}
