//! A session without a connection: its peer is dialled again and again, until it is reached, or
//! there is certainly nobody to reach.

use std::future::pending;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmi_transport::{
    Backoff, Endpoint, HandshakeError, NotAttached, Refusal, Relation, Shaken, dial,
};
use tokio::time::{sleep, timeout};

use super::driver::End;
use super::{Session, Violation};
use crate::node::NodeInner;

/// An attempt takes at most this part of the lease, so that there are several.
const ATTEMPTS_PER_LEASE: u32 = 4;
const ATTEMPT_LEAST: Duration = Duration::from_millis(100);

/// What an attempt came to.
enum Attempt {
    /// The session has a connection.
    Attached,
    /// It never will.
    Over(End),
    Failed(String),
}

/// Dials the peer of a session that has lost its connection. Returns only if the session has come
/// to its end; after a success it waits to be dropped.
pub(super) async fn redial(node: &Arc<NodeInner>, session: &Arc<Session>) -> End {
    let known = session.endpoints.iter().filter(|at| session.dialled.as_ref() != Some(at));
    let endpoints: Vec<&Endpoint> = session.dialled.iter().chain(known).collect();
    if endpoints.is_empty() {
        // It listens nowhere: it has to come back by itself.
        return pending().await;
    }
    let mut backoff = Backoff::new();
    loop {
        sleep(backoff.next(node.random())).await;
        for endpoint in &endpoints {
            match attempt(node, session, endpoint).await {
                Attempt::Attached => return pending().await,
                Attempt::Over(end) => return end,
                Attempt::Failed(why) => {
                    tracing::debug!(peer = %session.peer_name, %endpoint, %why, "not resumed");
                }
            }
        }
    }
}

async fn attempt(node: &Arc<NodeInner>, session: &Arc<Session>, endpoint: &Endpoint) -> Attempt {
    let failed = |why: &dyn std::fmt::Display| Attempt::Failed(why.to_string());
    let Some(parked) = session.link.parked().await else { return Attempt::Attached };
    let lease_part = (node.timings.lease / ATTEMPTS_PER_LEASE).max(ATTEMPT_LEAST);
    let limit = node.limits.handshake_time_max.min(lease_part);
    let wire = match timeout(limit, node.transport_for(endpoint).dial(endpoint)).await {
        Ok(Ok(wire)) => wire,
        Ok(Err(error)) => return failed(&error),
        Err(_) => return failed(&"no connection in time"),
    };
    let (peer, key) = (session.peer.0, session.key);
    let relation = Relation::Resume { peer, session: key, connections: parked.epoch };
    let welcome = match dial(wire, node.hello(), relation, limit).await {
        Ok(welcome) => welcome,
        Err(HandshakeError::Refused { reason: Refusal::NoSuchSession, .. }) => {
            return Attempt::Over(End::GivenUpByPeer);
        }
        // Only where the peer itself says that it listens; elsewhere a name may have moved.
        Err(HandshakeError::Refused { reason: Refusal::OtherIncarnation, from, .. })
            if session.endpoints.contains(endpoint) =>
        {
            return Attempt::Over(End::Replaced(from));
        }
        Err(error) => return failed(&error),
    };
    let accepted = welcome.accepted();
    if welcome.hello().incarnation != peer || accepted.session != key {
        return failed(&welcome.refuse(Refusal::NoSuchSession));
    }
    let opening = match node.sessions.welcomed(session.peer) {
        Ok(opening) => opening,
        Err(reason) => return failed(&welcome.refuse(reason)),
    };
    let Shaken { wire, received, peer_received, .. } = match welcome.go(parked.received).await {
        Ok(shaken) => shaken,
        Err(error) => return failed(&error),
    };
    session.made_by(accepted.connections);
    match session.link.attach(wire, received, parked.epoch, peer_received) {
        Ok(()) => {
            opening.opened();
            Attempt::Attached
        }
        Err(NotAttached::Impossible(error)) => {
            Attempt::Over(End::Violation(Violation::Session(error)))
        }
        Err(error @ (NotAttached::Closed | NotAttached::AnotherWasFirst)) => failed(&error),
    }
}

/// How the loss of a connection reads.
pub(super) fn in_words(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        "the peer closed the connection".to_owned()
    } else {
        format!("the connection was lost: {error}")
    }
}
