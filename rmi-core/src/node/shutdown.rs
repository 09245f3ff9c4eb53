//! The end of a node: calls in progress finish, peers are told, everything is let go.

use std::sync::Arc;
use std::time::Duration;

use rmi_gc::Millis;
use rmi_transport::sync::{AtomicBool, Notify, Ordering};
use rmi_transport::{Body, Goodbye};
use tokio::time::timeout;

use super::NodeInner;
use crate::error::{Error, ErrorKind};
use crate::marshal::Message;
use crate::reaper;

/// How long a shutdown waits for calls in progress, and then for the last bytes to leave.
const CALLS_TIME_MAX: Duration = Duration::from_secs(10);
/// How long it waits for children to be adopted.
const ADOPTIONS_TIME_MAX: Duration = Duration::from_secs(2);
const BYTES_TIME_MAX: Duration = Duration::from_secs(1);
/// How often it looks.
const LOOK_AFTER: Duration = Duration::from_millis(2);

/// A flag that can be waited for.
#[derive(Clone, Default)]
pub(crate) struct Closed(Arc<(AtomicBool, Notify)>);

impl Closed {
    /// True for the first who sets it.
    fn set(&self) -> bool {
        let first = !self.0.0.swap(true, Ordering::AcqRel);
        self.0.1.notify_waiters();
        first
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.0.load(Ordering::Acquire)
    }

    pub(super) async fn wait(&self) {
        loop {
            let told = self.0.1.notified();
            if self.is_set() {
                return;
            }
            told.await;
        }
    }
}

/// Whatever ends a shutdown before its end, that of the runtime included, lets go all the same.
pub(super) struct LetGo(pub(super) Arc<NodeInner>);

impl Drop for LetGo {
    fn drop(&mut self) {
        self.0.let_go();
    }
}

impl NodeInner {
    /// Ends the node, once; a second call waits for the first.
    pub(crate) async fn shut_down(self: &Arc<Self>) {
        if !self.closed.set() {
            return self.down.wait().await;
        }
        let let_go = LetGo(Arc::clone(self));
        drop(self.names.clear());
        let listeners = std::mem::take(&mut *self.listeners.lock());
        for listener in listeners {
            // It was told to end; it may have panicked, which is nothing to do about here.
            let _ = listener.await;
        }
        // New calls are turned down from here on; those that run may finish.
        let _ = timeout(CALLS_TIME_MAX, self.quiet()).await;
        self.leave_the_tree().await;
        let sessions = self.sessions.all();
        for session in &sessions {
            let reason = Goodbye::ShuttingDown;
            let goodbye = Body::Goodbye { reason, text: "the node shuts down".to_owned() };
            if session.send(self, goodbye, &mut Message::default()).is_ok() {
                session.flush();
            }
        }
        let _ = timeout(BYTES_TIME_MAX, async {
            while sessions.iter().any(|session| session.has_bytes_to_send()) {
                tokio::time::sleep(LOOK_AFTER).await;
            }
        })
        .await;
        drop(let_go);
    }

    /// The part of a shutdown that waits for nobody.
    pub(crate) fn let_go(self: &Arc<Self>) {
        self.closed.set();
        drop(self.names.clear());
        for session in self.sessions.all() {
            let reason = Error::new(ErrorKind::ShutDown, "this node was shut down");
            self.sessions.give_up(self, &session, reason);
        }
        // Nobody will turn to this node any more: what peers held is kept no longer, nor what a peer
        // held that somebody else is just giving up.
        self.keeper.keep_no_estates();
        reaper::reap(self.table.expire(Millis(u64::MAX), &self.sessions));
        self.down.set();
    }

    /// Children are asked to turn to the homes of their objects, bounded by a time; then what only
    /// handles of this node keep is released (`gc.md`, rule 17).
    async fn leave_the_tree(&self) {
        if self.table.has_children_elsewhere() {
            self.table.leaving(&self.sessions);
            let _ = timeout(ADOPTIONS_TIME_MAX, async {
                while self.table.has_children_elsewhere() {
                    tokio::time::sleep(LOOK_AFTER).await;
                }
            })
            .await;
        }
        self.table.let_go_of_own_handles(&self.sessions);
        for session in self.sessions.all() {
            while session.owes_releases() && session.send_control(self) {}
        }
    }

    /// Waits until no call is in progress, in or out.
    async fn quiet(&self) {
        let busy = || {
            self.sessions.all().iter().any(|session| {
                let calls = session.incoming.running() + session.held() + session.pending.len();
                session.is_open() && calls > 0
            })
        };
        while busy() {
            tokio::time::sleep(LOOK_AFTER).await;
        }
    }
}
