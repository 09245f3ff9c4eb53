//! Writing: by whoever has something to send, and by the driving task once a full socket has room.

use std::sync::Arc;
use std::task::{Context, Poll};

use super::drive::take;
use super::{Link, Loss, Phase, Sending, shut_down};
use crate::session::{Batch, Written};
use crate::sync::Ordering;
use crate::transport::Wire;

/// So many batches are written in a row by a caller that meant to send one frame. Then the
/// driving task goes on, so that other callers' frames cannot hold one up for ever.
const BATCHES_MAX: usize = 16;

/// What a writer does next.
enum Next {
    /// It goes on with the batch that it was given.
    Write,
    /// Nothing.
    Return,
    /// It leaves the driving task something to do.
    Leave,
    /// It was the last to write: this wire is shut down.
    End(Option<Arc<dyn Wire>>),
}

impl Link {
    /// Writes what has gathered, unless somebody is writing already, who then takes it along.
    /// Does nothing while there is no wire.
    ///
    /// Never waits: what a full socket does not take is left for the driving task. If writing
    /// fails, the wire is lost, and the driving task is told why.
    pub fn flush(&self) {
        let mut batch = Batch::default();
        let begun = {
            let mut sending = self.sending.lock();
            if sending.outbox.begin(&mut batch) { sending.wire.clone() } else { None }
        };
        if let Some(wire) = begun {
            self.write(&mut batch, wire);
        }
    }

    /// Goes on with what was left for the driving task, once the socket has room.
    pub(super) fn write_what_waits(&self, cx: &mut Context<'_>) {
        if !take(&self.left) {
            return;
        }
        let waiting = {
            let sending = self.sending.lock();
            sending.wire.as_ref().filter(|_| sending.outbox.is_waiting()).map(Arc::clone)
        };
        let Some(wire) = waiting else { return };
        match wire.poll_writable(cx) {
            Poll::Pending => self.left.store(true, Ordering::Release),
            Poll::Ready(Ok(())) => {
                let mut batch = Batch::default();
                let is_resumed = self.sending.lock().outbox.resume(&mut batch);
                if is_resumed {
                    // If something is left again, this task is woken to come back to it.
                    self.write(&mut batch, wire);
                }
            }
            Poll::Ready(Err(why)) => {
                let mut sending = self.sending.lock();
                if self.phase() == Phase::Attached {
                    self.lose(&mut sending, Loss { why, has_last_words: true });
                }
            }
        }
    }

    /// Writes `batch`, and what gathers meanwhile. Only one thread does at a time.
    fn write(&self, batch: &mut Batch, mut wire: Arc<dyn Wire>) {
        for round in 0.. {
            let written = if round < BATCHES_MAX {
                batch.write(|bytes| wire.try_write(bytes))
            } else {
                Written::Blocked
            };
            let epoch = batch.epoch();
            let mut sending = self.sending.lock();
            let next = self.after(&mut sending, batch, written);
            // The peer may have acknowledged it already.
            self.measure(&sending);
            match next {
                Next::Write if batch.epoch() == epoch => {}
                Next::Write => {
                    // A wire is not dropped under the lock.
                    let present = sending.wire.clone();
                    drop(sending);
                    wire = present.expect("a batch is given only while a wire is attached");
                }
                Next::Return => return,
                Next::Leave => {
                    drop(sending);
                    self.left.store(true, Ordering::Release);
                    return self.wake_driver();
                }
                Next::End(wire) => {
                    drop(sending);
                    return shut_down(wire);
                }
            }
        }
    }

    /// A writer has come back with `batch`.
    fn after(&self, sending: &mut Sending, batch: &mut Batch, written: Written) -> Next {
        if self.is_closed() {
            return match written {
                Written::All if sending.outbox.end(batch) => Next::Write,
                Written::All | Written::Blocked | Written::Failed(_) => Next::End(sending.retire()),
            };
        }
        let goes_on = match written {
            Written::All => sending.outbox.end(batch),
            Written::Blocked => sending.outbox.wait(batch),
            Written::Failed(why) => {
                let is_lost = sending.outbox.is_present(batch);
                if is_lost {
                    self.lose(sending, Loss { why, has_last_words: true });
                }
                let goes_on = sending.outbox.end(batch);
                if is_lost {
                    return Next::Leave;
                }
                goes_on
            }
        };
        if goes_on {
            Next::Write
        } else if sending.outbox.is_waiting() {
            Next::Leave
        } else {
            Next::Return
        }
    }
}
