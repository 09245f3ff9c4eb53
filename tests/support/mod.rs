//! What whole-system tests share: nodes, objects that tell when they are dropped, and waiting for
//! conditions instead of for time.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses its part")]

pub mod attacker;
pub mod proxy;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rmi::{Builder, Node, RemoteRef};

/// No test waits longer than this for what must come.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Looks again and again whether `condition` holds; false if it never comes to.
async fn comes(mut condition: impl FnMut() -> bool) -> bool {
    let waiting = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.is_ok()
}

/// Waits until `condition` holds; the message says what was waited for.
pub async fn until(what: &str, condition: impl FnMut() -> bool) {
    assert!(comes(condition).await, "never came: {what}");
}

/// Lets real time pass in which nothing must happen: for processes that are stopped meanwhile.
pub fn let_pass(time: Duration) {
    std::thread::sleep(time);
}

/// Waits until no node shares anything any more, waits for an answer or runs a handler; shows what
/// is left if it never happens.
pub async fn until_empty(nodes: &[&Node]) {
    let is_empty = |node: &&Node| {
        let stats = node.stats();
        node.gc().snapshot().is_empty() && (stats.calls_waiting, stats.handlers_running) == (0, 0)
    };
    if !comes(|| nodes.iter().all(is_empty)).await {
        let left = nodes.iter().map(|node| format!("{}\n{:?}", node.gc().snapshot(), node.stats()));
        panic!("still there:\n{}", left.collect::<Vec<_>>().join("\n"));
    }
    locks_were_in_order();
}

/// No lock was taken out of its order, and no user code ran under one: the panic that says so may
/// have been in a task.
pub fn locks_were_in_order() {
    assert_eq!(rmi_transport::sync::rank::complaints(), 0, "some thread panicked over a lock");
}

/// A runtime on one worker thread of its own.
pub fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(1).enable_all().build().expect("a runtime starts")
}

/// A node that listens on loopback.
pub async fn listening() -> Node {
    Node::builder().listen("tcp://127.0.0.1:0").start().await.expect("loopback can be listened at")
}

/// A node that gives peers up soon after their connection was lost, and keeps what they held for
/// hardly longer than it has to.
pub fn impatient() -> Builder {
    Node::builder()
        .heartbeat(Duration::from_millis(300))
        .detection(Duration::from_secs(1))
        .lease(Duration::from_millis(50))
        .depth_max(2)
        .grace(Duration::from_secs(2))
}

/// A node that only dials.
pub async fn dialling() -> Node {
    Node::builder().start().await.expect("a node without a listener starts")
}

/// Looks up what `home` has bound as `name`.
pub async fn lookup<R: RemoteRef>(from: &Node, home: &Node, name: &str) -> R {
    let endpoint = home.endpoint().expect("the home listens");
    from.lookup(format!("{endpoint}/{name}")).await.expect("the name is bound")
}

/// Counts drops of the objects that carry one of its [`Token`]s.
#[derive(Clone, Default)]
pub struct Drops(Arc<AtomicUsize>);

impl Drops {
    /// To be a field of the object whose drop counts.
    pub fn token(&self) -> Token {
        Token(Arc::clone(&self.0))
    }

    /// How many objects were dropped.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// Waits until `count` objects were dropped.
    pub async fn reach(&self, count: usize) {
        until(&format!("{count} drops"), || self.count() >= count).await;
        assert_eq!(self.count(), count, "dropped more than once");
    }
}

/// Counts when it is dropped.
pub struct Token(Arc<AtomicUsize>);

impl Drop for Token {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}
