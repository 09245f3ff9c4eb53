//! Frames on their way that keep an entry alive.

use std::collections::VecDeque;

use crate::{FrameNumber, ObjectId};

/// Written frames that carry an uncounted reference and are not yet acknowledged, oldest first; one item a reference.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Pins {
    frames: VecDeque<(FrameNumber, ObjectId)>,
}

impl Pins {
    pub(crate) fn new() -> Self {
        Self { frames: VecDeque::new() }
    }

    pub(crate) fn pinned(&mut self, frame: FrameNumber, object: ObjectId) {
        debug_assert!(self.frames.back().is_none_or(|(last, _)| *last <= frame));
        self.frames.push_back((frame, object));
    }

    pub(crate) fn rolled_back(&mut self, frame: FrameNumber) {
        while self.frames.back().is_some_and(|(last, _)| *last == frame) {
            self.frames.pop_back();
        }
    }

    /// Takes the oldest pins that `up_to` covers and that are of one object.
    pub(crate) fn take_acknowledged(&mut self, up_to: FrameNumber) -> Option<(ObjectId, u32)> {
        let (_, object) = *self.frames.front().filter(|(frame, _)| *frame <= up_to)?;
        let mut count = 0;
        while self.frames.front().is_some_and(|(frame, next)| *frame <= up_to && *next == object) {
            self.frames.pop_front();
            count += 1;
        }
        Some((object, count))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }
}
