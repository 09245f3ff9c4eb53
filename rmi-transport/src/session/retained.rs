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
    /// Whole frames each, the oldest first. Empty ones are removed, unless it is the last.
    chunks: VecDeque<Chunk>,
    /// The number of the first frame that is kept, or would be.
    first: u64,
    /// Bytes of the lane before that frame.
    start: u64,
    /// Bytes that are kept.
    len: usize,
    /// The memory of a chunk that was emptied, for the next one.
    spare: Vec<u8>,
}

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
}

impl Default for Retained {
    fn default() -> Self {
        Retained { chunks: VecDeque::new(), first: 1, start: 0, len: 0, spare: Vec::new() }
    }
}

impl Retained {
    /// Keeps a batch of whole frames, which follow those that were kept last. Returns memory to
    /// gather the next batch in.
    pub(super) fn push(&mut self, mut batch: Vec<u8>) -> Vec<u8> {
        self.len += batch.len();
        // Memory that is mostly empty is better used for the next batch.
        if batch.len() > COPIED_BYTES_MAX && batch.len() >= batch.capacity() / 2 {
            if self.len == batch.len() {
                // The chunk that is there is empty, and is not to be the first.
                self.spare = self.chunks.pop_back().map_or_else(Vec::new, |chunk| chunk.bytes);
            }
            self.chunks.push_back(Chunk { bytes: batch, acknowledged: 0 });
            return Vec::new();
        }
        match self.chunks.back_mut() {
            Some(last) if last.has_room_for(batch.len()) => last.bytes.extend_from_slice(&batch),
            Some(_) | None => {
                let mut bytes = std::mem::take(&mut self.spare);
                bytes.extend_from_slice(&batch);
                self.chunks.push_back(Chunk { bytes, acknowledged: 0 });
            }
        }
        batch.clear();
        batch
    }

    /// The peer has all frames up to this one: they are not kept any longer. Those of them that
    /// are not here yet are dropped when this is called again after they have come.
    pub(super) fn acknowledged(&mut self, up_to: u64) {
        while self.first <= up_to {
            let Some(chunk) = self.chunks.front_mut() else { return };
            let Some(frame) = frame_bytes(chunk.rest()) else {
                debug_assert!(chunk.rest().is_empty(), "a frame that breaks off");
                return;
            };
            chunk.acknowledged += frame;
            self.first += 1;
            self.start += frame as u64;
            self.len -= frame;
            if chunk.rest().is_empty() {
                self.recycle_first();
            }
        }
    }

    /// The first chunk has been emptied. If it is the last one, too, it is filled again.
    fn recycle_first(&mut self) {
        let Some(mut chunk) = self.chunks.pop_front() else { return };
        if chunk.bytes.capacity() > CHUNK_BYTES {
            return;
        }
        chunk.bytes.clear();
        if self.chunks.is_empty() {
            self.chunks.push_back(Chunk { bytes: chunk.bytes, acknowledged: 0 });
        } else if self.spare.capacity() < chunk.bytes.capacity() {
            self.spare = chunk.bytes;
        }
    }

    /// Appends what the lane has from byte `from` on, as far as one copy goes, to `into`, and
    /// returns where to go on. What is acknowledged is passed over.
    pub(super) fn copy(&self, from: u64, into: &mut Vec<u8>) -> u64 {
        let from = from.max(self.start);
        let mut skip = usize::try_from(from - self.start).unwrap_or(usize::MAX);
        for chunk in &self.chunks {
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
