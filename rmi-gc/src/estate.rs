//! Shares of peers that were given up, kept for a grace period so that their children can be adopted.

use std::collections::BTreeMap;

use crate::{Millis, NodeId};

/// Deadlines of the peers that left something behind here (rule 12). Most entries have none, which costs a word.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(crate) struct Estate {
    /// Never empty.
    #[expect(clippy::box_collection, reason = "a map in place would add two words to every entry")]
    deadlines: Option<Box<BTreeMap<NodeId, Millis>>>,
}

impl Estate {
    pub(crate) fn is_empty(&self) -> bool {
        self.deadlines.is_none()
    }

    /// `peer` was given up; what it had is kept until `deadline`, or longer if it left something before.
    pub(crate) fn left_by(&mut self, peer: NodeId, deadline: Millis) {
        let kept = self.deadlines.get_or_insert_default().entry(peer).or_default();
        *kept = deadline.max(*kept);
    }

    /// `peer` is back, and counted again.
    pub(crate) fn claimed_by(&mut self, peer: NodeId) {
        self.retain(|heir, _| heir != peer);
    }

    pub(crate) fn expire(&mut self, now: Millis) {
        self.retain(|_, deadline| deadline > now);
    }

    pub(crate) fn next_deadline(&self) -> Option<Millis> {
        self.deadlines.as_ref()?.values().min().copied()
    }

    pub(crate) fn to_map(&self) -> BTreeMap<NodeId, Millis> {
        self.deadlines.as_deref().cloned().unwrap_or_default()
    }

    fn retain(&mut self, keep: impl Fn(NodeId, Millis) -> bool) {
        let Some(deadlines) = &mut self.deadlines else { return };
        deadlines.retain(|peer, deadline| keep(*peer, *deadline));
        if deadlines.is_empty() {
            self.deadlines = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estate_ends_at_its_deadline_or_when_it_is_claimed() {
        let (b, c) = (NodeId(2), NodeId(3));
        let mut estate = Estate::default();
        estate.left_by(b, Millis(10));
        estate.left_by(c, Millis(20));
        estate.left_by(c, Millis(15));
        assert_eq!(estate.next_deadline(), Some(Millis(10)));
        estate.expire(Millis(9));
        assert_eq!(estate.to_map().len(), 2);
        estate.expire(Millis(10));
        assert_eq!(estate.to_map(), BTreeMap::from([(c, Millis(20))]), "the later deadline stays");
        estate.claimed_by(b);
        assert!(!estate.is_empty());
        estate.claimed_by(c);
        assert_eq!(estate, Estate::default());
    }
}
