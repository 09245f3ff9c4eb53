//! Runs a hand-shake over a wire, with a time limit.

use std::future::{Future, poll_fn};
use std::io;
use std::time::Duration;

use bytes::BytesMut;

use crate::handshake::{Handshake, HandshakeError, Hello, Progress};
use crate::rendezvous::Verdict;
use crate::transport::Wire;

/// Introduces us to the node that `wire` was dialled to.
///
/// `decide` is asked once, with what the peer says about itself; if it says
/// [`Proceed`](Verdict::Proceed), the session is open. Returns the peer's hello, and the bytes
/// that came behind it, which are frames.
///
/// # Errors
///
/// A [`HandshakeError`]: the peer was told, as far as possible, and the wire is of no use any
/// more. If `decide` had said `Proceed` by then, the caller has to take the session back.
///
/// # Cancel safety
///
/// Not cancel safe: dropping the future leaves the wire in the middle of a hand-shake.
pub async fn shake_as_dialler(
    wire: &dyn Wire,
    ours: Hello,
    decide: impl FnOnce(&Hello) -> Verdict,
    limit: Duration,
) -> Result<(Hello, BytesMut), HandshakeError> {
    within(limit, ours.incarnation, wire, async {
        let mut received = BytesMut::new();
        let (mut handshake, hello) = Handshake::dial(ours);
        write_all(wire, &hello).await?;
        let Progress::Welcomed(theirs) = progress(wire, &mut handshake, &mut received).await?
        else {
            return Err(HandshakeError::Malformed("a message out of turn"));
        };
        match decide(&theirs) {
            Verdict::Proceed => write_all(wire, &handshake.go()).await?,
            Verdict::Refuse(reason) => return Err(HandshakeError::Declined { reason }),
        }
        Ok((theirs, received))
    })
    .await
}

/// Introduces us to the node that has dialled `wire`.
///
/// `decide` is asked once, with what the peer says about itself; if it says
/// [`Proceed`](Verdict::Proceed), the peer is welcomed, and the function returns once the peer
/// has confirmed: its hello, and the bytes that came behind, which are frames.
///
/// # Errors
///
/// A [`HandshakeError`]: the peer was told, as far as possible, and the wire is of no use any
/// more. If `decide` had said `Proceed` by then, the connection counts as abandoned.
///
/// # Cancel safety
///
/// Not cancel safe: dropping the future leaves the wire in the middle of a hand-shake.
pub async fn shake_as_acceptor(
    wire: &dyn Wire,
    ours: Hello,
    decide: impl FnOnce(&Hello) -> Verdict,
    limit: Duration,
) -> Result<(Hello, BytesMut), HandshakeError> {
    within(limit, ours.incarnation, wire, async {
        let mut received = BytesMut::new();
        let mut handshake = Handshake::accept(ours);
        let Progress::Greeted(theirs) = progress(wire, &mut handshake, &mut received).await? else {
            return Err(HandshakeError::Malformed("a message out of turn"));
        };
        match decide(&theirs) {
            Verdict::Proceed => write_all(wire, &handshake.welcome()).await?,
            Verdict::Refuse(reason) => return Err(HandshakeError::Declined { reason }),
        }
        match progress(wire, &mut handshake, &mut received).await? {
            Progress::Confirmed => Ok((theirs, received)),
            Progress::More | Progress::Greeted(_) | Progress::Welcomed(_) => {
                Err(HandshakeError::Malformed("a message out of turn"))
            }
        }
    })
    .await
}

/// Bounds the whole hand-shake by `limit`, and tells the peer if it came to nothing.
async fn within<T>(
    limit: Duration,
    own: u64,
    wire: &dyn Wire,
    shake: impl Future<Output = Result<T, HandshakeError>>,
) -> Result<T, HandshakeError> {
    let error = match tokio::time::timeout(limit, shake).await {
        Ok(Ok(shaken)) => return Ok(shaken),
        Ok(Err(error)) => error,
        Err(_elapsed) => {
            let limit_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
            HandshakeError::TimedOut { limit_ms }
        }
    };
    if let HandshakeError::NotRmi { .. } | HandshakeError::VersionMismatch { .. } = error {
        tracing::warn!(peer = wire.peer(), %error, "refused a connection");
    }
    // A refusal fits in the buffers of any socket that has not been written to. A peer that
    // leaves no room even for that has its own fault, and is not waited for.
    let refusal = error.refusal(own);
    if !refusal.is_empty() {
        let _ = wire.try_write(&refusal);
    }
    Err(error)
}

/// Reads until the hand-shake has taken a step.
async fn progress(
    wire: &dyn Wire,
    handshake: &mut Handshake,
    received: &mut BytesMut,
) -> Result<Progress, HandshakeError> {
    loop {
        match handshake.handle_input(received)? {
            Progress::More => {}
            step @ (Progress::Greeted(_) | Progress::Welcomed(_) | Progress::Confirmed) => {
                return Ok(step);
            }
        }
        if poll_fn(|cx| wire.poll_read(cx, received)).await? == 0 {
            return Err(HandshakeError::Truncated);
        }
    }
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
