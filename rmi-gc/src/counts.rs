//! How many, by peer: references passed on and not yet released, or frames not yet acknowledged.

use std::collections::BTreeMap;

use crate::NodeId;

/// A count for each peer. Most entries know one peer at most, so that one costs no allocation.
///
/// The form is canonical: no count is zero, and [`Many`](Self::Many) holds two peers at least, so that equal counts
/// compare and hash equal.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(crate) enum Counts {
    #[default]
    None,
    One(NodeId, u32),
    #[expect(clippy::box_collection, reason = "a map in place would double every entry")]
    Many(Box<BTreeMap<NodeId, u32>>),
}

impl Counts {
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::None)
    }

    pub(crate) fn of(&self, peer: NodeId) -> u32 {
        match self {
            Self::None => 0,
            Self::One(one, count) => {
                if *one == peer {
                    *count
                } else {
                    0
                }
            }
            Self::Many(counts) => counts.get(&peer).copied().unwrap_or(0),
        }
    }

    /// Adds one and returns what was there before.
    ///
    /// A count that is full stays so: only a peer that takes 2³² references and never gives one back gets there, and it
    /// harms nobody but itself.
    pub(crate) fn add_one(&mut self, peer: NodeId) -> u32 {
        let before = self.of(peer);
        self.set(peer, before.saturating_add(1));
        before
    }

    /// Takes `count` off, or nothing at all and returns `None` if there are not so many.
    pub(crate) fn take(&mut self, peer: NodeId, count: u32) -> Option<()> {
        let left = self.of(peer).checked_sub(count)?;
        self.set(peer, left);
        Some(())
    }

    /// Forgets `peer`, and returns what it had.
    pub(crate) fn remove(&mut self, peer: NodeId) -> u32 {
        let before = self.of(peer);
        self.set(peer, 0);
        before
    }

    pub(crate) fn peers(&self) -> Vec<NodeId> {
        match self {
            Self::None => Vec::new(),
            Self::One(peer, _) => vec![*peer],
            Self::Many(counts) => counts.keys().copied().collect(),
        }
    }

    pub(crate) fn to_map(&self) -> BTreeMap<NodeId, u32> {
        match self {
            Self::None => BTreeMap::new(),
            Self::One(peer, count) => BTreeMap::from([(*peer, *count)]),
            Self::Many(counts) => (**counts).clone(),
        }
    }

    fn set(&mut self, peer: NodeId, count: u32) {
        match self {
            Self::None if count == 0 => {}
            Self::None => *self = Self::One(peer, count),
            Self::One(one, _) if *one == peer && count == 0 => *self = Self::None,
            Self::One(one, old) if *one == peer => *old = count,
            Self::One(..) if count == 0 => {}
            Self::One(one, old) => {
                *self = Self::Many(Box::new(BTreeMap::from([(*one, *old), (peer, count)])));
            }
            Self::Many(counts) => {
                if count == 0 {
                    counts.remove(&peer);
                } else {
                    counts.insert(peer, count);
                }
                if let (1, Some((&last, &count))) = (counts.len(), counts.first_key_value()) {
                    *self = Self::One(last, count);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: NodeId = NodeId(1);
    const B: NodeId = NodeId(2);
    const C: NodeId = NodeId(3);

    #[test]
    fn counts_agree_with_a_plain_map_and_stay_canonical() {
        let mut counts = Counts::default();
        let mut plain = BTreeMap::<NodeId, u32>::new();
        for (step, (peer, add)) in [
            (A, true),
            (A, true),
            (B, true),
            (C, true),
            (B, false),
            (A, false),
            (B, false),
            (A, false),
            (C, false),
            (C, false),
        ]
        .into_iter()
        .enumerate()
        {
            let old = plain.get(&peer).copied().unwrap_or(0);
            if add {
                assert_eq!(counts.add_one(peer), old, "step {step}");
                plain.insert(peer, old + 1);
            } else {
                assert_eq!(counts.take(peer, 1).is_some(), old > 0, "step {step}");
                plain.insert(peer, old.saturating_sub(1));
            }
            plain.retain(|_, count| *count > 0);
            assert_eq!(counts.to_map(), plain, "step {step}");
            assert_eq!(matches!(counts, Counts::Many(_)), plain.len() > 1, "step {step}");
            assert_eq!(counts.is_empty(), plain.is_empty(), "step {step}");
        }
    }

    #[test]
    fn taking_more_than_there_is_takes_nothing() {
        let mut counts = Counts::One(A, 2);
        assert_eq!(counts.take(A, 3), None);
        assert_eq!(counts.take(B, 1), None);
        assert_eq!(counts, Counts::One(A, 2));
    }

    #[test]
    fn a_full_count_stays_full() {
        let mut counts = Counts::One(A, u32::MAX);
        assert_eq!(counts.add_one(A), u32::MAX);
        assert_eq!(counts, Counts::One(A, u32::MAX));
    }
}
