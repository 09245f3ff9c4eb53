//! The sessions of a node: at most one for each incarnation of a peer.

use std::collections::BTreeMap;
use std::sync::Arc;

use rmi_gc::{Millis, NodeId};
use rmi_transport::sync::{Mutex, Notify, Ordering, rank};
use rmi_transport::{Refusal, Rendezvous, Verdict};
use tokio::time::Instant;

use super::errands::Wanted;
use super::{Beginning, Session, drive};
use crate::error::{Error, ErrorKind};
use crate::map::Map;
use crate::monitor::Holder;
use crate::node::NodeInner;
use crate::reaper;
use crate::surroundings::Surroundings;

pub(crate) struct Sessions {
    rendezvous: Mutex<Rendezvous>,
    /// Those that have not been given up, with a connection or without.
    by_peer: Map<NodeId, Arc<Session>, rank::Sessions>,
    /// Sessions that peers were offered, whose word to begin has not come: it may be lost with its
    /// connection, and then the peer resumes what never began here.
    offered: Mutex<BTreeMap<NodeId, Offer>>,
    /// Held while a peer is given up, so that no new session with it begins halfway: what that one
    /// counts would be taken for the old one's. Taken before all locks of the table.
    turnover: Mutex<(), rank::Turnover>,
    /// Told when a session begins or ends.
    changed: Notify,
    /// What entries of the table ask the node for.
    pub(crate) wanted: Wanted,
}

impl Sessions {
    pub(crate) fn new(own: NodeId, surroundings: &Surroundings) -> Self {
        Self {
            rendezvous: Mutex::new(Rendezvous::new(own.0)),
            by_peer: surroundings.map(),
            offered: Mutex::default(),
            turnover: Mutex::default(),
            changed: Notify::new(),
            wanted: Wanted::default(),
        }
    }

    /// The session with `peer`, connected or not.
    pub(crate) fn open(&self, peer: NodeId) -> Option<Arc<Session>> {
        let session = self.by_peer.get(&peer)?;
        session.is_open().then(|| Arc::clone(&session))
    }

    /// Looks at the session with `peer`, also at one that is just being given up.
    pub(super) fn with<R>(&self, peer: NodeId, look: impl FnOnce(&Session) -> R) -> Option<R> {
        self.by_peer.get(&peer).map(|session| look(&session))
    }

    pub(crate) fn all(&self) -> Vec<Arc<Session>> {
        self.by_peer.iter().map(|session| Arc::clone(&session)).collect()
    }

    /// Those that have not been given up.
    pub(crate) fn count(&self) -> usize {
        self.by_peer.len()
    }

    /// Waits until there is an open session with `peer`.
    pub(crate) async fn wait_for(&self, peer: NodeId) -> Arc<Session> {
        loop {
            let changed = self.changed.notified();
            if let Some(session) = self.open(peer) {
                return session;
            }
            changed.await;
        }
    }

    /// As acceptor: may `peer` have a session by this connection?
    pub(crate) fn greeted(&self, peer: NodeId, token: u64) -> Verdict {
        self.rendezvous.lock().greeted(peer.0, token)
    }

    /// As dialler: does the session go by this connection?
    pub(crate) fn welcomed(&self, peer: NodeId) -> Result<Opening<'_>, Refusal> {
        match self.rendezvous.lock().welcomed(peer.0) {
            Verdict::Proceed => Ok(Opening { sessions: self, peer, opened: false }),
            Verdict::Refuse(reason) => Err(reason),
        }
    }

    /// As acceptor: the peer is told that a new session goes under this number.
    pub(crate) fn offer(&self, node: &NodeInner, peer: NodeId, session: u64) {
        let (now, kept) = (Instant::now(), node.timings.detection + node.timings.lease);
        let mut offered = self.offered.lock();
        offered.retain(|_, offer| now.duration_since(offer.at) < kept);
        if offered.len() < node.limits.sessions_max {
            offered.insert(peer, Offer { session, at: now });
        }
    }

    /// Whether the peer may begin the session of this number, though it says that it resumes it.
    pub(crate) fn has_offered(&self, node: &NodeInner, peer: NodeId, session: u64) -> bool {
        let kept = node.timings.detection + node.timings.lease;
        let offered = self.offered.lock();
        offered
            .get(&peer)
            .is_some_and(|offer| offer.session == session && offer.at.elapsed() < kept)
    }

    /// As acceptor: the hand-shake came to nothing.
    pub(crate) fn abandoned(&self, peer: NodeId, token: u64) {
        self.rendezvous.lock().abandoned(peer.0, token);
    }

    /// As acceptor: the peer confirmed. Refused if another connection was first.
    pub(crate) fn confirmed(&self, peer: NodeId, token: u64) -> Option<Opening<'_>> {
        let opens = self.rendezvous.lock().confirmed(peer.0, token);
        opens.then_some(Opening { sessions: self, peer, opened: false })
    }

    /// The connection of a session is lost: another one may be made.
    pub(super) fn connection_lost(&self, peer: NodeId) {
        self.rendezvous.lock().closed(peer.0);
    }

    /// Begins the session that the rendezvous has admitted. One with the same peer that the peer
    /// has given up is given up here, too.
    pub(crate) fn begin(
        &self,
        node: &Arc<NodeInner>,
        beginning: Beginning,
    ) -> Result<Arc<Session>, Error> {
        let session = Session::new(beginning, node.limits.bytes_buffered_max)
            .map_err(|error| Error::new(ErrorKind::Protocol, error.to_string()))?;
        let session = Arc::new(session);
        self.offered.lock().remove(&session.peer);
        let before = self.by_peer.get(&session.peer).map(|before| Arc::clone(&before));
        if let Some(before) = before {
            let text = "the peer has begun another session";
            self.leave(node, &before, Error::new(ErrorKind::Disconnected, text));
        }
        {
            let _turnover = self.turnover.lock();
            self.by_peer.insert(session.peer, Arc::clone(&session));
        }
        tracing::info!(peer = %session.peer_name, "session begun");
        node.spawn(drive(Arc::clone(node), Arc::clone(&session)));
        if node.is_closing() {
            // It was on its way when the node began to shut down, which may not have seen it.
            self.give_up(
                node,
                &session,
                Error::new(ErrorKind::ShutDown, "the node is shutting down"),
            );
        }
        self.changed.notify_waiters();
        Ok(session)
    }

    /// Gives the peer up, for `reason`: calls in progress fail, what it held becomes its estate,
    /// what came from it is in doubt.
    pub(crate) fn give_up(&self, node: &Arc<NodeInner>, session: &Arc<Session>, reason: Error) {
        session.end(reason);
        if !session.settled.swap(true, Ordering::AcqRel) {
            self.rendezvous.lock().closed(session.peer.0);
        }
        self.settle(node, session);
    }

    /// The same, where another connection with that peer is open already.
    fn leave(&self, node: &Arc<NodeInner>, session: &Arc<Session>, reason: Error) {
        session.end(reason);
        session.settled.store(true, Ordering::Release);
        self.settle(node, session);
    }

    fn settle(&self, node: &Arc<NodeInner>, session: &Arc<Session>) {
        let same = |_: &NodeId, known: &Arc<Session>| Arc::ptr_eq(known, session);
        let mut freed = {
            // Whoever comes second waits until the first is through.
            let _turnover = self.turnover.lock();
            match self.by_peer.remove_if(&session.peer, same) {
                Some(_) => {
                    node.stats.absorb(&session.stats);
                    let deadline = node.keeper.estate_until();
                    node.table.session_given_up(session.peer, deadline, self)
                }
                None => return,
            }
        };
        // Looked at behind the estate's beginning, so that the end of the node either finds it or is
        // seen here.
        if !node.keeper.keeps_estates() {
            freed.extend(node.table.expire(Millis(u64::MAX), self));
        }
        for object in node.table.objects() {
            object.monitor.holder_gone(Holder::Session(session.serial));
        }
        session.relayed_holds.leave_all(node);
        self.changed.notify_waiters();
        tracing::info!(peer = %session.peer_name, "session ended");
        reaper::reap(freed);
    }
}

/// What a hand-shake may have told the peer.
struct Offer {
    session: u64,
    at: Instant,
}

/// The rendezvous has opened this connection; unless something comes of it, it is closed again.
#[must_use = "the connection is open for the rendezvous as long as this lives"]
pub(crate) struct Opening<'a> {
    sessions: &'a Sessions,
    peer: NodeId,
    opened: bool,
}

impl Opening<'_> {
    /// The connection is a session's: from now on its end closes it.
    pub(crate) fn opened(mut self) {
        self.opened = true;
    }
}

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        if !self.opened {
            self.sessions.connection_lost(self.peer);
        }
    }
}
