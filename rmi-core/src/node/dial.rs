//! Outgoing connections.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rmi_gc::NodeId;
use rmi_transport::{
    Endpoint, Hello, HandshakeError, Refusal, Verdict, shake_as_dialler, transport_for,
};
use tokio::time::timeout;

use super::NodeInner;
use crate::error::{Error, ErrorKind, Executed, Result};
use crate::reference::Identity;
use crate::session::Session;

/// For how long a home that could not be dialled is not dialled again for a call that has
/// another way.
const UNREACHABLE_FOR: Duration = Duration::from_secs(5);

/// Who was found at an endpoint.
pub(super) enum Found {
    Peer(Arc<Session>),
    /// It is an endpoint of our own.
    Ourselves,
}

/// What is known of an endpoint; under a lock that is held while it is dialled, so that it is
/// dialled once however many want it.
#[derive(Default)]
pub(super) struct Dialled {
    peer: Option<NodeId>,
}

impl NodeInner {
    /// The session with whoever listens at `endpoint`, dialling if need be.
    pub(super) async fn session_at(self: &Arc<Self>, endpoint: &Endpoint) -> Result<Found> {
        if self.is_closing() {
            return Err(Error::new(ErrorKind::ShutDown, "the node is shutting down"));
        }
        if self.endpoints.contains(endpoint) {
            return Ok(Found::Ourselves);
        }
        let place = Arc::clone(&self.dialled.entry(endpoint.clone()).or_default());
        let mut dialled = place.lock().await;
        if let Some(session) = dialled.peer.and_then(|peer| self.sessions.open(peer)) {
            return Ok(Found::Peer(session));
        }
        let found = self.dial(endpoint).await?;
        dialled.peer = match &found {
            Found::Peer(session) => Some(session.peer),
            Found::Ourselves => None,
        };
        Ok(found)
    }

    /// The session with the home of an object, dialling it at each of its addresses.
    pub(crate) async fn session_with_home(
        self: &Arc<Self>,
        identity: &Identity,
    ) -> Result<Arc<Session>> {
        let home = identity.id.home;
        let unreachable = |text: String| Error::new(ErrorKind::Unreachable, text).at_peer(home);
        let failed_at = self.unreachable.get(&home).map(|at| *at);
        if failed_at.is_some_and(|at| at.elapsed() < UNREACHABLE_FOR) {
            return Err(unreachable("it could not be reached a moment ago".to_owned()));
        }
        let mut failure = unreachable("it listens nowhere, and has no session with us".to_owned());
        for endpoint in &*identity.endpoints {
            match self.session_at(endpoint).await {
                Ok(Found::Peer(session)) if session.peer == home => {
                    self.unreachable.remove(&home);
                    return Ok(session);
                }
                Ok(Found::Peer(_) | Found::Ourselves) => {
                    let text = format!("{home} is gone: another node answers at {endpoint}");
                    failure = Error::new(ErrorKind::NoSuchObject, text);
                }
                Err(error) => failure = error,
            }
        }
        self.unreachable.insert(home, Instant::now());
        Err(failure.executed_as(Executed::No))
    }

    async fn dial(self: &Arc<Self>, endpoint: &Endpoint) -> Result<Found> {
        let failed = |text: String| Error::new(ErrorKind::Unreachable, text).at_peer(endpoint);
        let limit = self.limits.handshake_time_max;
        let wire = match timeout(limit, transport_for(endpoint).dial(endpoint)).await {
            Ok(Ok(wire)) => wire,
            Ok(Err(error)) => return Err(failed(error.to_string())),
            Err(_) => return Err(failed(format!("no connection within {limit:?}"))),
        };
        let mut peer = None;
        let mut opened = false;
        let decide = |hello: &Hello| {
            peer = Some(NodeId(hello.incarnation));
            let verdict = self.sessions.welcomed(NodeId(hello.incarnation));
            opened = verdict == Verdict::Proceed;
            verdict
        };
        match shake_as_dialler(&*wire, self.hello(), decide, limit).await {
            Ok((hello, received)) => {
                Ok(Found::Peer(self.sessions.begin(self, wire, &hello, received)))
            }
            Err(
                HandshakeError::Refused { reason: Refusal::SelfConnection, .. }
                | HandshakeError::Declined { reason: Refusal::SelfConnection },
            ) => Ok(Found::Ourselves),
            Err(HandshakeError::Declined { reason: Refusal::Yielded }) => {
                self.other_connection(peer, endpoint).await
            }
            Err(error) => {
                if let (true, Some(peer)) = (opened, peer) {
                    self.sessions.never_began(peer);
                }
                Err(refused(&error).at_peer(endpoint))
            }
        }
    }

    /// The peer is, or will be in a moment, connected by a connection of its own dialling.
    async fn other_connection(&self, peer: Option<NodeId>, endpoint: &Endpoint) -> Result<Found> {
        let limit = self.limits.handshake_time_max;
        let session = match peer {
            Some(peer) => timeout(limit, self.sessions.wait_for(peer)).await.ok(),
            None => None,
        };
        session.map(Found::Peer).ok_or_else(|| {
            let text = format!("the connection that it dialled did not come within {limit:?}");
            Error::new(ErrorKind::Unreachable, text).at_peer(endpoint)
        })
    }
}

/// Why there is no session, by who must act.
fn refused(error: &HandshakeError) -> Error {
    let kind = match error {
        HandshakeError::NotRmi { .. }
        | HandshakeError::VersionMismatch { .. }
        | HandshakeError::CodecMismatch { .. }
        | HandshakeError::TooLarge { .. }
        | HandshakeError::LimitTooSmall { .. }
        | HandshakeError::Malformed(_) => ErrorKind::Protocol,
        HandshakeError::Refused { reason, .. } | HandshakeError::Declined { reason } => {
            refused_for(*reason)
        }
        _ => ErrorKind::Unreachable,
    };
    Error::new(kind, error.to_string()).executed_as(Executed::No)
}

fn refused_for(reason: Refusal) -> ErrorKind {
    match reason {
        Refusal::Version | Refusal::Codec | Refusal::NotRmi | Refusal::Malformed => {
            ErrorKind::Protocol
        }
        Refusal::Full => ErrorKind::LimitReached,
        Refusal::ShuttingDown
        | Refusal::AlreadyConnected
        | Refusal::SelfConnection
        | Refusal::Yielded
        | Refusal::Unknown(_)
        | _ => ErrorKind::Unreachable,
    }
}
