//! Runs a hand-shake over a wire, with a time limit.
//!
//! Each side goes in two steps, because the node decides in between, and that may take a while:
//! the dialler [dials](dial), and, once it is [welcome](Welcome), [goes](Welcome::go); the acceptor
//! [is greeted](greet), and, knowing [by whom](Greeting), [welcomes](Greeting::welcome).
//!
//! Whenever a hand-shake fails, the peer is told as far as possible, and the wire is closed.
//!
//! # Cancel safety
//!
//! Dropping any of the futures, or what they return, closes the wire in the middle of the
//! hand-shake. The peer sees the end of the connection.

use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::time::Duration;

use bytes::BytesMut;
use tokio::time::{Instant, timeout_at};

use crate::handshake::{Accepted, Handshake, HandshakeError, Hello, Progress, Refusal, Relation};
use crate::transport::Wire;

/// A hand-shake that has come to its end: a connection.
pub struct Shaken {
    /// What it goes over.
    pub wire: Box<dyn Wire>,
    /// What the peer says about itself.
    pub hello: Hello,
    /// What the dialler, whichever of the two it was, said about the other.
    pub relation: Relation,
    /// What the acceptor, whichever of the two it was, said about the session.
    pub accepted: Accepted,
    /// How many of our frames the peer has taken.
    pub peer_received: u64,
    /// What came behind the hand-shake: frames.
    pub received: BytesMut,
}

/// The node that has dialled us has said hello, and waits for an answer.
#[must_use = "the peer waits for an answer"]
pub struct Greeting {
    shaking: Shaking,
    hello: Hello,
    relation: Relation,
}

/// The node that we dialled has welcomed us, and waits for us to go.
#[must_use = "the peer waits for an answer"]
pub struct Welcome {
    shaking: Shaking,
    relation: Relation,
    hello: Hello,
    accepted: Accepted,
}

/// Waits for the hello of the node that has dialled `wire`. The whole hand-shake, what follows
/// included, is to be done within `limit`.
///
/// # Errors
///
/// A [`HandshakeError`]: what came is not a hello, or does not fit ours, or means another
/// incarnation.
pub async fn greet(
    wire: Box<dyn Wire>,
    ours: Hello,
    limit: Duration,
) -> Result<Greeting, HandshakeError> {
    let own = ours.incarnation;
    let mut shaking = Shaking::begin(wire, own, Handshake::accept(ours), limit);
    match shaking.progress(&[]).await {
        Ok(Progress::Greeted(hello, relation)) => Ok(Greeting { shaking, hello, relation }),
        Ok(Progress::More | Progress::Welcomed(..) | Progress::Confirmed { .. }) => {
            Err(shaking.fail(OUT_OF_TURN))
        }
        Err(error) => Err(shaking.fail(error)),
    }
}

/// Says hello to the node that `wire` was dialled to, and waits for its welcome. The whole
/// hand-shake, what follows included, is to be done within `limit`.
///
/// # Errors
///
/// A [`HandshakeError`]: the node refused, or what came is not a welcome, or does not fit our
/// hello.
pub async fn dial(
    wire: Box<dyn Wire>,
    ours: Hello,
    relation: Relation,
    limit: Duration,
) -> Result<Welcome, HandshakeError> {
    let own = ours.incarnation;
    let (handshake, bytes) = Handshake::dial(ours, relation);
    let mut shaking = Shaking::begin(wire, own, handshake, limit);
    match shaking.progress(&bytes).await {
        Ok(Progress::Welcomed(hello, accepted)) => {
            Ok(Welcome { shaking, relation, hello, accepted })
        }
        Ok(Progress::More | Progress::Greeted(..) | Progress::Confirmed { .. }) => {
            Err(shaking.fail(OUT_OF_TURN))
        }
        Err(error) => Err(shaking.fail(error)),
    }
}

impl Greeting {
    /// What the dialler says about itself.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// What the dialler knows of us.
    pub fn relation(&self) -> Relation {
        self.relation
    }

    /// Who is at the other end, for logs and errors.
    pub fn peer(&self) -> String {
        self.shaking.wire.peer()
    }

    /// Welcomes the dialler to a session, and waits for it to go.
    ///
    /// From here on until the wire is attached, no frame of the session is taken.
    ///
    /// # Errors
    ///
    /// A [`HandshakeError`]: the dialler has refused, or takes too long. The session is as it was.
    pub async fn welcome(self, accepted: Accepted) -> Result<Shaken, HandshakeError> {
        let Greeting { mut shaking, hello, relation } = self;
        let bytes = shaking.handshake.welcome(accepted);
        match shaking.progress(&bytes).await {
            Ok(Progress::Confirmed { received }) => {
                let Shaking { wire, received: rest, .. } = shaking;
                let (peer_received, received) = (received, rest);
                Ok(Shaken { wire, hello, relation, accepted, peer_received, received })
            }
            Ok(Progress::More | Progress::Greeted(..) | Progress::Welcomed(..)) => {
                Err(shaking.fail(OUT_OF_TURN))
            }
            Err(error) => Err(shaking.fail(error)),
        }
    }

    /// Does not want the connection, tells the dialler why, and closes it.
    pub fn refuse(self, reason: Refusal) -> HandshakeError {
        self.shaking.fail(HandshakeError::Declined { reason })
    }
}

impl Welcome {
    /// What the acceptor says about itself.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// What the acceptor says about the session.
    pub fn accepted(&self) -> Accepted {
        self.accepted
    }

    /// Who is at the other end, for logs and errors.
    pub fn peer(&self) -> String {
        self.shaking.wire.peer()
    }

    /// Goes on, having taken `received` frames of the session. After that the connection is open:
    /// frames may follow at once.
    ///
    /// From having looked at `received` until the wire is attached, no frame of the session is
    /// taken.
    ///
    /// # Errors
    ///
    /// A [`HandshakeError`]: the connection has failed. The session is as it was.
    pub async fn go(self, received: u64) -> Result<Shaken, HandshakeError> {
        let Welcome { mut shaking, relation, hello, accepted } = self;
        let bytes = shaking.handshake.go(received);
        if let Err(error) = shaking.write(&bytes).await {
            return Err(shaking.fail(error));
        }
        let Shaking { wire, received, .. } = shaking;
        let peer_received = accepted.received;
        Ok(Shaken { wire, hello, relation, accepted, peer_received, received })
    }

    /// Does not want the connection, tells the acceptor why, and closes it.
    pub fn refuse(self, reason: Refusal) -> HandshakeError {
        self.shaking.fail(HandshakeError::Declined { reason })
    }
}

const OUT_OF_TURN: HandshakeError = HandshakeError::Malformed("a message out of turn");

/// A hand-shake under way.
struct Shaking {
    wire: Box<dyn Wire>,
    /// Our incarnation, which a refusal names.
    own: u64,
    handshake: Handshake,
    received: BytesMut,
    limit: Duration,
    until: Instant,
}

impl Shaking {
    fn begin(wire: Box<dyn Wire>, own: u64, handshake: Handshake, limit: Duration) -> Self {
        let (received, until) = (BytesMut::new(), Instant::now() + limit);
        Shaking { wire, handshake, own, received, limit, until }
    }

    /// Sends `bytes`, and reads until the hand-shake has taken a step.
    async fn progress(&mut self, bytes: &[u8]) -> Result<Progress, HandshakeError> {
        let Shaking { wire, handshake, received, limit, until, .. } = self;
        within(*limit, *until, async {
            write_all(&**wire, bytes).await?;
            loop {
                match handshake.handle_input(received)? {
                    Progress::More => {}
                    step @ (Progress::Greeted(..)
                    | Progress::Welcomed(..)
                    | Progress::Confirmed { .. }) => return Ok(step),
                }
                if poll_fn(|cx| wire.poll_read(cx, received)).await? == 0 {
                    return Err(HandshakeError::Truncated);
                }
            }
        })
        .await
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), HandshakeError> {
        let written = async { Ok(write_all(&*self.wire, bytes).await?) };
        within(self.limit, self.until, written).await
    }

    /// Tells the peer that it came to nothing, and closes the wire.
    fn fail(self, error: HandshakeError) -> HandshakeError {
        if let HandshakeError::NotRmi { .. } | HandshakeError::VersionMismatch { .. } = error {
            tracing::warn!(peer = self.wire.peer(), %error, "refused a connection");
        }
        // A refusal fits in the buffers of any socket that has hardly been written to. A peer that
        // leaves no room even for that has its own fault, and is not waited for.
        let refusal = error.refusal(self.own);
        if !refusal.is_empty() {
            let _ = self.wire.try_write(&refusal);
        }
        error
    }
}

async fn within<T>(
    limit: Duration,
    until: Instant,
    step: impl Future<Output = Result<T, HandshakeError>>,
) -> Result<T, HandshakeError> {
    let limit_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
    timeout_at(until, step).await.unwrap_or(Err(HandshakeError::TimedOut { limit_ms }))
}

async fn write_all(wire: &dyn Wire, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match wire.try_write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                poll_fn(|cx| wire.poll_writable(cx)).await?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl fmt::Debug for Shaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shaken")
            .field("wire", &self.wire.peer())
            .field("hello", &self.hello)
            .field("relation", &self.relation)
            .field("accepted", &self.accepted)
            .field("peer_received", &self.peer_received)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Greeting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Greeting");
        shown.field("hello", &self.hello).field("relation", &self.relation).finish_non_exhaustive()
    }
}

impl fmt::Debug for Welcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Welcome");
        shown.field("hello", &self.hello).field("accepted", &self.accepted).finish_non_exhaustive()
    }
}
