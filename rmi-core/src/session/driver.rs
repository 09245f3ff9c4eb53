//! The one task of a session: it reads, has frames served, sends what nobody else will, and sees
//! the session through the loss of its connections.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::BytesMut;
use rmi_transport::sync::{AtomicBool, Ordering, thread_local};
use rmi_transport::{Awaited, Body, Event, FrameLimits, Goodbye, Lifetime, Tick, decode};
use tokio::time::{Instant, Sleep, sleep_until};

use super::receive::Next;
use super::{RELEASE_PENDING_MAX, Session, Violation, recovery};
use crate::error::{Error, ErrorKind};
use crate::marshal::Message;
use crate::node::NodeInner;
use crate::pulse::Pulsed;

/// How long releases and acknowledgements wait for a frame to ride on.
const RELEASE_DELAY: Duration = Duration::from_millis(20);

thread_local! {
    /// The serial of the session whose received frames this thread is serving; 0 if none.
    static DRIVING: Cell<u64> = const { Cell::new(0) };
}

/// Is this thread serving what `session` has just read? Then the driver will look after anything
/// that is enqueued or owed now.
pub(super) fn is_driving(session: &Session) -> bool {
    DRIVING.with(Cell::get) == session.serial
}

/// How a session came to its end.
#[derive(Debug)]
pub(super) enum End {
    /// It had no connection for longer than the lease; the peer may still be there.
    Lost(io::Error),
    /// The peer has given the session up.
    GivenUpByPeer,
    /// Where the peer was, another incarnation is now.
    Replaced(u64),
    /// The peer said goodbye: it will not be back.
    Goodbye(Goodbye, String),
    /// The peer broke the protocol.
    Violation(Violation),
    /// This node has ended it.
    Closed,
}

/// What ends the serving of one connection.
enum Served {
    Lost(io::Error),
    End(End),
}

/// Drives `session` until it ends, then gives the peer up.
///
/// A runtime that has ended drops the future before its first poll: that ends the session too.
pub(crate) fn drive(
    node: Arc<NodeInner>,
    session: Arc<Session>,
) -> impl Future<Output = ()> + Send {
    let guard = EndGuard { node, session };
    async move { drive_guarded(guard).await }
}

async fn drive_guarded(guard: EndGuard) {
    let (node, session) = (Arc::clone(&guard.node), Arc::clone(&guard.session));
    let timings = node.timings.of_sessions();
    let lifetime = Lifetime::new(timings);
    let end =
        Driver { node: &node, session: &session, lifetime, received: BytesMut::new() }.run().await;
    let home_is_gone = match &end {
        End::Replaced(_) | End::Goodbye(Goodbye::ShuttingDown, _) => true,
        End::Lost(_) | End::GivenUpByPeer | End::Goodbye(..) | End::Violation(_) | End::Closed => {
            false
        }
    };
    node.sessions.give_up(&node, &session, explain(&node, &session, end));
    if home_is_gone {
        node.table.home_gone(session.peer, &node.sessions);
    }
}

/// Whatever ends the driver, its runtime's end included, ends the session.
struct EndGuard {
    node: Arc<NodeInner>,
    session: Arc<Session>,
}

impl Drop for EndGuard {
    fn drop(&mut self) {
        let error = Error::new(ErrorKind::ShutDown, "the runtime has ended");
        self.node.sessions.give_up(&self.node, &self.session, error);
    }
}

struct Driver<'a> {
    node: &'a Arc<NodeInner>,
    session: &'a Arc<Session>,
    lifetime: Lifetime,
    received: BytesMut,
}

impl Driver<'_> {
    async fn run(mut self) -> End {
        let Self { node, session, .. } = self;
        loop {
            let error = match self.serve().await {
                Served::Lost(error) => error,
                Served::End(end) => return end,
            };
            tracing::debug!(peer = %session.peer_name, %error, "connection lost");
            // What has come of a frame that will never be whole.
            self.received = BytesMut::new();
            node.sessions.connection_lost(session.peer);
            session.link.park();
            self.lifetime.lost();
            session.stats.connections_lost.add(1);
            node.table.connection_lost(session.peer, &node.sessions);
            if let Some(end) = self.recover(error).await {
                return end;
            }
            tracing::debug!(peer = %session.peer_name, "session resumed");
            self.lifetime.resumed();
            node.table.connection_back(session.peer, &node.sessions);
        }
    }

    /// Serves one connection.
    async fn serve(&mut self) -> Served {
        let Self { node, session, .. } = *self;
        let frame_bytes_max = node.limits.frame_bytes_max;
        let limits = FrameLimits { frame_bytes_max, ..Default::default() };
        let mut alarm = pin!(Alarm::default());
        let ticking = Arc::new(Ticking { due: AtomicBool::new(false), of: Arc::clone(session) });
        node.tell_every(self.lifetime.tick_every(), &ticking);
        loop {
            match session.serve_all(node, &mut self.received, &limits) {
                Ok(Next::GoOn) => {}
                Ok(Next::End(reason, text)) => return Served::End(End::Goodbye(reason, text)),
                Err(violation) => return Served::End(End::Violation(violation)),
            }
            session.flush_now();
            if let Err(violation) = session.check_reading() {
                return Served::End(End::Violation(violation));
            }
            session.look_after_the_owed(node, alarm.as_mut());
            if ticking.due.swap(false, Ordering::AcqRel) {
                if let Tick::Lost = self.tick() {
                    let silent = io::ErrorKind::TimedOut;
                    let text = format!("nothing was received for {:?}", node.timings.detection);
                    return Served::Lost(io::Error::new(silent, text));
                }
            }
            let event = poll_fn(|cx| {
                let polled = session.poll(&mut self.received, cx);
                if polled.is_ready() {
                    return polled;
                }
                alarm.as_mut().poll_due(cx).map(|()| Event::Woken)
            });
            match event.await {
                Event::Read(_) | Event::Woken => {}
                Event::Lost(error) => return Served::Lost(error),
                Event::Closed => return Served::End(End::Closed),
            }
        }
    }

    fn tick(&mut self) -> Tick {
        let Self { node, session, .. } = *self;
        let sent = session.stats.frames_sent.read();
        let tick = self.lifetime.ticked(sent, session.stats.bytes_read.read());
        if let Tick::Heartbeat = tick {
            session.stats.heartbeats_sent.add(1);
            session.send_control(node);
        }
        tick
    }

    /// Waits for another connection; if there will be none, says how the session ends.
    async fn recover(&mut self, error: io::Error) -> Option<End> {
        let Self { node, session, .. } = *self;
        let mut redial = pin!(recovery::redial(node, session));
        let mut tick = pin!(sleep_until(Instant::now() + self.lifetime.tick_every()));
        loop {
            tokio::select! {
                biased;
                awaited = poll_fn(|cx| session.link.poll_attached(cx)) => match awaited {
                    Awaited::Attached => return None,
                    Awaited::Woken => {}
                    Awaited::Closed => return Some(End::Closed),
                },
                end = &mut redial => return Some(end),
                () = &mut tick => {
                    match self.lifetime.ticked(0, 0) {
                        Tick::GiveUp => return Some(End::Lost(error)),
                        Tick::Nothing | Tick::Heartbeat | Tick::Lost => {}
                    }
                    tick.as_mut().reset(Instant::now() + self.lifetime.tick_every());
                }
            }
        }
    }
}

impl Session {
    /// Serves every whole frame that has been read.
    fn serve_all(
        self: &Arc<Self>,
        node: &Arc<NodeInner>,
        received: &mut BytesMut,
        limits: &FrameLimits,
    ) -> Result<Next, Violation> {
        let _driving = Driving::begin(self);
        // Also what came over a connection that is lost: this task has not parked yet, and a
        // goodbye may be among it.
        while !self.link.is_closed() {
            let before = received.len();
            let Some(frame) = decode(received, limits)? else { return Ok(Next::GoOn) };
            let bytes = before - received.len();
            self.stats.frames_received.add(1);
            self.stats.bytes_received.add(bytes as u64);
            match self.receive(node, frame, bytes)? {
                Next::GoOn => {}
                end @ Next::End(..) => return Ok(end),
            }
        }
        Ok(Next::GoOn)
    }

    /// Waits for bytes, or for something that wants attention.
    fn poll(&self, received: &mut BytesMut, cx: &mut Context<'_>) -> Poll<Event> {
        let polled = self.link.poll(cx, received);
        if let Poll::Ready(Event::Read(bytes)) = &polled {
            self.stats.bytes_read.add(*bytes as u64);
        }
        self.tell_of_room();
        polled
    }

    /// Sees to it that what is owed does not wait for ever: if no frame goes out within
    /// `RELEASE_DELAY`, one of its own does; at once if very much is owed, or if it is urgent.
    fn look_after_the_owed(&self, node: &NodeInner, mut alarm: Pin<&mut Alarm>) {
        while self.link.is_attached() && self.ledger.lock().owed_indices() >= RELEASE_PENDING_MAX {
            self.send_control(node);
        }
        if self.urgent.load(Ordering::Acquire) {
            self.urgent.store(false, Ordering::Release);
            self.send_control(node);
        }
        let frames = self.stats.frames_sent.read();
        if alarm.is_due() {
            let quiet_since = alarm.as_mut().take_off();
            self.attention.store(false, Ordering::Release);
            if self.owes_a_frame() {
                if quiet_since == frames {
                    self.send_control(node);
                } else {
                    self.attention.store(true, Ordering::Release);
                }
            }
        }
        if self.attention.load(Ordering::Acquire) && !alarm.is_set() {
            alarm.set_off(RELEASE_DELAY, frames);
        }
    }
}

/// Rings some time after it was set, and remembers how many frames had been sent by then.
#[derive(Default)]
struct Alarm {
    sleep: Option<Pin<Box<Sleep>>>,
    set: bool,
    due: bool,
    /// The task is known to `sleep`: until its time has come there is no need to ask again.
    registered: bool,
    frames: u64,
}

impl Alarm {
    fn is_set(&self) -> bool {
        self.set
    }

    fn is_due(&self) -> bool {
        self.due
    }

    fn set_off(mut self: Pin<&mut Self>, after: Duration, frames: u64) {
        let at = Instant::now() + after;
        match &mut self.sleep {
            Some(sleep) => sleep.as_mut().reset(at),
            None => self.sleep = Some(Box::pin(sleep_until(at))),
        }
        self.frames = frames;
        self.set = true;
        self.due = false;
        self.registered = false;
    }

    fn take_off(mut self: Pin<&mut Self>) -> u64 {
        self.set = false;
        self.due = false;
        self.frames
    }

    fn poll_due(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let Some(sleep) = this.sleep.as_mut().filter(|_| this.set) else { return Poll::Pending };
        if this.registered && !sleep.is_elapsed() {
            return Poll::Pending;
        }
        this.registered = true;
        std::task::ready!(sleep.as_mut().poll(cx));
        this.due = true;
        Poll::Ready(())
    }
}

/// While one connection is served, it is time for a tick every so often.
struct Ticking {
    due: AtomicBool,
    of: Arc<Session>,
}

impl Pulsed for Ticking {
    fn pulse(&self) -> bool {
        self.due.store(true, Ordering::Release);
        self.of.link.wake();
        !self.of.link.is_closed()
    }
}

/// While it lives, this thread serves what the session has read.
struct Driving(u64);

impl Driving {
    fn begin(session: &Session) -> Self {
        Self(DRIVING.with(|driving| driving.replace(session.serial)))
    }
}

impl Drop for Driving {
    fn drop(&mut self) {
        DRIVING.with(|driving| driving.set(self.0));
    }
}

/// The end as the error of calls in progress; the peer is told of its own fault.
fn explain(node: &NodeInner, session: &Session, end: End) -> Error {
    let peer = &session.peer_name;
    let disconnected = |text: String| Error::new(ErrorKind::Disconnected, text);
    match end {
        End::Lost(error) => {
            let text = recovery::in_words(&error);
            tracing::info!(%peer, %text, "no connection for longer than the lease");
            disconnected(text)
        }
        End::GivenUpByPeer => disconnected("the peer has given the session up".to_owned()),
        End::Replaced(by) => {
            tracing::info!(%peer, by, "another node runs where the peer was");
            disconnected("the peer is gone: another node runs in its place".to_owned())
        }
        End::Closed => disconnected("the session was closed".to_owned()),
        End::Goodbye(reason, text) => {
            tracing::info!(%peer, ?reason, %text, "the peer said goodbye");
            let kind = match reason {
                Goodbye::ShuttingDown | Goodbye::Unused => ErrorKind::Disconnected,
                Goodbye::ProtocolViolation => ErrorKind::Protocol,
                Goodbye::LimitReached => ErrorKind::LimitReached,
            };
            Error::new(kind, format!("the peer ended the session: {text}"))
        }
        End::Violation(violation) => {
            tracing::warn!(%peer, %violation, "the peer broke the protocol");
            let text = violation.to_string();
            let reason = violation.reason();
            let goodbye = Body::Goodbye { reason, text: text.clone() };
            if session.send(node, goodbye, &mut Message::default()).is_ok() {
                session.flush_now();
            }
            let kind = match reason {
                Goodbye::LimitReached => ErrorKind::LimitReached,
                Goodbye::ShuttingDown | Goodbye::ProtocolViolation | Goodbye::Unused => {
                    ErrorKind::Protocol
                }
            };
            Error::new(kind, format!("the peer was sent away: {text}"))
        }
    }
}
