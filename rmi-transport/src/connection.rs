//! The shell around one connected wire: any thread sends, one task drives.
//!
//! Whoever sends a frame also writes it, unless somebody is writing already, who then takes it
//! along. No queue and no task stands between a caller and the socket; the driving task writes
//! only what a full socket has left over.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker, ready};

use bytes::BytesMut;
use parking_lot::Mutex;

pub use crate::outbox::Outgoing;
use crate::outbox::{Batch, Outbox, Written};
use crate::transport::Wire;

/// So many batches are written in a row by a caller that meant to send one frame. Then the
/// driving task goes on, so that other callers' frames cannot hold one up for ever.
const BATCHES_MAX: usize = 16;

/// One connected wire, for all who send over it and for the one task that reads from it.
pub struct Connection {
    wire: Box<dyn Wire>,
    peer: String,
    /// Held for as long as a frame takes to write into memory; never during a system call, never
    /// while user code runs.
    sending: Mutex<Sending>,
    /// Set once, under the lock of `sending`.
    closed: AtomicBool,
    /// Set by [`Connection::wake`], cleared when the driving task is told.
    woken: AtomicBool,
    driver: Mutex<Driver>,
}

#[derive(Debug, Default)]
struct Sending {
    outbox: Outbox,
    /// Why writing failed, until the driving task is told.
    failure: Option<io::Error>,
}

#[derive(Debug, Default)]
struct Driver {
    waker: Option<Waker>,
    /// What came behind the hand-shake, until the driving task takes it.
    received: BytesMut,
}

/// What the driving task is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// So many bytes have come.
    Read(usize),
    /// Somebody has called [`Connection::wake`] since.
    Woken,
    /// The peer has ended the stream, or we have closed the connection.
    End,
}

impl Connection {
    /// Over `wire`, whose hand-shake is done; `received` is what came behind it.
    pub fn new(wire: Box<dyn Wire>, received: BytesMut) -> Self {
        Connection {
            peer: wire.peer(),
            wire,
            sending: Mutex::default(),
            closed: AtomicBool::new(false),
            woken: AtomicBool::new(false),
            driver: Mutex::new(Driver { waker: None, received }),
        }
    }

    /// Runs `write` under the outgoing lock. What it appends is sent by the next
    /// [`flush`](Self::flush). `None` if the connection is closed.
    ///
    /// `write` must neither block nor run user code.
    pub fn enqueue<R>(&self, write: impl FnOnce(&mut Outgoing) -> R) -> Option<R> {
        let mut sending = self.sending.lock();
        if self.is_closed() {
            return None;
        }
        Some(write(&mut sending.outbox.outgoing))
    }

    /// Writes what has gathered, unless somebody is writing already, who then takes it along.
    ///
    /// Never waits: what a full socket does not take is left for the driving task. If writing
    /// fails, the connection is closed, and the driving task is told why.
    pub fn flush(&self) {
        let begun = self.sending.lock().outbox.begin();
        if let Some(batch) = begun {
            self.write(batch);
        }
    }

    /// The bytes that are enqueued and not yet written.
    pub fn bytes_buffered(&self) -> usize {
        self.sending.lock().outbox.bytes_buffered()
    }

    /// Wakes the driving task, which is told [`Event::Woken`]. From anywhere, also outside a
    /// runtime; several calls may be told as one.
    pub fn wake(&self) {
        self.woken.store(true, Ordering::Release);
        self.wake_driver();
    }

    /// Closes the connection: nothing more is enqueued, the driving task is told
    /// [`Event::End`], and the peer reads the end of the stream.
    ///
    /// What was flushed before is still sent, as far as the socket has room.
    pub fn close(&self) {
        let mut sending = self.sending.lock();
        if self.closed.swap(true, Ordering::AcqRel) {
            return;
        }
        let is_writing = sending.outbox.is_writing();
        if !is_writing {
            sending.outbox.give_up();
        }
        drop(sending);
        if !is_writing {
            self.wire.shut_down();
        }
        self.wake_driver();
    }

    /// Whether the connection was closed, by us or by a failure to write.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Who is at the other end, for logs and errors.
    pub fn peer(&self) -> &str {
        &self.peer
    }

    /// For the driving task: appends what has come to `into`, and writes what a full socket has
    /// left over.
    ///
    /// Registers the task for reading, for [`wake`](Self::wake) and [`close`](Self::close), and
    /// for writing if bytes wait for it.
    ///
    /// # Errors
    ///
    /// The connection has failed, in reading or in writing. What had come before was read first.
    pub fn poll(&self, cx: &mut Context<'_>, into: &mut BytesMut) -> Poll<io::Result<Event>> {
        if let Some(count) = self.register(cx.waker(), into) {
            return Poll::Ready(Ok(Event::Read(count)));
        }
        if self.is_closed() {
            return Poll::Ready(self.last_event(cx, into));
        }
        if self.woken.swap(false, Ordering::AcqRel) {
            return Poll::Ready(Ok(Event::Woken));
        }
        self.write_what_waits(cx)?;
        Poll::Ready(match ready!(self.wire.poll_read(cx, into)) {
            Ok(0) => Ok(Event::End),
            Ok(count) => Ok(Event::Read(count)),
            Err(error) => Err(error),
        })
    }

    /// From here on the task of `waker` is woken. Before everything else it gets what came behind
    /// the hand-shake.
    fn register(&self, waker: &Waker, into: &mut BytesMut) -> Option<usize> {
        let mut driver = self.driver.lock();
        match &mut driver.waker {
            Some(registered) => registered.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
        if driver.received.is_empty() {
            return None;
        }
        let received = std::mem::take(&mut driver.received);
        into.extend_from_slice(&received);
        Some(received.len())
    }

    fn wake_driver(&self) {
        // A waker is foreign code: it runs once the lock is free again.
        let waker = self.driver.lock().waker.clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// After a failure to write, what the peer had said before is still read: it may say why.
    fn last_event(&self, cx: &mut Context<'_>, into: &mut BytesMut) -> io::Result<Event> {
        let Some(failure) = self.sending.lock().failure.take() else { return Ok(Event::End) };
        match self.wire.poll_read(cx, into) {
            Poll::Ready(Ok(count)) if count > 0 => {
                self.sending.lock().failure = Some(failure);
                Ok(Event::Read(count))
            }
            Poll::Ready(Ok(_) | Err(_)) | Poll::Pending => Err(failure),
        }
    }

    /// Goes on with what was left for the driving task, once the socket has room.
    fn write_what_waits(&self, cx: &mut Context<'_>) -> io::Result<()> {
        if !self.sending.lock().outbox.is_waiting() {
            return Ok(());
        }
        if let Poll::Ready(ready) = self.wire.poll_writable(cx) {
            ready?;
            let resumed = self.sending.lock().outbox.resume();
            if let Some(batch) = resumed {
                // If something is left again, this task is woken to come back to it.
                self.write(batch);
            }
        }
        Ok(())
    }

    /// Writes `batch`, and what gathers meanwhile. Only one thread does at a time.
    fn write(&self, mut batch: Batch) {
        for _ in 0..BATCHES_MAX {
            let written = batch.write(|bytes| self.wire.try_write(bytes));
            let mut sending = self.sending.lock();
            match written {
                Written::All => match sending.outbox.end(batch) {
                    Some(next) => batch = next,
                    None if self.is_closed() => {
                        sending.outbox.give_up();
                        drop(sending);
                        return self.wire.shut_down();
                    }
                    None => return,
                },
                Written::Blocked => {
                    drop(sending);
                    return self.leave(batch);
                }
                Written::Failed(error) => {
                    sending.outbox.give_up();
                    if !self.closed.swap(true, Ordering::AcqRel) {
                        sending.failure = Some(error);
                    }
                    drop(sending);
                    return self.wake_driver();
                }
            }
        }
        self.leave(batch);
    }

    /// Leaves `batch` for the driving task.
    fn leave(&self, batch: Batch) {
        let mut sending = self.sending.lock();
        if self.is_closed() {
            sending.outbox.give_up();
            drop(sending);
            return self.wire.shut_down();
        }
        sending.outbox.wait(batch);
        drop(sending);
        self.wake_driver();
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Connection");
        shown.field("peer", &self.peer).field("closed", &self.is_closed()).finish_non_exhaustive()
    }
}
