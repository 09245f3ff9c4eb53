//! Incoming connections: each is shaken hands with in a task of its own, within limits of number
//! and time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rmi_gc::NodeId;
use rmi_transport::{Listener, Refusal, Verdict, Wire, shake_as_acceptor};
use tokio::sync::Semaphore;

use super::NodeInner;

/// How long accepting pauses after it failed: mostly for want of descriptors, which others free.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(50);

/// Accepts connections until the node closes; the shutdown waits for the end of it.
pub(super) fn listen(node: &Arc<NodeInner>, mut listener: Box<dyn Listener>) {
    let node = Arc::clone(node);
    let shaking = Arc::new(Semaphore::new(node.limits.handshakes_max));
    let accepting = node.clone();
    let task = node.runtime.clone().spawn(async move {
        let closed = node.closed.clone();
        let accepting = async {
            loop {
                // Never closed, so a permit always comes.
                let permit = Arc::clone(&shaking).acquire_owned().await;
                match listener.accept().await {
                    Ok(wire) => {
                        let node = Arc::clone(&node);
                        tokio::spawn(async move {
                            welcome(&node, wire).await;
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
            () = accepting => {}
            () = closed.wait() => {}
        }
    });
    accepting.listeners.lock().push(task);
}

async fn welcome(node: &Arc<NodeInner>, wire: Box<dyn Wire>) {
    static TOKEN: AtomicU64 = AtomicU64::new(1);
    let token = TOKEN.fetch_add(1, Ordering::Relaxed);
    let mut greeted = None;
    let decide = |peer: &rmi_transport::Hello| {
        if node.is_closing() {
            return Verdict::Refuse(Refusal::ShuttingDown);
        }
        if node.sessions.count() >= node.limits.sessions_max {
            return Verdict::Refuse(Refusal::Full);
        }
        greeted = Some(NodeId(peer.incarnation));
        node.sessions.greeted(node, NodeId(peer.incarnation), token)
    };
    let limit = node.limits.handshake_time_max;
    match shake_as_acceptor(&*wire, node.hello(), decide, limit).await {
        Ok((hello, received)) => {
            if node.sessions.confirmed(NodeId(hello.incarnation), token) {
                node.sessions.begin(node, wire, &hello, received);
            }
        }
        Err(error) => {
            tracing::debug!(peer = %wire.peer(), %error, "no session");
            if let Some(peer) = greeted {
                node.sessions.abandoned(peer, token);
            }
        }
    }
}
