//! The sessions of a node: at most one for each incarnation of a peer.

use std::sync::Arc;

use bytes::BytesMut;
use dashmap::DashMap;
use parking_lot::Mutex;
use rmi_gc::{NodeId, Release};
use rmi_transport::{Hello, Refusal, Rendezvous, Verdict, Wire};
use tokio::sync::Notify;

use super::{Session, drive};
use crate::error::{Error, ErrorKind};
use crate::monitor::Holder;
use crate::node::NodeInner;
use crate::reaper;

pub(crate) struct Sessions {
    rendezvous: Mutex<Rendezvous>,
    /// Open ones, and ended ones whose peer has not been given up yet.
    by_peer: DashMap<NodeId, Arc<Session>, ahash::RandomState>,
    /// Held while a peer is given up, so that no new session with it begins halfway: what that one
    /// counts would be taken for the old one's. Taken before all locks of the table.
    turnover: Mutex<()>,
    /// Told when a session begins or ends.
    changed: Notify,
}

impl Sessions {
    pub(crate) fn new(own: NodeId) -> Self {
        Self {
            rendezvous: Mutex::new(Rendezvous::new(own.0)),
            by_peer: DashMap::default(),
            turnover: Mutex::default(),
            changed: Notify::new(),
        }
    }

    /// The session with `peer`, if it is open.
    pub(crate) fn open(&self, peer: NodeId) -> Option<Arc<Session>> {
        let session = self.by_peer.get(&peer)?;
        session.is_open().then(|| Arc::clone(&session))
    }

    /// A release is owed. Called under the lock of the entry that owes it; if the session by
    /// which the references came is gone, so is the debt.
    pub(crate) fn owe(&self, release: Release) {
        if let Some(session) = self.by_peer.get(&release.to) {
            session.owe(release.index, release.count);
        }
    }

    pub(crate) fn all(&self) -> Vec<Arc<Session>> {
        self.by_peer.iter().map(|session| Arc::clone(&session)).collect()
    }

    /// Open ones, and those whose peer has not been given up.
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

    /// As acceptor: may `peer` have a session by this connection? If it dials though there is
    /// one, it may have lost that: a frame of ours will show.
    pub(crate) fn greeted(&self, node: &NodeInner, peer: NodeId, token: u64) -> Verdict {
        let verdict = self.rendezvous.lock().greeted(peer.0, token);
        if verdict == Verdict::Refuse(Refusal::AlreadyConnected) {
            if let Some(session) = self.open(peer) {
                session.send_control(node);
            }
        }
        verdict
    }

    /// As dialler: does the session go by this connection?
    pub(crate) fn welcomed(&self, peer: NodeId) -> Verdict {
        self.rendezvous.lock().welcomed(peer.0)
    }

    /// As acceptor: the hand-shake came to nothing.
    pub(crate) fn abandoned(&self, peer: NodeId, token: u64) {
        self.rendezvous.lock().abandoned(peer.0, token);
    }

    /// As dialler: the session was open for the rendezvous, but its hand-shake failed.
    pub(crate) fn never_began(&self, peer: NodeId) {
        self.rendezvous.lock().closed(peer.0);
    }

    /// As acceptor: the peer confirmed. False if another connection was first.
    pub(crate) fn confirmed(&self, peer: NodeId, token: u64) -> bool {
        self.rendezvous.lock().confirmed(peer.0, token)
    }

    /// Begins the session that the rendezvous has admitted.
    pub(crate) fn begin(
        &self,
        node: &Arc<NodeInner>,
        wire: Box<dyn Wire>,
        hello: &Hello,
        received: BytesMut,
    ) -> Arc<Session> {
        let session = Arc::new(Session::new(wire, hello, received, node.limits.bytes_buffered_max));
        let before = self.by_peer.get(&session.peer).map(|before| Arc::clone(&before));
        if let Some(before) = before {
            self.give_up(node, &before);
        }
        {
            let _turnover = self.turnover.lock();
            self.by_peer.insert(session.peer, Arc::clone(&session));
        }
        tracing::info!(peer = %session.peer_name, "session begun");
        node.runtime.spawn(drive(Arc::clone(node), Arc::clone(&session)));
        if node.is_closing() {
            // It was on its way when the node began to shut down, which may not have seen it.
            session.end(Error::new(ErrorKind::ShutDown, "the node is shutting down"));
            self.give_up(node, &session);
        }
        self.changed.notify_waiters();
        session
    }

    /// The session has ended: another one may begin, and monitors that the peer held are free.
    pub(crate) fn ended(&self, node: &Arc<NodeInner>, session: &Arc<Session>) {
        if session.closed_rendezvous.swap(true, std::sync::atomic::Ordering::AcqRel) {
            return;
        }
        for object in node.table.objects() {
            object.monitor.holder_gone(Holder::Session(session.serial));
        }
        session.relayed_holds.leave_all(node);
        self.rendezvous.lock().closed(session.peer.0);
        self.changed.notify_waiters();
        tracing::info!(peer = %session.peer_name, "session ended");
    }

    /// Gives the peer up: what it held is released, what came from it is in doubt.
    pub(crate) fn give_up(&self, node: &Arc<NodeInner>, session: &Arc<Session>) {
        session.end(ErrorKind::Disconnected.into());
        self.ended(node, session);
        session.given_up_early.notify_one();
        let same = |_: &NodeId, known: &Arc<Session>| Arc::ptr_eq(known, session);
        let freed = {
            // Whoever comes second waits until the first is through.
            let _turnover = self.turnover.lock();
            match self.by_peer.remove_if(&session.peer, same) {
                Some(_) => node.table.peer_gone(session.peer, |release| self.owe(release)),
                None => Vec::new(),
            }
        };
        reaper::reap(freed);
    }
}
