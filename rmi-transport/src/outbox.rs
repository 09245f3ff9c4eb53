//! What one connection has to send: who writes it, and what is left. No I/O.

use std::io;

use crate::frame::FrameBuffer;
use crate::session::Session;

/// A buffer that has grown beyond this is given back after it was sent, so that one large message
/// does not occupy its size for as long as the connection lasts.
const KEPT_BYTES_MAX: usize = 256 * 1024;

/// What is reached under a connection's outgoing lock: the frames that wait, and their numbering.
#[derive(Debug, Default)]
pub struct Outgoing {
    /// Numbers the frames.
    pub session: Session,
    /// Takes the frames.
    pub frames: FrameBuffer,
}

/// The outgoing side of a connection.
///
/// Bytes gather in `outgoing` while others are being written, so that one write takes all that
/// has come meanwhile.
///
/// ```text
///          ┌───────────── begin ────────────┐   ┌──────── resume ───────┐
///          │                                ▼   ▼                       │
///        Idle ◀── end: all written ──── Writing ── end: socket full ─▶ Waiting
///                                           │
///                                           └── end: failed ─▶ Ended
/// ```
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    pub(crate) outgoing: Outgoing,
    stage: Stage,
    /// The memory of the batch that was written last, to gather in next.
    spare: Vec<u8>,
}

#[derive(Debug, Default)]
enum Stage {
    /// Nobody writes: whoever has something to send does.
    #[default]
    Idle,
    /// Somebody writes so many bytes, and will go on with what gathers meanwhile.
    Writing { bytes: usize },
    /// This is left for the driving task, once the socket has room again.
    Waiting(Batch),
    /// Nothing is written any more.
    Ended,
}

/// Bytes on their way, out of the lock.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    written: usize,
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
    /// To write what has gathered, unless somebody does already, or has to wait.
    pub(crate) fn begin(&mut self) -> Option<Batch> {
        match self.stage {
            Stage::Idle if !self.outgoing.frames.is_empty() => Some(self.next_batch()),
            Stage::Idle | Stage::Writing { .. } | Stage::Waiting(_) | Stage::Ended => None,
        }
    }

    /// To go on with what was left for the driving task.
    pub(crate) fn resume(&mut self) -> Option<Batch> {
        match std::mem::take(&mut self.stage) {
            Stage::Waiting(batch) => {
                self.stage = Stage::Writing { bytes: batch.rest().len() };
                Some(batch)
            }
            other @ (Stage::Idle | Stage::Writing { .. } | Stage::Ended) => {
                self.stage = other;
                None
            }
        }
    }

    /// A batch is written: gives the one that has gathered meanwhile.
    pub(crate) fn end(&mut self, batch: Batch) -> Option<Batch> {
        let Batch { mut bytes, .. } = batch;
        bytes.clear();
        if bytes.capacity() <= KEPT_BYTES_MAX {
            self.spare = bytes;
        }
        match self.stage {
            Stage::Ended => None,
            Stage::Idle | Stage::Writing { .. } | Stage::Waiting(_) => {
                self.stage = Stage::Idle;
                self.begin()
            }
        }
    }

    /// The rest of a batch is left for the driving task.
    pub(crate) fn wait(&mut self, batch: Batch) {
        if !matches!(self.stage, Stage::Ended) {
            self.stage = Stage::Waiting(batch);
        }
    }

    /// Nothing is written any more, and what waits is dropped. Whoever writes finds out when it
    /// comes back.
    pub(crate) fn give_up(&mut self) {
        self.stage = Stage::Ended;
        drop(self.outgoing.frames.take(Vec::new()));
    }

    /// Whether something is left for the driving task.
    pub(crate) fn is_waiting(&self) -> bool {
        matches!(self.stage, Stage::Waiting(_))
    }

    /// Whether somebody is writing.
    pub(crate) fn is_writing(&self) -> bool {
        matches!(self.stage, Stage::Writing { .. })
    }

    /// What is not yet written.
    pub(crate) fn bytes_buffered(&self) -> usize {
        let on_their_way = match &self.stage {
            Stage::Idle | Stage::Ended => 0,
            Stage::Writing { bytes } => *bytes,
            Stage::Waiting(batch) => batch.rest().len(),
        };
        self.outgoing.frames.len() + on_their_way
    }

    fn next_batch(&mut self) -> Batch {
        let bytes = self.outgoing.frames.take(std::mem::take(&mut self.spare));
        self.stage = Stage::Writing { bytes: bytes.len() };
        Batch { bytes, written: 0 }
    }
}
