//! The shell around the wires of one session: any thread sends, one task drives, and what is to
//! be sent outlives every single wire.
//!
//! Whoever sends a frame also writes it, unless somebody is writing already, who then takes it
//! along. No queue and no task stands between a caller and the socket; the driving task writes
//! only what a full socket has left over.

mod drive;
mod write;

use std::fmt;
use std::io;
use std::sync::Arc;
use std::task::Waker;

use bytes::BytesMut;

pub use self::drive::{Awaited, Event};
use crate::session::{Numbering, Outbox, Outgoing, SessionError};
use crate::sync::{AtomicBool, AtomicU8, AtomicUsize, Mutex, Notify, Ordering, rank};
use crate::transport::Wire;

/// What a session sends and receives over, one wire after the other.
///
/// ```text
///           attach                 the wire fails, detach
///  Parked ──────────▶ Attached ───────────────────────────▶ Lost
///    ▲                                                       │
///    └──────────── park: the driving task was told ──────────┘
/// ```
///
/// `close` leads from everywhere to Closed, for ever.
///
/// For all who send over it, and for the one task that drives it: that task calls
/// [`poll`](Self::poll) while a wire is attached; when it is told [`Event::Lost`], it calls
/// [`park`](Self::park), and then [`poll_attached`](Self::poll_attached).
pub struct Link {
    /// Held for as long as a frame takes to write into memory; never during a system call, never
    /// while user code runs.
    sending: Mutex<Sending, rank::Outgoing>,
    /// A [`Phase`], changed under the lock of `sending`.
    phase: AtomicU8,
    /// See [`Link::bytes_buffered`]; stored under the lock of `sending`.
    buffered: AtomicUsize,
    /// A writer has left something for the driving task. Set by the writer before it wakes the
    /// task, cleared by the task before it looks.
    left: AtomicBool,
    /// Set by [`Link::wake`], cleared when the driving task is told.
    woken: AtomicBool,
    driver: Mutex<Option<Waker>>,
    /// Held by the driving task while it reads, and otherwise only filled or emptied while that
    /// task does not: so nobody ever waits for it. May be locked under `sending`.
    reading: Mutex<Reading, rank::Incoming>,
    /// Tells those who wait for the driving task to park.
    parked: Notify,
}

#[derive(Default)]
struct Sending {
    outbox: Outbox,
    /// The present wire, or one that was lost, until the driving task parks.
    wire: Option<Arc<dyn Wire>>,
    /// Why the wire is lost, until the driving task is told.
    loss: Option<Loss>,
    /// Who was at the other end of the last wire.
    peer: String,
}

struct Loss {
    why: io::Error,
    /// What the peer had said before is still read: it may say why.
    has_last_words: bool,
}

#[derive(Default)]
struct Reading {
    wire: Option<Arc<dyn Wire>>,
    /// What came behind the hand-shake, until the driving task takes it.
    received: BytesMut,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Phase {
    Parked,
    Attached,
    Lost,
    Closed,
}

impl Phase {
    const ALL: [Phase; 4] = [Phase::Parked, Phase::Attached, Phase::Lost, Phase::Closed];
}

/// A link that lacks a wire, and whose driving task takes no frame before there is another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Parked {
    /// How many wires there were so far.
    pub epoch: u64,
    /// How many frames were received over them.
    pub received: u64,
}

/// Why a wire was not attached; it is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum NotAttached {
    /// The link was closed.
    #[error("the session has ended")]
    Closed,
    /// The link is not parked, or was parked anew: another wire was first.
    #[error("the session has another connection")]
    AnotherWasFirst,
    /// What the peer says that it has received cannot be.
    #[error(transparent)]
    Impossible(#[from] SessionError),
}

impl Link {
    /// Without a wire: parked, at epoch 0.
    pub fn new() -> Self {
        Link {
            sending: Mutex::default(),
            phase: AtomicU8::new(Phase::Parked as u8),
            buffered: AtomicUsize::new(0),
            left: AtomicBool::new(false),
            woken: AtomicBool::new(false),
            driver: Mutex::default(),
            reading: Mutex::default(),
            parked: Notify::new(),
        }
    }

    /// Runs `write` under the outgoing lock. What it appends is sent by the next
    /// [`flush`](Self::flush), or once there is a wire. `None` if the link is closed.
    ///
    /// `write` must neither block nor run user code.
    pub fn enqueue<R>(&self, write: impl FnOnce(&mut Outgoing) -> R) -> Option<R> {
        let mut sending = self.sending.lock();
        if self.is_closed() {
            return None;
        }
        let written = write(&mut sending.outbox.outgoing);
        self.measure(&sending);
        Some(written)
    }

    /// A frame has come that acknowledges `ack` more of ours: they are kept no longer. Returns the
    /// last that is acknowledged, if that is news; `None` also if the link is closed.
    ///
    /// # Errors
    ///
    /// [`SessionError`] is the peer's fault, and final.
    pub fn acknowledged(&self, ack: u64) -> Result<Option<u64>, SessionError> {
        let mut sending = self.sending.lock();
        if self.is_closed() {
            return Ok(None);
        }
        let news = sending.outbox.outgoing.numbering.acknowledged(ack)?;
        if news.is_some() {
            sending.outbox.settle();
            self.measure(&sending);
        }
        Ok(news)
    }

    /// Looks at the numbering, or moves it where that neither sends nor acknowledges anything.
    /// `None` if the link is closed.
    pub fn number<R>(&self, look: impl FnOnce(&mut Numbering) -> R) -> Option<R> {
        let mut sending = self.sending.lock();
        (!self.is_closed()).then(|| look(&mut sending.outbox.outgoing.numbering))
    }

    /// What the peer has not taken off our hands: bytes that are not yet written, and those that
    /// were and are not acknowledged. Costs one load.
    pub fn bytes_buffered(&self) -> usize {
        self.buffered.load(Ordering::Relaxed)
    }

    /// The bytes that are enqueued and not yet written, those that have to be resent included.
    pub fn bytes_unsent(&self) -> usize {
        self.sending.lock().outbox.bytes_unsent()
    }

    /// The bytes that were written and are kept until the peer has acknowledged them.
    pub fn bytes_unacknowledged(&self) -> usize {
        self.sending.lock().outbox.bytes_unacknowledged()
    }

    /// The number of the last frame that was ever given to a wire: those beyond it were certainly
    /// not delivered. Once the link is closed, they never will be.
    pub fn last_handed_over(&self) -> u64 {
        let sending = self.sending.lock();
        let outbox = &sending.outbox;
        // Somebody may still write what was flushed before the end.
        if self.is_closed() && outbox.is_writing() {
            outbox.outgoing.numbering.sent()
        } else {
            outbox.outgoing.last_handed_over()
        }
    }

    /// The number of the last frame that the peer is known to have received.
    pub fn last_known_received(&self) -> u64 {
        self.sending.lock().outbox.outgoing.last_known_received()
    }

    /// Wakes the driving task, which is told [`Event::Woken`]. From anywhere, also outside a
    /// runtime; several calls may be told as one.
    pub fn wake(&self) {
        self.woken.store(true, Ordering::Release);
        self.wake_driver();
    }

    /// Closes the link for ever: nothing more is enqueued, the driving task is told
    /// [`Event::Closed`], and the peer reads the end of the stream.
    ///
    /// What was flushed before is still sent, as far as the socket has room.
    pub fn close(&self) {
        let mut sending = self.sending.lock();
        let phase = self.phase();
        if phase == Phase::Closed {
            return;
        }
        self.set_phase(Phase::Closed);
        let is_writing = phase == Phase::Attached && sending.outbox.is_writing();
        let wire = if is_writing { None } else { sending.retire() };
        drop(sending);
        shut_down(wire);
        self.wake_driver();
        self.parked.notify_waiters();
    }

    /// Whether the link was closed.
    pub fn is_closed(&self) -> bool {
        self.phase() == Phase::Closed
    }

    /// Whether there is a wire, and it is not known to be lost.
    pub fn is_attached(&self) -> bool {
        self.phase() == Phase::Attached
    }

    /// Who is at the other end of the present wire, or was at that of the last one; for logs and
    /// errors.
    pub fn peer(&self) -> String {
        self.sending.lock().peer.clone()
    }

    /// Gives the link a wire whose hand-shake is done. `received` is what came behind it,
    /// `epoch` is that at which the link [was parked](Parked::epoch) for the hand-shake, and
    /// `peer_received` is how many of our frames the peer has. Those that it has not are resent
    /// before anything new.
    ///
    /// # Errors
    ///
    /// - [`NotAttached::Closed`]
    /// - [`NotAttached::AnotherWasFirst`]: the link is not parked, or at another epoch.
    /// - [`NotAttached::Impossible`]: the peer's fault; the session is of no use any more.
    pub fn attach(
        &self,
        wire: Box<dyn Wire>,
        received: BytesMut,
        epoch: u64,
        peer_received: u64,
    ) -> Result<(), NotAttached> {
        let wire: Arc<dyn Wire> = Arc::from(wire);
        let peer = wire.peer();
        {
            let mut sending = self.sending.lock();
            match self.phase() {
                Phase::Closed => return Err(NotAttached::Closed),
                Phase::Parked if sending.outbox.epoch() == epoch => {}
                Phase::Parked | Phase::Attached | Phase::Lost => {
                    return Err(NotAttached::AnotherWasFirst);
                }
            }
            sending.outbox.attach(peer_received)?;
            self.measure(&sending);
            sending.wire = Some(Arc::clone(&wire));
            sending.peer = peer;
            // The driving task is parked, and took the last wire off.
            *self.reading.lock() = Reading { wire: Some(wire), received };
            self.set_phase(Phase::Attached);
        }
        self.wake_driver();
        self.flush();
        Ok(())
    }

    /// Gives the present wire up, if there is one: the driving task is told
    /// [`Event::Lost`] with this error. From anywhere.
    pub fn detach(&self, why: io::Error) {
        let wire = {
            let mut sending = self.sending.lock();
            if self.phase() != Phase::Attached {
                return;
            }
            self.lose(&mut sending, Loss { why, has_last_words: false });
            sending.wire.clone()
        };
        shut_down(wire);
        self.wake_driver();
    }

    /// Waits until the driving task has parked; `None` if the link is closed.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub async fn parked(&self) -> Option<Parked> {
        loop {
            // Before looking: whoever parks after that is not missed.
            let parked = self.parked.notified();
            {
                let sending = self.sending.lock();
                match self.phase() {
                    Phase::Parked => return Some(sending.parked()),
                    Phase::Closed => return None,
                    Phase::Attached | Phase::Lost => {}
                }
            }
            parked.await;
        }
    }

    fn phase(&self) -> Phase {
        let code = usize::from(self.phase.load(Ordering::Acquire));
        Phase::ALL.get(code).copied().unwrap_or(Phase::Closed)
    }

    /// Only under the lock of `sending`.
    fn set_phase(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Release);
    }

    /// Under the lock, whenever something was enqueued, or acknowledged, or given up.
    #[inline]
    fn measure(&self, sending: &Sending) {
        self.buffered.store(sending.outbox.bytes_buffered(), Ordering::Relaxed);
    }

    /// Only in the phase Attached.
    fn lose(&self, sending: &mut Sending, loss: Loss) {
        sending.outbox.detach();
        sending.loss = Some(loss);
        self.set_phase(Phase::Lost);
    }

    fn wake_driver(&self) {
        // A waker is foreign code: it runs once the lock is free again.
        let waker = self.driver.lock().clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Sending {
    /// Nothing is sent any more. The wire is to be shut down once the lock is free again.
    fn retire(&mut self) -> Option<Arc<dyn Wire>> {
        self.outbox.give_up();
        self.loss = None;
        self.wire.take()
    }

    fn parked(&self) -> Parked {
        Parked { epoch: self.outbox.epoch(), received: self.outbox.outgoing.numbering.received() }
    }
}

fn shut_down(wire: Option<Arc<dyn Wire>>) {
    if let Some(wire) = wire {
        wire.shut_down();
    }
}

impl Default for Link {
    fn default() -> Self {
        Link::new()
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Link");
        shown.field("phase", &self.phase()).finish_non_exhaustive()
    }
}
