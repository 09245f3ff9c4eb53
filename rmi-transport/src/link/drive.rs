//! Driving: what the one task of a session does with its link.

use std::io;
use std::task::{Context, Poll, Waker, ready};

use bytes::BytesMut;

use super::{Link, Loss, Parked, Phase, Reading};
use crate::sync::{AtomicBool, Ordering};

/// What the driving task is told.
#[derive(Debug)]
pub enum Event {
    /// So many bytes have come.
    Read(usize),
    /// Somebody has called [`Link::wake`] since.
    Woken,
    /// The wire is lost, or was taken off. The driving task drops what has not become a whole
    /// frame, and [parks](Link::park).
    Lost(io::Error),
    /// The link was closed for ever.
    Closed,
}

/// What ends the waiting of a driving task that has parked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Awaited {
    /// There is another wire.
    Attached,
    /// Somebody has called [`Link::wake`] since.
    Woken,
    /// The link was closed for ever.
    Closed,
}

impl Link {
    /// For the driving task, after [`Event::Lost`], or of its own accord: it takes no further
    /// frame of the present wire, which is closed. From now on what was received stands still,
    /// until there is another wire.
    pub fn park(&self) -> Parked {
        let mut sending = self.sending.lock();
        // Before the phase changes: whoever attaches the next wire puts it there.
        let last = std::mem::take(&mut *self.reading.lock());
        let wire = sending.wire.take_if(|_| !self.is_closed());
        if !self.is_closed() {
            sending.outbox.detach();
            sending.loss = None;
            self.set_phase(Phase::Parked);
        }
        self.measure(&sending);
        let parked = sending.parked();
        drop(sending);
        // Wires are not dropped under the lock.
        drop((wire, last));
        self.parked.notify_waiters();
        parked
    }

    /// For the driving task that has parked: waits for another wire.
    ///
    /// Registers the task for that, for [`wake`](Self::wake) and for [`close`](Self::close).
    pub fn poll_attached(&self, cx: &mut Context<'_>) -> Poll<Awaited> {
        self.register(cx.waker());
        match self.phase() {
            Phase::Closed => Poll::Ready(Awaited::Closed),
            Phase::Attached | Phase::Lost => Poll::Ready(Awaited::Attached),
            Phase::Parked if take(&self.woken) => Poll::Ready(Awaited::Woken),
            Phase::Parked => Poll::Pending,
        }
    }

    /// For the driving task: appends what has come to `into`, and writes what a full socket has
    /// left over.
    ///
    /// Registers the task for reading, for [`wake`](Self::wake), [`detach`](Self::detach) and
    /// [`close`](Self::close), and for writing if bytes wait for it. Pending while the link is
    /// parked.
    ///
    /// What the peer had sent before writing to it failed is read before the loss is told.
    pub fn poll(&self, cx: &mut Context<'_>, into: &mut BytesMut) -> Poll<Event> {
        let phase = self.phase();
        let event = self.poll_once(cx, into);
        if event.is_ready() {
            return event;
        }
        self.register(cx.waker());
        // Whoever was quicker than that has woken nobody.
        let is_news = self.phase() != phase
            || self.woken.load(Ordering::Acquire)
            || self.left.load(Ordering::Acquire);
        if is_news { self.poll_once(cx, into) } else { Poll::Pending }
    }

    fn poll_once(&self, cx: &mut Context<'_>, into: &mut BytesMut) -> Poll<Event> {
        if self.is_closed() {
            let last = std::mem::take(&mut *self.reading.lock());
            drop(last);
            return Poll::Ready(Event::Closed);
        }
        if take(&self.woken) {
            return Poll::Ready(Event::Woken);
        }
        self.write_what_waits(cx);
        match self.phase() {
            Phase::Attached => self.poll_read(cx, into),
            Phase::Lost => Poll::Ready(self.last_event(cx, into)),
            // If it was closed only now, this task was woken again.
            Phase::Parked | Phase::Closed => Poll::Pending,
        }
    }

    fn poll_read(&self, cx: &mut Context<'_>, into: &mut BytesMut) -> Poll<Event> {
        let error = match ready!(self.reading.lock().poll(cx, into)) {
            Ok(0) => io::Error::new(io::ErrorKind::UnexpectedEof, "the peer ended the stream"),
            Ok(count) => return Poll::Ready(Event::Read(count)),
            Err(error) => error,
        };
        let mut sending = self.sending.lock();
        if self.phase() == Phase::Attached {
            self.lose(&mut sending, Loss { why: error, has_last_words: false });
        }
        drop(sending);
        Poll::Ready(self.last_event(cx, into))
    }

    /// The wire is lost.
    fn last_event(&self, cx: &mut Context<'_>, into: &mut BytesMut) -> Event {
        let loss = self.sending.lock().loss.take();
        let Some(loss) = loss else {
            // Closed meanwhile, or told before.
            let told = || Event::Lost(io::ErrorKind::NotConnected.into());
            return if self.is_closed() { Event::Closed } else { told() };
        };
        if loss.has_last_words {
            let read = self.reading.lock().poll(cx, into);
            match read {
                Poll::Ready(Ok(count)) if count > 0 => {
                    self.sending.lock().loss = Some(loss);
                    return Event::Read(count);
                }
                Poll::Ready(Ok(_) | Err(_)) | Poll::Pending => {}
            }
        }
        Event::Lost(loss.why)
    }

    /// From here on the task of `waker` is woken.
    fn register(&self, waker: &Waker) {
        let mut driver = self.driver.lock();
        match &mut *driver {
            Some(registered) => registered.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
    }
}

/// Clears what is set; mostly nothing is, which a load tells.
pub(super) fn take(flag: &AtomicBool) -> bool {
    flag.load(Ordering::Acquire) && flag.swap(false, Ordering::AcqRel)
}

impl Reading {
    fn poll(&mut self, cx: &mut Context<'_>, into: &mut BytesMut) -> Poll<io::Result<usize>> {
        if !self.received.is_empty() {
            let received = std::mem::take(&mut self.received);
            into.extend_from_slice(&received);
            return Poll::Ready(Ok(received.len()));
        }
        match &self.wire {
            Some(wire) => wire.poll_read(cx, into),
            None => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }
}
