//! Incoming connections: each is shaken hands with in a task of its own, within limits of number
//! and time.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rmi_gc::NodeId;
use rmi_transport::{
    Accepted, Listener, NotAttached, Refusal, Relation, Shaken, Verdict, Wire, greet,
};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::NodeInner;
use crate::error::{Error, ErrorKind};
use crate::session::{Beginning, Session};

/// How long accepting pauses after it failed: mostly for want of descriptors, which others free.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(50);

/// Accepts connections until the node closes; the shutdown waits for the end of it.
pub(super) fn listen(node: &Arc<NodeInner>, mut listener: Box<dyn Listener>) {
    let node = Arc::clone(node);
    let shaking = Arc::new(Semaphore::new(node.limits.handshakes_max));
    let accepting = node.clone();
    let task = accepting.spawn(async move {
        let closed = node.closed.clone();
        let accepting = async {
            loop {
                // Never closed, so a permit always comes.
                let permit = Arc::clone(&shaking).acquire_owned().await;
                match listener.accept().await {
                    Ok(wire) => {
                        let welcoming = Arc::clone(&node);
                        node.spawn(async move {
                            welcome(&welcoming, wire).await;
                            drop(permit);
                        });
                    }
                    Err(error) => {
                        tracing::warn!(endpoint = %listener.endpoint(), %error, "cannot accept");
                        tokio::time::sleep(PAUSE_AFTER_FAILURE).await;
                    }
                }
            }
        };
        tokio::select! {
            biased;
            () = closed.wait() => {}
            () = accepting => {}
        }
    });
    accepting.listeners.lock().push(task);
}

async fn welcome(node: &Arc<NodeInner>, wire: Box<dyn Wire>) {
    static TOKEN: AtomicU64 = AtomicU64::new(1);
    let token = TOKEN.fetch_add(1, Ordering::Relaxed);
    let from = wire.peer();
    let greeting = match greet(wire, node.hello(), node.limits.handshake_time_max).await {
        Ok(greeting) => greeting,
        Err(error) => return tracing::debug!(peer = %from, %error, "no session"),
    };
    let peer = NodeId(greeting.hello().incarnation);
    let admission = match admit(node, peer, greeting.relation(), token).await {
        Ok(admission) => admission,
        Err(reason) => {
            let error = greeting.refuse(reason);
            return tracing::debug!(peer = %from, %error, "no session");
        }
    };
    let accepted = match &admission {
        Admission::New { session } => {
            node.sessions.offer(node, peer, *session);
            Accepted { session: *session, received: 0, connections: 0 }
        }
        Admission::Resumed { session, epoch, received } => {
            Accepted { session: session.key, received: *received, connections: *epoch }
        }
    };
    match greeting.welcome(accepted).await {
        Ok(shaken) => connected(node, peer, admission, token, shaken),
        Err(error) => {
            tracing::debug!(peer = %from, %error, "no session");
            node.sessions.abandoned(peer, token);
        }
    }
}

/// What a connection is for.
enum Admission {
    /// A session that begins, under this number.
    New { session: u64 },
    /// A session that lacks one, and that has taken so many frames over its former ones.
    Resumed { session: Arc<Session>, epoch: u64, received: u64 },
}

/// Whether a dialler may have this connection. The rendezvous waits for its go.
async fn admit(
    node: &Arc<NodeInner>,
    peer: NodeId,
    relation: Relation,
    token: u64,
) -> Result<Admission, Refusal> {
    if node.is_closing() {
        return Err(Refusal::ShuttingDown);
    }
    let known = node.sessions.open(peer);
    let new = Admission::New { session: node.random() };
    let admission = match (relation, known) {
        (Relation::Resume { session: key, connections, .. }, Some(session))
            if session.key == key =>
        {
            let parked = parked(node, &session, connections).await?;
            Admission::Resumed { session, epoch: parked.epoch, received: parked.received }
        }
        // It has gone, and its word was lost with the connection: nothing ever came of it here.
        (Relation::Resume { session, .. }, None)
            if node.sessions.has_offered(node, peer, session) =>
        {
            Admission::New { session }
        }
        (Relation::Resume { .. }, _) => return Err(Refusal::NoSuchSession),
        (Relation::Unknown | Relation::Fresh { .. }, Some(session))
            if session.link.is_attached() =>
        {
            // It may have lost that connection: a frame of ours will show.
            session.send_control(node);
            return Err(Refusal::AlreadyConnected);
        }
        // The new one replaces it once the dialler goes: if it has that session after all, it does
        // not.
        (Relation::Unknown | Relation::Fresh { .. }, Some(_)) => new,
        (Relation::Unknown | Relation::Fresh { .. }, None) => {
            if node.sessions.count() >= node.limits.sessions_max {
                return Err(Refusal::Full);
            }
            new
        }
    };
    match node.sessions.greeted(peer, token) {
        Verdict::Proceed => Ok(admission),
        Verdict::Refuse(reason) => Err(reason),
    }
}

/// Waits until the session takes nothing more from the connection that its peer has given up.
async fn parked(
    node: &NodeInner,
    session: &Session,
    connections: u64,
) -> Result<rmi_transport::Parked, Refusal> {
    if session.link.is_attached() {
        if !session.is_newer(connections) {
            // This hello was long under way: the connection that we have came after it.
            return Err(Refusal::AlreadyConnected);
        }
        let text = "the peer has made another connection";
        session.link.detach(io::Error::new(io::ErrorKind::ConnectionReset, text));
    }
    match timeout(node.limits.handshake_time_max, session.link.parked()).await {
        Ok(Some(parked)) => Ok(parked),
        Ok(None) => Err(Refusal::NoSuchSession),
        Err(_) => Err(Refusal::AlreadyConnected),
    }
}

/// The dialler goes.
fn connected(
    node: &Arc<NodeInner>,
    peer: NodeId,
    admission: Admission,
    token: u64,
    shaken: Shaken,
) {
    // If another connection was first, this one is dropped.
    let Some(opening) = node.sessions.confirmed(peer, token) else { return };
    match admission {
        Admission::New { .. } => {
            let relation = shaken.relation;
            let beginning = Beginning { shaken, dialled: None };
            match node.sessions.begin(node, beginning) {
                Ok(session) => {
                    if let Relation::Resume { connections, .. } = relation {
                        session.made_by(connections);
                    }
                    opening.opened();
                }
                Err(error) => tracing::warn!(%peer, %error, "no session"),
            }
        }
        Admission::Resumed { session, epoch, .. } => {
            let Shaken { wire, received, peer_received, relation, .. } = shaken;
            if let Relation::Resume { connections, .. } = relation {
                session.made_by(connections);
            }
            match session.link.attach(wire, received, epoch, peer_received) {
                Ok(()) => opening.opened(),
                Err(NotAttached::Impossible(error)) => {
                    tracing::warn!(%peer, %error, "the peer broke the protocol");
                    let error = Error::new(ErrorKind::Protocol, error.to_string());
                    node.sessions.give_up(node, &session, error);
                }
                Err(error @ (NotAttached::Closed | NotAttached::AnotherWasFirst)) => {
                    tracing::debug!(%peer, %error, "not resumed");
                }
            }
        }
    }
}
