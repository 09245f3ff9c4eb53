//! Frames that were written and are not acknowledged: kept, to be resent if their connection is
//! lost.

use std::collections::VecDeque;

use crate::frame::frame_bytes;

/// Small batches share chunks of this size, so that what is kept takes about its own size.
const CHUNK_BYTES: usize = 64 * 1024;

/// A batch beyond this size is not copied: its memory is kept as it is.
const COPIED_BYTES_MAX: usize = 16 * 1024;

/// At most so much is copied at once to be resent.
pub(super) const RESENT_BYTES_MAX: usize = 64 * 1024;

/// The tail of the lane: from the first frame that is not acknowledged to the last that was
/// written.
///
/// There is no bookkeeping for each frame: where one ends is found by its length. This is on the
/// way of every call, so a small frame that comes and goes is copied once and allocates nothing.
#[derive(Debug)]
pub(super) struct Retained {
    /// The oldest first; none is empty.
    full: VecDeque<Chunk>,
    /// Where small batches are copied to. Behind those that are full.
    last: Chunk,
    /// The number of the first frame that is kept, or would be.
    first: u64,
    /// Bytes of the lane before that frame.
    start: u64,
    /// Bytes that are kept.
    len: usize,
    /// The memory of a chunk that was emptied, for the next one.
    spare: Vec<u8>,
}

/// Whole frames.
#[derive(Debug, Default)]
struct Chunk {
    bytes: Vec<u8>,
    /// How many of them are acknowledged.
    acknowledged: usize,
}

impl Chunk {
    fn rest(&self) -> &[u8] {
        self.bytes.get(self.acknowledged..).unwrap_or_default()
    }

    fn has_room_for(&self, bytes: usize) -> bool {
        self.bytes.is_empty() || self.bytes.len() + bytes <= CHUNK_BYTES
    }

    /// Appends a batch that it has room for. Its memory doubles as it fills, and stays within
    /// [`CHUNK_BYTES`] unless the batch alone is larger.
    fn append(&mut self, batch: &[u8]) {
        let needed = self.bytes.len() + batch.len();
        if needed > self.bytes.capacity() {
            let capacity = (2 * self.bytes.capacity()).min(CHUNK_BYTES).max(needed);
            self.bytes.reserve_exact(capacity - self.bytes.len());
        }
        self.bytes.extend_from_slice(batch);
    }
}

impl Default for Retained {
    fn default() -> Self {
        Retained {
            full: VecDeque::new(),
            last: Chunk::default(),
            first: 1,
            start: 0,
            len: 0,
            spare: Vec::new(),
        }
    }
}

impl Retained {
    /// Keeps a batch of whole frames, which follow those that were kept last. Leaves memory to
    /// gather the next batch in, or none.
    pub(super) fn push(&mut self, batch: &mut Vec<u8>) {
        self.len += batch.len();
        // Memory that is mostly empty is better used for the next batch.
        let is_moved = batch.len() > COPIED_BYTES_MAX && batch.len() >= batch.capacity() / 2;
        if is_moved || !self.last.has_room_for(batch.len()) {
            self.begin_chunk();
        }
        if is_moved {
            self.full.push_back(Chunk { bytes: std::mem::take(batch), acknowledged: 0 });
        } else {
            self.last.append(batch);
            batch.clear();
        }
    }

    fn begin_chunk(&mut self) {
        if !self.last.rest().is_empty() {
            let next = Chunk { bytes: std::mem::take(&mut self.spare), acknowledged: 0 };
            self.full.push_back(std::mem::replace(&mut self.last, next));
        }
    }

    /// The peer has all frames up to this one: they are not kept any longer. Those of them that
    /// are not here yet are dropped when this is called again after they have come.
    #[inline]
    pub(super) fn acknowledged(&mut self, up_to: u64) {
        // Mostly it is no news, and this is asked at every turn.
        if self.first <= up_to && self.len > 0 {
            self.drop_up_to(up_to);
        }
    }

    fn drop_up_to(&mut self, up_to: u64) {
        while self.first <= up_to && self.len > 0 {
            let oldest = self.full.front_mut().unwrap_or(&mut self.last);
            let Some(frame) = frame_bytes(oldest.rest()) else {
                debug_assert!(false, "a frame that breaks off");
                return;
            };
            oldest.acknowledged += frame;
            self.first += 1;
            self.start += frame as u64;
            self.len -= frame;
            if oldest.acknowledged == oldest.bytes.len() {
                self.recycle_oldest();
            }
        }
    }

    /// The oldest chunk has been emptied. The last one is filled again.
    fn recycle_oldest(&mut self) {
        if let Some(Chunk { bytes: mut emptied, .. }) = self.full.pop_front() {
            if (self.spare.capacity()..=CHUNK_BYTES).contains(&emptied.capacity()) {
                emptied.clear();
                self.spare = emptied;
            }
        } else if self.last.bytes.capacity() <= CHUNK_BYTES {
            self.last.bytes.clear();
            self.last.acknowledged = 0;
        } else {
            self.last = Chunk::default();
        }
    }

    /// Appends what the lane has from byte `from` on, as far as one copy goes, to `into`, and
    /// returns where to go on. What is acknowledged is passed over.
    pub(super) fn copy(&self, from: u64, into: &mut Vec<u8>) -> u64 {
        let from = from.max(self.start);
        let mut skip = usize::try_from(from - self.start).unwrap_or(usize::MAX);
        for chunk in self.full.iter().chain([&self.last]) {
            match chunk.rest().get(skip..) {
                None | Some([]) => skip -= chunk.rest().len(),
                Some(rest) => {
                    let (now, _later) = rest.split_at(rest.len().min(RESENT_BYTES_MAX));
                    into.extend_from_slice(now);
                    return from + now.len() as u64;
                }
            }
        }
        from
    }

    /// How many bytes are kept of the lane from byte `from` on.
    pub(super) fn len_from(&self, from: u64) -> usize {
        let passed = from.saturating_sub(self.start);
        self.len.saturating_sub(usize::try_from(passed).unwrap_or(usize::MAX))
    }

    /// How many bytes are kept.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Nothing will be resent any more.
    pub(super) fn clear(&mut self) {
        *self = Retained::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame of so many bytes, its length included, and all of the same content.
    fn frame(bytes: usize, content: u8) -> Vec<u8> {
        let mut frame = match bytes {
            0..=128 => vec![(bytes - 1) as u8],
            129..=16_385 => vec![(bytes - 2) as u8 | 0x80, ((bytes - 2) >> 7) as u8],
            _ => {
                let length = bytes - 3;
                vec![length as u8 | 0x80, (length >> 7) as u8 | 0x80, (length >> 14) as u8]
            }
        };
        frame.resize(bytes, content);
        frame
    }

    /// All that is kept from `from` on.
    fn rest(retained: &Retained, mut from: u64) -> Vec<u8> {
        let mut lane = Vec::new();
        loop {
            let mut piece = Vec::new();
            from = retained.copy(from, &mut piece);
            assert!(piece.len() <= RESENT_BYTES_MAX);
            if piece.is_empty() {
                return lane;
            }
            lane.extend_from_slice(&piece);
        }
    }

    fn memory(retained: &Retained) -> usize {
        let full: usize = retained.full.iter().map(|chunk| chunk.bytes.capacity()).sum();
        full + retained.last.bytes.capacity() + retained.spare.capacity()
    }

    #[test]
    fn what_is_not_acknowledged_is_kept_as_it_was_written() {
        // Small and large batches, with every size of a length; frames of several in a batch.
        let sizes = [20, 17_000, 30, 300, 70_000, 5, 40_000, 16_384, 16_385, 128, 200_000, 1_000];
        let frames: Vec<_> = (0..).zip(sizes).map(|(n, bytes)| frame(bytes, n)).collect();
        for together in 1..=3 {
            let mut retained = Retained::default();
            for batch in frames.chunks(together) {
                retained.push(&mut batch.concat());
            }
            for acknowledged in 0..=frames.len() {
                retained.acknowledged(acknowledged as u64);
                let want = frames[acknowledged..].concat();
                assert_eq!(retained.len(), want.len());
                let from = retained.start;
                assert!(rest(&retained, 0) == want, "{together} together, {acknowledged} gone");
                assert!(rest(&retained, from) == want);
                let within = from + (want.len() / 2) as u64;
                assert!(rest(&retained, within) == want[want.len() / 2..]);
                assert_eq!(retained.len_from(within), want.len() - want.len() / 2);
            }
            assert_eq!((retained.len(), retained.len_from(0)), (0, 0));
            assert!(memory(&retained) <= 2 * CHUNK_BYTES, "{}", memory(&retained));
        }
    }

    #[test]
    fn resending_goes_on_where_it_was_though_frames_are_acknowledged_meanwhile() {
        let frames: Vec<_> = (0..8).map(|content| frame(40_000, content)).collect();
        for acknowledged in 0..=8 {
            let mut retained = Retained::default();
            for frame in &frames {
                retained.push(&mut frame.clone());
            }
            let mut resent = Vec::new();
            let mut from = 0;
            for _ in 0..4 {
                from = retained.copy(from, &mut resent);
            }
            assert_eq!(resent, frames[..4].concat());
            retained.acknowledged(acknowledged);
            let left = 8 - (acknowledged as usize).max(4);
            assert_eq!(retained.len_from(from), left * 40_000);
            assert!(rest(&retained, from) == frames[8 - left..].concat(), "{acknowledged}");
        }
    }

    #[test]
    fn frames_that_were_acknowledged_before_they_are_kept_are_dropped_with_the_next_look() {
        let mut retained = Retained::default();
        retained.acknowledged(3);
        for content in 1..=4 {
            retained.push(&mut frame(20, content));
        }
        retained.acknowledged(3);
        assert_eq!(rest(&retained, 0), frame(20, 4));
    }

    #[test]
    fn a_large_batch_behind_an_emptied_chunk_is_found() {
        let mut retained = Retained::default();
        retained.push(&mut frame(20, 1));
        retained.acknowledged(1);
        retained.push(&mut frame(100_000, 2));
        retained.push(&mut frame(20, 3));
        retained.acknowledged(2);
        assert_eq!(rest(&retained, 0), frame(20, 3));
        retained.acknowledged(3);
        assert_eq!(retained.len(), 0);
    }

    #[test]
    fn small_frames_that_come_and_go_take_the_same_memory_again() {
        let mut retained = Retained::default();
        let (mut number, mut spare) = (0, Vec::with_capacity(64));
        let mut comes_and_goes = |retained: &mut Retained, unacknowledged: u64| {
            spare.extend_from_slice(&frame(20, 7));
            let before = spare.as_ptr();
            retained.push(&mut spare);
            assert_eq!((spare.as_ptr(), spare.len()), (before, 0), "its memory comes back");
            number += 1;
            retained.acknowledged(number - unacknowledged.min(number));
        };
        comes_and_goes(&mut retained, 0);
        let (chunk, taken) = (retained.last.bytes.as_ptr(), memory(&retained));
        for _ in 0..10_000 {
            comes_and_goes(&mut retained, 0);
            assert_eq!((retained.last.bytes.as_ptr(), memory(&retained)), (chunk, taken));
        }
        // With some always under way, two chunks take turns.
        for _ in 0..10_000 {
            comes_and_goes(&mut retained, 3);
        }
        let taken = memory(&retained);
        for _ in 0..100_000 {
            comes_and_goes(&mut retained, 3);
            assert!(memory(&retained) <= taken.max(2 * CHUNK_BYTES), "{}", memory(&retained));
        }
    }

    #[test]
    fn what_is_kept_takes_about_its_own_size() {
        let mut retained = Retained::default();
        for _ in 0..100_000 {
            retained.push(&mut frame(20, 1));
        }
        assert!(memory(&retained) < retained.len() + 2 * CHUNK_BYTES, "{}", memory(&retained));
        // A batch whose memory is mostly empty is copied out of it.
        let mut roomy = Vec::with_capacity(1 << 20);
        roomy.extend_from_slice(&frame(20_000, 2));
        let before = memory(&retained);
        retained.push(&mut roomy);
        assert!(roomy.is_empty() && roomy.capacity() >= 1 << 20);
        assert!(memory(&retained) < before + 2 * CHUNK_BYTES);
    }
}
