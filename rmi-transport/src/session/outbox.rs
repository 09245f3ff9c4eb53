//! What a session has to send: who writes it, to which connection, and what is left. No I/O.

use std::io;

use super::retained::Retained;
use super::{Numbering, SessionError};
use crate::frame::{FrameBuffer, frames_in};

/// A buffer that has grown beyond this is given back after it was sent, so that one large message
/// does not occupy its size for as long as the session lasts.
const KEPT_BYTES_MAX: usize = 256 * 1024;

/// What is reached under a session's outgoing lock: the frames that wait, and their numbering.
#[derive(Debug, Default)]
pub struct Outgoing {
    /// Numbers the frames. Every number is that of a frame which is put into `frames` before the
    /// lock is free again, or else is rolled back. What the peer acknowledges is
    /// [the link](crate::link::Link::acknowledged)'s to note.
    pub numbering: Numbering,
    /// Takes the frames.
    pub frames: FrameBuffer,
    /// The last frame that was ever handed to a wire. Those behind it are in `frames`.
    handed_over: u64,
    /// What the peer had received when the session was last resumed.
    resumed_behind: u64,
}

impl Outgoing {
    /// The number of the last frame that was ever given to a wire: the peer cannot have received
    /// any beyond.
    pub fn last_handed_over(&self) -> u64 {
        self.handed_over
    }

    /// The number of the last frame that the peer is known to have received, acknowledged or not.
    pub fn last_known_received(&self) -> u64 {
        self.numbering.acked().max(self.resumed_behind)
    }
}

/// The outgoing side of a session.
///
/// Bytes gather in `outgoing` while others are being written, so that one write takes all that
/// has come meanwhile. What was written is retained until it is acknowledged; with another wire,
/// what the peer has not received goes first.
///
/// ```text
///          ┌────── begin, if attached ──────┐   ┌──────── resume ───────┐
///          │                                ▼   ▼                       │
///        Idle ◀── end: all written ──── Writing ── wait: socket full ▶ Waiting
///          ▲      end: its wire is gone                                 │
///          └─────────────────── detach ─────────────────────────────────┘
/// ```
///
/// `give_up` leads from everywhere to Ended. A writer does not notice that its wire was detached
/// before it comes back. Only then its batch is retained, and only then something is written to
/// the next wire: what has to be resent may be in that batch.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    pub(crate) outgoing: Outgoing,
    retained: Retained,
    stage: Stage,
    /// How many wires there were so far.
    epoch: u64,
    /// Whether the last of them can be written to.
    attached: bool,
    /// What has to be resent before anything new is sent: the lane from this byte on.
    resend_from: Option<u64>,
    /// The memory of the batch that was written last, to gather in next.
    spare: Vec<u8>,
}

#[derive(Debug, Default)]
enum Stage {
    /// Nobody writes: whoever has something to send does.
    #[default]
    Idle,
    /// Somebody writes so many bytes, and will go on with what gathers meanwhile.
    Writing { bytes: usize, resent: bool },
    /// This is left for the driving task, once the socket has room again.
    Waiting(Batch),
    /// Nothing is written any more.
    Ended,
}

/// Bytes on their way, out of the lock. The writer has the place for them, which is filled and
/// emptied where it is: it is on the way of every call.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    written: usize,
    /// To which wire they go.
    epoch: u64,
    /// They are a copy of what is retained.
    resent: bool,
}

/// How far the writing of a batch came.
#[derive(Debug)]
pub(crate) enum Written {
    /// To its end.
    All,
    /// The socket takes no more for now.
    Blocked,
    /// The socket takes no more ever.
    Failed(io::Error),
}

impl Batch {
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    pub(crate) fn rest(&self) -> &[u8] {
        self.bytes.get(self.written..).unwrap_or_default()
    }

    /// Writes until everything is written, or nothing more can be.
    pub(crate) fn write(&mut self, try_write: impl Fn(&[u8]) -> io::Result<usize>) -> Written {
        while !self.rest().is_empty() {
            match try_write(self.rest()) {
                Ok(0) => return Written::Failed(io::ErrorKind::WriteZero.into()),
                Ok(count) => self.written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Written::Blocked,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Written::Failed(error),
            }
        }
        Written::All
    }
}

impl Outbox {
    /// To write what has to be resent, or else what has gathered, unless somebody does already,
    /// or has to wait, or there is no wire: then it is `false`.
    pub(crate) fn begin(&mut self, batch: &mut Batch) -> bool {
        // Mostly the last writer comes back to nothing.
        let has_any = !self.outgoing.frames.is_empty() || self.resend_from.is_some();
        match self.stage {
            Stage::Idle if self.attached && has_any => self.fill(batch),
            Stage::Idle | Stage::Writing { .. } | Stage::Waiting(_) | Stage::Ended => false,
        }
    }

    /// To go on with what was left for the driving task, if anything was.
    pub(crate) fn resume(&mut self, batch: &mut Batch) -> bool {
        match &mut self.stage {
            Stage::Waiting(waiting) => {
                *batch = std::mem::take(waiting);
                self.stage = Stage::Writing { bytes: batch.bytes.len(), resent: batch.resent };
                true
            }
            Stage::Idle | Stage::Writing { .. } | Stage::Ended => false,
        }
    }

    /// The writer comes back with a batch that is written, or whose wire is gone. Gives the one
    /// to go on with, if there is any.
    pub(crate) fn end(&mut self, batch: &mut Batch) -> bool {
        match self.stage {
            Stage::Ended => false,
            Stage::Idle | Stage::Writing { .. } | Stage::Waiting(_) => {
                self.keep(batch);
                self.stage = Stage::Idle;
                self.begin(batch)
            }
        }
    }

    /// The rest of a batch is left for the driving task. If its wire is gone, there is nothing
    /// to wait for: gives the batch to go on with, at another wire, if there is any.
    pub(crate) fn wait(&mut self, batch: &mut Batch) -> bool {
        match self.stage {
            Stage::Writing { .. } if self.is_present(batch) => {
                self.stage = Stage::Waiting(std::mem::take(batch));
                false
            }
            Stage::Idle | Stage::Writing { .. } | Stage::Waiting(_) | Stage::Ended => {
                self.end(batch)
            }
        }
    }

    /// Whether the wire that `batch` goes to is still the one to write to.
    pub(crate) fn is_present(&self, batch: &Batch) -> bool {
        self.attached && batch.epoch == self.epoch
    }

    /// The session has settled something in `outgoing`: what the peer has acknowledged by now is
    /// not kept any longer.
    pub(crate) fn settle(&mut self) {
        self.retained.acknowledged(self.outgoing.last_known_received());
    }

    /// There is another wire, whose peer has received our frames up to `peer_received`. What it
    /// has not received is resent.
    ///
    /// # Errors
    ///
    /// [`SessionError::ResumedImpossibly`]: nothing has changed.
    pub(crate) fn attach(&mut self, peer_received: u64) -> Result<(), SessionError> {
        debug_assert!(!self.attached);
        let (least, most) = (self.outgoing.last_known_received(), self.outgoing.handed_over);
        if !(least..=most).contains(&peer_received) {
            let received = peer_received;
            return Err(SessionError::ResumedImpossibly { received, least, most });
        }
        self.outgoing.resumed_behind = peer_received;
        self.settle();
        self.epoch += 1;
        self.attached = true;
        // All that is left of the lane, and what a writer may still bring back.
        self.resend_from = Some(0);
        Ok(())
    }

    /// The wire is gone: nothing begins before there is another. What waits for it may have
    /// reached the peer, in part or as a whole.
    pub(crate) fn detach(&mut self) {
        self.attached = false;
        self.resend_from = None;
        match std::mem::take(&mut self.stage) {
            Stage::Waiting(mut batch) => self.keep(&mut batch),
            other @ (Stage::Idle | Stage::Writing { .. } | Stage::Ended) => self.stage = other,
        }
    }

    /// Nothing is written any more, and what waits is dropped. Whoever writes finds out when it
    /// comes back.
    pub(crate) fn give_up(&mut self) {
        self.stage = Stage::Ended;
        self.attached = false;
        self.resend_from = None;
        self.retained.clear();
        self.spare = Vec::new();
        self.outgoing.frames.swap(&mut Vec::new());
    }

    /// How many wires there were so far.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Whether something is left for the driving task.
    pub(crate) fn is_waiting(&self) -> bool {
        matches!(self.stage, Stage::Waiting(_))
    }

    /// Whether somebody is writing.
    pub(crate) fn is_writing(&self) -> bool {
        matches!(self.stage, Stage::Writing { .. })
    }

    /// What has gathered, is being written, or has to be resent.
    pub(crate) fn bytes_unsent(&self) -> usize {
        let on_their_way = match &self.stage {
            Stage::Idle | Stage::Ended => 0,
            Stage::Writing { bytes, .. } => *bytes,
            Stage::Waiting(batch) => batch.rest().len(),
        };
        let to_resend = self.resend_from.map_or(0, |from| self.retained.len_from(from));
        self.outgoing.frames.len() + on_their_way + to_resend
    }

    /// What was written and is not acknowledged.
    pub(crate) fn bytes_unacknowledged(&self) -> usize {
        self.retained.len()
    }

    /// What has gathered, is being written for the first time, or is not acknowledged. Writing
    /// does not change it.
    #[inline]
    pub(crate) fn bytes_buffered(&self) -> usize {
        let on_their_way = match &self.stage {
            Stage::Writing { bytes, resent: false } => *bytes,
            Stage::Waiting(batch) if !batch.resent => batch.bytes.len(),
            Stage::Idle | Stage::Writing { .. } | Stage::Waiting(_) | Stage::Ended => 0,
        };
        self.outgoing.frames.len() + on_their_way + self.retained.len()
    }

    fn fill(&mut self, batch: &mut Batch) -> bool {
        debug_assert!(batch.bytes.is_empty());
        std::mem::swap(&mut batch.bytes, &mut self.spare);
        batch.resent = self.fill_with_resent(&mut batch.bytes);
        if !batch.resent && !self.fill_with_new(&mut batch.bytes) {
            std::mem::swap(&mut batch.bytes, &mut self.spare);
            return false;
        }
        batch.written = 0;
        batch.epoch = self.epoch;
        self.stage = Stage::Writing { bytes: batch.bytes.len(), resent: batch.resent };
        true
    }

    fn fill_with_resent(&mut self, bytes: &mut Vec<u8>) -> bool {
        let Some(from) = self.resend_from else { return false };
        let next = self.retained.copy(from, bytes);
        self.resend_from = Some(next).filter(|_| !bytes.is_empty());
        !bytes.is_empty()
    }

    fn fill_with_new(&mut self, bytes: &mut Vec<u8>) -> bool {
        let Outgoing { numbering, frames, handed_over, .. } = &mut self.outgoing;
        if frames.is_empty() {
            return false;
        }
        frames.swap(bytes);
        let before = std::mem::replace(handed_over, numbering.sent());
        debug_assert_eq!(
            frames_in(bytes),
            *handed_over - before,
            "every frame has a number of its own"
        );
        true
    }

    /// Retains what a writer brings back, whether or not all of it was written. A copy of what
    /// is retained has served its purpose.
    fn keep(&mut self, batch: &mut Batch) {
        if batch.resent {
            batch.bytes.clear();
        } else {
            self.retained.push(&mut batch.bytes);
            // The peer may have been quicker than the writer.
            self.settle();
        }
        if batch.bytes.capacity() <= KEPT_BYTES_MAX {
            std::mem::swap(&mut batch.bytes, &mut self.spare);
        }
        batch.bytes = Vec::new();
    }
}
