//! Outgoing connections.

use std::sync::Arc;
use std::time::Duration;

use rmi_gc::NodeId;
use rmi_transport::{Endpoint, HandshakeError, Refusal, Relation, Transport};
use tokio::time::{Instant, sleep, timeout};

use super::NodeInner;
use crate::error::{Error, ErrorKind, Executed, Result};
use crate::reference::Identity;
use crate::session::{Beginning, Session};

/// For how long a home that could not be dialled is not dialled again, for a call that has another
/// way. One that has none waits for a part of the lease, so that calls in a row do not wait for one
/// attempt each.
const UNREACHABLE_FOR: Duration = Duration::from_secs(5);
const UNREACHABLE_PER_LEASE: u32 = 4;

/// So many connections in a row may break while hands are shaken before that is an error.
const BROKEN_MAX: u32 = 3;

/// Endpoints and unreachable homes that are remembered before old ones are forgotten.
const PLACES_MAX: usize = 1_024;

/// Who was found at an endpoint.
pub(super) enum Found {
    Peer(Arc<Session>),
    /// It is an endpoint of our own.
    Ourselves,
}

/// What one attempt came to.
enum Dial {
    Found(Found),
    /// Another connection with that peer is the session's, or is about to be.
    SessionWith(NodeId),
    /// Not the one that was meant.
    AnotherNode,
    /// The connection ended while hands were shaken.
    Broken(Error),
}

/// How long an attempt waits for the session that there should be, before the next.
const PAUSE_BEFORE_REDIALLING: Duration = Duration::from_millis(50);

/// What is known of an endpoint; under a lock that is held while it is dialled, so that it is
/// dialled once however many want it.
#[derive(Default)]
pub(super) struct Dialled {
    peer: Option<NodeId>,
    /// How the last attempt failed, and when; shared by all who waited for it.
    failed: Option<(Instant, Error)>,
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
        self.forget_old_places();
        let place = Arc::clone(&self.dialled.entry(endpoint.clone()).or_default());
        let asked = Instant::now();
        let mut dialled = place.lock().await;
        if let Some(session) = dialled.peer.and_then(|peer| self.sessions.open(peer)) {
            return Ok(Found::Peer(session));
        }
        if let Some((at, error)) = &dialled.failed {
            if *at >= asked {
                return Err(error.clone());
            }
        }
        let found = match self.dial(endpoint).await {
            Ok(found) => found,
            Err(error) => {
                dialled.failed = Some((Instant::now(), error.clone()));
                return Err(error);
            }
        };
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
        has_another_way: bool,
    ) -> Result<Arc<Session>> {
        let home = identity.id.home;
        let soon = UNREACHABLE_FOR.min(self.timings.lease / UNREACHABLE_PER_LEASE);
        let pause = if has_another_way { UNREACHABLE_FOR } else { soon };
        let unreachable = |text: String| Error::new(ErrorKind::Unreachable, text).at_peer(home);
        let failed_at = self.unreachable.get(&home).map(|at| *at);
        if failed_at.is_some_and(|at| at.elapsed() < pause) {
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

    /// Peers tell us endpoints, so what is known of them is bounded: what nobody is dialling now
    /// may be forgotten, and is found out again.
    fn forget_old_places(&self) {
        if self.dialled.len() > PLACES_MAX {
            self.dialled.retain(|_, place| Arc::strong_count(place) > 1);
        }
        if self.unreachable.len() > PLACES_MAX {
            self.unreachable.retain(|_, at| at.elapsed() < UNREACHABLE_FOR);
        }
    }

    /// Dials until there is a session, or it is certain that there will not be one. A peer may
    /// still believe in a session that we have given up; it is about to notice.
    async fn dial(self: &Arc<Self>, endpoint: &Endpoint) -> Result<Found> {
        let until = Instant::now() + self.limits.handshake_time_max;
        let mut relation = Relation::Unknown;
        let mut broken = 0;
        loop {
            match self.dial_once(endpoint, relation).await? {
                Dial::Broken(error) if broken == BROKEN_MAX => return Err(error),
                Dial::Broken(_) => {
                    broken += 1;
                    sleep(PAUSE_BEFORE_REDIALLING).await;
                }
                Dial::Found(found) => return Ok(found),
                Dial::SessionWith(peer) => {
                    let pause = timeout(PAUSE_BEFORE_REDIALLING, self.sessions.wait_for(peer));
                    if let Ok(session) = pause.await {
                        return Ok(Found::Peer(session));
                    }
                    if Instant::now() > until {
                        let text = format!("it says that it has a session with us, as {peer}");
                        return Err(Error::new(ErrorKind::Unreachable, text).at_peer(endpoint));
                    }
                    // We have none with it, whatever it has.
                    relation = Relation::Fresh { peer: peer.0 };
                }
                Dial::AnotherNode => relation = Relation::Unknown,
            }
        }
    }

    async fn dial_once(self: &Arc<Self>, endpoint: &Endpoint, relation: Relation) -> Result<Dial> {
        let failed = |text: String| Error::new(ErrorKind::Unreachable, text).at_peer(endpoint);
        let limit = self.limits.handshake_time_max;
        let wire = match timeout(limit, self.transport_for(endpoint).dial(endpoint)).await {
            Ok(Ok(wire)) => wire,
            Ok(Err(error)) => return Err(failed(error.to_string())),
            Err(_) => return Err(failed(format!("no connection within {limit:?}"))),
        };
        let welcome = match rmi_transport::dial(wire, self.hello(), relation, limit).await {
            Ok(welcome) => welcome,
            Err(HandshakeError::Refused { reason: Refusal::AlreadyConnected, from, .. }) => {
                return Ok(Dial::SessionWith(NodeId(from)));
            }
            Err(HandshakeError::Refused { reason: Refusal::SelfConnection, .. }) => {
                return Ok(Dial::Found(Found::Ourselves));
            }
            Err(HandshakeError::Refused { reason: Refusal::OtherIncarnation, .. }) => {
                return Ok(Dial::AnotherNode);
            }
            Err(error) => return broken_or_refused(&error, endpoint),
        };
        let peer = NodeId(welcome.hello().incarnation);
        if self.sessions.open(peer).is_some() {
            // That session lacks a connection, and is to be resumed by its own.
            welcome.refuse(Refusal::Yielded);
            return Ok(Dial::SessionWith(peer));
        }
        let opening = match self.sessions.welcomed(peer) {
            Ok(opening) => opening,
            Err(Refusal::SelfConnection) => {
                welcome.refuse(Refusal::SelfConnection);
                return Ok(Dial::Found(Found::Ourselves));
            }
            Err(reason) => {
                welcome.refuse(reason);
                return Ok(Dial::SessionWith(peer));
            }
        };
        let shaken = match welcome.go(0).await {
            Ok(shaken) => shaken,
            Err(error) => return broken_or_refused(&error, endpoint),
        };
        let beginning = Beginning { shaken, dialled: Some(endpoint.clone()) };
        let session = self.sessions.begin(self, beginning)?;
        opening.opened();
        Ok(Dial::Found(Found::Peer(session)))
    }

    /// The transport that reaches an endpoint.
    pub(crate) fn transport_for(&self, endpoint: &Endpoint) -> &dyn Transport {
        self.transports.of(endpoint)
    }
}

/// A connection that ends while hands are shaken may be made again; what the peer has said counts.
fn broken_or_refused(error: &HandshakeError, endpoint: &Endpoint) -> Result<Dial> {
    let refused = refused(error).at_peer(endpoint);
    match error {
        HandshakeError::Truncated | HandshakeError::Io(_) => Ok(Dial::Broken(refused)),
        HandshakeError::NotRmi { .. }
        | HandshakeError::VersionMismatch { .. }
        | HandshakeError::CodecMismatch { .. }
        | HandshakeError::TooLarge { .. }
        | HandshakeError::LimitTooSmall { .. }
        | HandshakeError::Malformed(_)
        | HandshakeError::Refused { .. }
        | HandshakeError::Declined { .. }
        | HandshakeError::TimedOut { .. }
        | _ => Err(refused),
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
        HandshakeError::Truncated | HandshakeError::TimedOut { .. } | HandshakeError::Io(_) | _ => {
            ErrorKind::Unreachable
        }
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
