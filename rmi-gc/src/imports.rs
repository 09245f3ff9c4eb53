//! What a peer's export indices mean.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};

use crate::{ExportIndex, FrameNumber, ObjectId, PeerMisbehaved};

/// The meanings of a peer's export indices.
///
/// ```text
///  described ─▶ live ──last received reference is released, on frame f──▶ awaiting f ──acknowledged──▶ forgotten
///                 ▲                                                          │
///                 └──────────────────── received again ──────────────────────┘
/// ```
///
/// The peer stops describing an object while it counts a reference of ours. It learns of a release late, so the meaning
/// outlives the release until the peer has said that it knows.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Imports<D> {
    meanings: BTreeMap<ExportIndex, Meaning<D>>,
    /// Indices whose last reference was released, by the frame that said so, oldest first. A meaning that came alive
    /// again leaves its place here behind.
    awaiting: VecDeque<(FrameNumber, ExportIndex)>,
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Meaning<D> {
    object: ObjectId,
    what: D,
    /// References received under the index whose release was not written yet.
    outstanding: u32,
    /// The last frame that carried a release for the index.
    released_on: FrameNumber,
}

impl<D: Clone> Imports<D> {
    pub(crate) fn new() -> Self {
        Self { meanings: BTreeMap::new(), awaiting: VecDeque::new() }
    }

    pub(crate) fn described(
        &mut self,
        index: ExportIndex,
        object: ObjectId,
        what: D,
    ) -> Result<(), PeerMisbehaved> {
        match self.meanings.entry(index) {
            Entry::Vacant(vacant) => {
                let released_on = FrameNumber::default();
                vacant.insert(Meaning { object, what, outstanding: 1, released_on });
                Ok(())
            }
            Entry::Occupied(occupied) => {
                let meaning = occupied.into_mut();
                let means = meaning.object;
                if means != object {
                    let described = object;
                    return Err(PeerMisbehaved::IndexMeansAnother { index, means, described });
                }
                meaning.what = what;
                meaning.count()
            }
        }
    }

    /// The object that an index means, if any; nothing is counted.
    pub(crate) fn object(&self, index: ExportIndex) -> Option<ObjectId> {
        self.meanings.get(&index).map(|meaning| meaning.object)
    }

    pub(crate) fn known(&mut self, index: ExportIndex) -> Result<(ObjectId, D), PeerMisbehaved> {
        let meaning = self.meanings.get_mut(&index).ok_or(PeerMisbehaved::UnknownIndex(index))?;
        meaning.count()?;
        Ok((meaning.object, meaning.what.clone()))
    }

    /// `count` references received under `index` are released by `frame`, which is being written.
    pub(crate) fn released(&mut self, index: ExportIndex, count: u32, frame: FrameNumber) {
        let Some(meaning) = self.meanings.get_mut(&index) else {
            debug_assert!(false, "{index} is released but was never received");
            return;
        };
        debug_assert!(meaning.outstanding >= count, "{index} is released more than received");
        meaning.outstanding = meaning.outstanding.saturating_sub(count);
        meaning.released_on = frame;
        if meaning.outstanding == 0 {
            self.awaiting.push_back((frame, index));
        }
    }

    pub(crate) fn acknowledged(&mut self, up_to: FrameNumber) {
        while let Some(&(frame, index)) = self.awaiting.front()
            && frame <= up_to
        {
            self.awaiting.pop_front();
            if self.meanings.get(&index).is_some_and(|meaning| meaning.is_over(up_to)) {
                self.meanings.remove(&index);
            }
        }
    }

    pub(crate) fn awaits_acknowledgement(&self) -> bool {
        !self.awaiting.is_empty()
    }

    pub(crate) fn remembered(&self) -> usize {
        self.meanings.len()
    }
}

impl<D> Meaning<D> {
    fn count(&mut self) -> Result<(), PeerMisbehaved> {
        self.outstanding =
            self.outstanding.checked_add(1).ok_or(PeerMisbehaved::TooManyReferences)?;
        Ok(())
    }

    fn is_over(&self, acknowledged: FrameNumber) -> bool {
        self.outstanding == 0 && self.released_on <= acknowledged
    }
}
