//! The one task of a session: it reads, has frames served, and sends what nobody else will.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::BytesMut;
use rmi_transport::{Body, Event, FrameLimits, Goodbye, decode};
use tokio::time::{Instant, Sleep, sleep_until};

use super::receive::Next;
use super::{RELEASE_PENDING_MAX, Session, Violation};
use crate::error::{Error, ErrorKind};
use crate::marshal::Message;
use crate::node::NodeInner;

/// How long releases and acknowledgements wait for a frame to ride on.
const RELEASE_DELAY: Duration = Duration::from_millis(20);

thread_local! {
    /// The serial of the session whose received frames this thread is serving; 0 if none.
    static DRIVING: Cell<u64> = const { Cell::new(0) };
}

/// Is this thread serving what `session` has just read? Then the driver will look after anything
/// that is enqueued or owed now.
pub(super) fn is_driving(session: &Session) -> bool {
    DRIVING.get() == session.serial
}

/// How a session came to its end.
#[derive(Debug)]
enum End {
    /// The connection is lost; the peer may still be there.
    Lost(io::Error),
    /// The peer said goodbye: it will not be back.
    Goodbye(Goodbye, String),
    /// The peer broke the protocol.
    Violation(Violation),
}

/// Drives `session` until it ends, then gives the peer up: at once if it left or misbehaved,
/// after the lease if only its connection was lost.
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
    let end = serve(&node, &session).await;
    let at_once = match &end {
        End::Lost(_) => false,
        End::Goodbye(..) | End::Violation(_) => true,
    };
    session.end(explain(&node, &session, end));
    drop(guard);
    if !at_once && !node.is_closing() {
        let given_up = session.given_up_early.notified();
        let _ = tokio::time::timeout(node.lease, given_up).await;
    }
    node.sessions.give_up(&node, &session);
}

/// Whatever ends the driver, its runtime's end included, ends the session.
struct EndGuard {
    node: Arc<NodeInner>,
    session: Arc<Session>,
}

impl Drop for EndGuard {
    fn drop(&mut self) {
        self.session.end(Error::new(ErrorKind::ShutDown, "the runtime has ended"));
        self.node.sessions.ended(&self.node, &self.session);
    }
}

async fn serve(node: &Arc<NodeInner>, session: &Arc<Session>) -> End {
    let limits = FrameLimits { frame_bytes_max: node.limits.frame_bytes_max, ..Default::default() };
    let mut received = BytesMut::new();
    let mut alarm = pin!(Alarm::default());
    loop {
        match session.serve_all(node, &mut received, &limits) {
            Ok(Next::GoOn) => {}
            Ok(Next::End(reason, text)) => return End::Goodbye(reason, text),
            Err(violation) => return End::Violation(violation),
        }
        session.flush_now();
        if let Err(violation) = session.check_reading() {
            return End::Violation(violation);
        }
        session.look_after_the_owed(node, alarm.as_mut());
        match poll_fn(|cx| session.poll(&mut received, alarm.as_mut(), cx)).await {
            Ok(()) => {}
            Err(error) => return End::Lost(error),
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
        // What was read before the session ended here is not served any more.
        while self.is_open() {
            let before = received.len();
            let Some(frame) = decode(received, limits)? else { return Ok(Next::GoOn) };
            node.stats.frames_received.add(1);
            node.stats.bytes_received.add((before - received.len()) as u64);
            match self.receive(node, frame)? {
                Next::GoOn => {}
                end @ Next::End(..) => return Ok(end),
            }
        }
        Ok(Next::GoOn)
    }

    /// Waits for bytes, for something that wants attention, or for the alarm.
    fn poll(
        &self,
        received: &mut BytesMut,
        alarm: Pin<&mut Alarm>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        let polled = self.connection.poll(cx, received);
        self.tell_of_room();
        match polled {
            Poll::Ready(Ok(Event::Read(_) | Event::Woken)) => Poll::Ready(Ok(())),
            Poll::Ready(Ok(Event::End)) => Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => alarm.poll_due(cx).map(Ok),
        }
    }

    /// Sees to it that what is owed does not wait for ever: if no frame goes out within
    /// `RELEASE_DELAY`, one of its own does; at once if very much is owed.
    fn look_after_the_owed(&self, node: &NodeInner, mut alarm: Pin<&mut Alarm>) {
        while self.is_open() && self.ledger.lock().owed_indices() >= RELEASE_PENDING_MAX {
            self.send_control(node);
        }
        let frames = self.frames_sent.load(Ordering::Relaxed);
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
            alarm.set_off(frames);
        }
    }
}

/// Rings `RELEASE_DELAY` after it was set, and remembers how many frames had been sent by then.
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

    fn set_off(mut self: Pin<&mut Self>, frames: u64) {
        let at = Instant::now() + RELEASE_DELAY;
        match &mut self.sleep {
            Some(sleep) => sleep.as_mut().reset(at),
            None => self.sleep = Some(Box::pin(sleep_until(at))),
        }
        self.frames = frames;
        self.set = true;
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
        if this.registered && Instant::now() < sleep.deadline() {
            return Poll::Pending;
        }
        this.registered = true;
        std::task::ready!(sleep.as_mut().poll(cx));
        this.due = true;
        Poll::Ready(())
    }
}

/// While it lives, this thread serves what the session has read.
struct Driving(u64);

impl Driving {
    fn begin(session: &Session) -> Self {
        Self(DRIVING.replace(session.serial))
    }
}

impl Drop for Driving {
    fn drop(&mut self) {
        DRIVING.set(self.0);
    }
}

/// The end as the error of calls in progress; the peer is told of its own fault.
fn explain(node: &NodeInner, session: &Session, end: End) -> Error {
    let peer = &session.peer_name;
    match end {
        End::Lost(error) => {
            tracing::debug!(%peer, %error, "connection lost");
            let text = if error.kind() == io::ErrorKind::UnexpectedEof {
                "the peer closed the connection".to_owned()
            } else {
                format!("the connection was lost: {error}")
            };
            Error::new(ErrorKind::Disconnected, text)
        }
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
            if session.send(node, goodbye, Message::default()).is_ok() {
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
