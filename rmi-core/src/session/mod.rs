//! A session: the relation of two incarnations, as one node sees it.
//!
//! `rmi-transport` numbers and carries its frames, `rmi-gc` keeps its ledger of references; here
//! they meet. [`send`] writes frames, [`receive`] accounts for what arrives, [`driver`] is the
//! one task that a session has.

mod driver;
mod errands;
mod held;
mod receive;
mod recovery;
mod send;
mod sessions;

use std::fmt;
use std::sync::{Arc, OnceLock};

use rmi_gc::{ExportIndex, Ledger, NodeId};
use rmi_transport::link::{Link, NotAttached};
use rmi_transport::sync::{AtomicBool, AtomicU64, AtomicUsize, Mutex, Notify, Ordering, rank};
use rmi_transport::{Endpoint, Shaken, Thread};

pub(crate) use self::driver::drive;
use self::held::Holding;
pub(crate) use self::receive::Violation;
pub(crate) use self::send::Unsent;
pub(crate) use self::sessions::Sessions;
use crate::call::{Incoming, Pending};
use crate::error::{Error, ErrorKind, Executed};
use crate::reference::Identity;
use crate::relay::RelayedHolds;
use crate::stats::Counters;
use crate::thread::ThreadId;

/// How many indices may be owed releases before they are sent on a frame of their own at once.
const RELEASE_PENDING_MAX: usize = 4_096;

/// Answers do not wait for room. How many times `bytes_buffered_max` they may come to before
/// further calls of the peer are turned down, and before its session ends.
const UNREAD_UNTIL_TURNED_DOWN: usize = 4;
const UNREAD_UNTIL_THE_END: usize = 16;

/// One session. Shared by its driver, by callers, and by handlers that have not answered yet. It
/// outlives its connections: while it has none, what is sent waits.
pub(crate) struct Session {
    /// Distinguishes this session from a later one with the same peer.
    pub(crate) serial: u64,
    pub(crate) peer: NodeId,
    /// The number under which both ends know the session, by which it is resumed.
    pub(crate) key: u64,
    /// The peer's incarnation and address, as errors and logs name it.
    pub(crate) peer_name: String,
    /// Where the peer listens, for the references that it describes as its own.
    endpoints: Arc<[Endpoint]>,
    /// Where we reached it, if we dialled: it may be known there by another name.
    dialled: Option<Endpoint>,
    /// The origin of distributed threads that began in the peer's process.
    peer_origin: u64,
    pub(crate) link: Link,
    /// How many connections the peer had counted when the present one was made: its hello for the
    /// next one counts more.
    peer_connections: AtomicU64,
    ledger: Mutex<Ledger<Arc<Identity>>, rank::Ledger>,
    pub(crate) pending: Pending,
    pub(crate) incoming: Incoming,
    pub(crate) relayed_holds: RelayedHolds,
    holding: Holding,
    pub(crate) stats: Counters,
    /// Something waits for a frame to ride on, and the driver knows: it will send one by itself
    /// if none goes out in time.
    attention: AtomicBool,
    /// What waits is not to wait for a frame to ride on.
    urgent: AtomicBool,
    /// Notices may wait in the ledger. Set after they were put there; adoptions are put there under
    /// the outgoing lock, so that no reference that relies on one is written before it.
    has_notices: AtomicBool,
    /// The rendezvous and the monitors know that this session has ended.
    settled: AtomicBool,
    /// Why the session ended; set once.
    end: OnceLock<Error>,
    /// Told when buffered bytes were written, if somebody waits for that.
    room: Notify,
    waiting_for_room: AtomicUsize,
    /// Above this, callers wait.
    bytes_buffered_max: usize,
}

/// What a session begins with.
pub(crate) struct Beginning {
    pub(crate) shaken: Shaken,
    /// Where the peer was reached, if we dialled.
    pub(crate) dialled: Option<Endpoint>,
}

impl Session {
    /// A session whose first hand-shake is over.
    fn new(beginning: Beginning, bytes_buffered_max: usize) -> Result<Self, NotAttached> {
        static SERIAL: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
        let Beginning { shaken, dialled } = beginning;
        let Shaken { wire, hello, accepted, peer_received, received, .. } = shaken;
        let peer = NodeId(hello.incarnation);
        let name = if hello.name.is_empty() { "" } else { " " };
        let peer_name = format!("{peer}{name}{} ({})", hello.name, wire.peer());
        let link = Link::new();
        link.enqueue(|outgoing| outgoing.frames.set_bytes_max(hello.limits.frame_bytes_max));
        link.attach(wire, received, 0, peer_received)?;
        Ok(Self {
            serial: SERIAL.fetch_add(1, Ordering::Relaxed),
            peer,
            key: accepted.session,
            peer_name,
            endpoints: hello.endpoints.iter().filter_map(|text| text.parse().ok()).collect(),
            dialled,
            peer_origin: hello.thread_origin,
            link,
            peer_connections: AtomicU64::new(0),
            ledger: Mutex::new(Ledger::new()),
            pending: Pending::default(),
            incoming: Incoming::default(),
            relayed_holds: RelayedHolds::default(),
            holding: Holding::default(),
            stats: Counters::default(),
            attention: AtomicBool::new(false),
            urgent: AtomicBool::new(false),
            has_notices: AtomicBool::new(false),
            settled: AtomicBool::new(false),
            end: OnceLock::new(),
            room: Notify::new(),
            waiting_for_room: AtomicUsize::new(0),
            bytes_buffered_max,
        })
    }

    /// Whether a hello that counts so many connections was said after the present one was made.
    pub(crate) fn is_newer(&self, connections: u64) -> bool {
        connections > self.peer_connections.load(Ordering::Relaxed)
    }

    /// The present connection was made when the peer had counted so many.
    pub(crate) fn made_by(&self, connections: u64) {
        self.peer_connections.store(connections, Ordering::Relaxed);
    }

    /// Whether it has not ended. It may lack a connection.
    pub(crate) fn is_open(&self) -> bool {
        self.end.get().is_none()
    }

    /// Ends the session for `reason`: calls in progress fail with it, handlers are cancelled.
    /// What references it carried is settled by [`Sessions::give_up`].
    fn end(&self, reason: Error) {
        let first = self.end.set(reason.at_peer(&self.peer_name)).is_ok();
        // Also for one who comes second: when this returns, no frame counts references any more.
        self.link.close();
        if !first {
            return;
        }
        self.pending.fail_all(&self.ended());
        self.incoming.cancel_all();
        self.room.notify_waiters();
    }

    /// The error of a request that went as frame `number`, now that the session has ended: one that
    /// no connection ever took was certainly not delivered.
    pub(crate) fn sharpen(&self, error: Error, number: u64) -> Error {
        let undelivered = error.executed() == Executed::Maybe
            && !self.is_open()
            && number > self.link.last_handed_over();
        if undelivered { error.executed_as(Executed::No) } else { error }
    }

    /// The error of a call that cannot be made, or go on, because the session ended.
    pub(crate) fn ended(&self) -> Error {
        let error = self.end.get().cloned();
        error.unwrap_or_else(|| ErrorKind::Disconnected.into()).executed_as(Executed::Maybe)
    }

    /// Waits until the peer has read enough that another message may be buffered for it.
    pub(crate) async fn wait_for_room(&self) {
        if self.has_room() {
            return;
        }
        struct Waiting<'a>(&'a AtomicUsize);
        impl Drop for Waiting<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::AcqRel);
            }
        }
        self.waiting_for_room.fetch_add(1, Ordering::AcqRel);
        let _waiting = Waiting(&self.waiting_for_room);
        while self.is_open() {
            let told = self.room.notified();
            // Whoever wrote last may have looked before we were counted.
            if self.has_room() {
                return;
            }
            told.await;
        }
    }

    /// Is it early to ask the peer what it has received?
    fn has_ample_room(&self) -> bool {
        self.link.bytes_buffered() <= self.bytes_buffered_max / 2
    }

    fn has_room(&self) -> bool {
        self.buffers_at_most(1)
    }

    /// Does the peer read what it is answered, so that it may call?
    pub(crate) fn reads_its_answers(&self) -> bool {
        self.buffers_at_most(UNREAD_UNTIL_TURNED_DOWN)
    }

    fn buffers_at_most(&self, times: usize) -> bool {
        self.link.bytes_buffered() <= self.bytes_buffered_max.saturating_mul(times)
    }

    /// One who goes on calling without ever reading is sent away.
    fn check_reading(&self) -> Result<(), Violation> {
        if self.buffers_at_most(UNREAD_UNTIL_THE_END) {
            return Ok(());
        }
        let bytes_max = self.bytes_buffered_max.saturating_mul(UNREAD_UNTIL_THE_END);
        Err(Violation::ReadsNothing { bytes: self.link.bytes_buffered(), bytes_max })
    }

    /// Bytes may have been written: tells those who wait for that.
    fn tell_of_room(&self) {
        if self.waiting_for_room.load(Ordering::Acquire) > 0 && self.has_room() {
            self.room.notify_waiters();
        }
    }

    /// We owe the peer a release. Called under the lock of an entry: it only notes and wakes.
    pub(crate) fn owe(&self, index: ExportIndex, count: u32) {
        let owed = {
            let mut ledger = self.ledger.lock();
            ledger.owe(index, count);
            ledger.owed_indices()
        };
        self.ask_for_attention();
        if owed >= RELEASE_PENDING_MAX {
            self.link.wake();
        }
    }

    /// Changes the ledger, and has what waits in it sent at once.
    fn note_urgently(&self, note: impl FnOnce(&mut Ledger<Arc<Identity>>)) {
        note(&mut self.ledger.lock());
        self.has_notices.store(true, Ordering::Release);
        self.urgent.store(true, Ordering::Release);
        self.link.wake();
    }

    /// What waits in the ledger does not wait for a frame to ride on.
    pub(crate) fn send_notices_now(&self) {
        if self.has_notices.load(Ordering::Acquire) {
            self.urgent.store(true, Ordering::Release);
            self.link.wake();
        }
    }

    /// Changes the ledger; what waits in it rides on the next frame, or goes alone after a while.
    fn note(&self, note: impl FnOnce(&mut Ledger<Arc<Identity>>)) {
        note(&mut self.ledger.lock());
        self.has_notices.store(true, Ordering::Release);
        self.ask_for_attention();
    }

    /// Has the driver look, in a while, whether what is owed has found a frame to ride on.
    fn ask_for_attention(&self) {
        if !self.attention.swap(true, Ordering::AcqRel) && !driver::is_driving(self) {
            self.link.wake();
        }
    }

    /// Writes what was enqueued, unless this thread is answering what it has just read: then all
    /// of it goes out in one write.
    pub(crate) fn flush(&self) {
        if !driver::is_driving(self) {
            self.flush_now();
        }
    }

    /// Has the driver write what was enqueued, unless a frame that is flushed before takes it
    /// along: for frames that nobody waits for here.
    pub(crate) fn flush_soon(&self) {
        if !driver::is_driving(self) {
            self.link.wake();
        }
    }

    fn flush_now(&self) {
        self.link.flush();
        self.tell_of_room();
    }

    /// How `thread` is named towards the peer.
    pub(crate) fn thread_to_wire(&self, thread: ThreadId) -> Thread {
        use rmi_transport::Origin;
        let origin = match thread.origin() {
            origin if origin == crate::thread::process_origin() => Origin::Sender,
            origin if origin == self.peer_origin => Origin::Receiver,
            origin => Origin::Other(origin),
        };
        Thread { origin, number: thread.number() }
    }

    /// The thread that the peer names.
    pub(crate) fn thread_from_wire(&self, thread: Thread) -> ThreadId {
        use rmi_transport::Origin;
        let origin = match thread.origin {
            Origin::Sender => self.peer_origin,
            Origin::Receiver => crate::thread::process_origin(),
            Origin::Other(origin) => origin,
        };
        ThreadId::from_parts(origin, thread.number)
    }

    /// Do bytes wait for the peer to read them?
    pub(crate) fn has_bytes_to_send(&self) -> bool {
        self.link.is_attached() && self.link.bytes_unsent() > 0
    }

    /// What waits in the ledger: (releases and notices owed, meanings and questions remembered).
    pub(crate) fn waiting(&self) -> (usize, usize) {
        let ledger = self.ledger.lock();
        let owed = ledger.owed_indices() + usize::from(ledger.has_notices());
        (owed, ledger.remembered() + ledger.unanswered())
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("serial", &self.serial)
            .field("peer", &self.peer_name)
            .finish()
    }
}
