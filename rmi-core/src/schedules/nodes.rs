//! Two whole nodes, with their drivers and keepers, on shuttle's threads.
//!
//! Their tokio runtime never runs a task: each goes to shuttle's executor by way of the node's
//! surroundings. The runtime is there for its clock, which stands still until a test moves it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::BytesMut;
use rmi_transport::sync::explore::wires;
use rmi_transport::{Accepted, Relation, Shaken, Target, Wire};
use shuttle::future::block_on;
use shuttle::thread::yield_now;
use tokio::runtime::{self, Runtime};

use super::fixtures::KEY;
use crate::call::builtin::{LOOKUP, NODE};
use crate::call::{Undo, Way};
use crate::error::Error;
use crate::interface::{Interfaces, Method};
use crate::marshal::Message;
use crate::node::{Node, NodeInner};
use crate::reference::Untyped;
use crate::session::{Beginning, Session, Unsent};
use crate::surroundings::Surroundings;

/// What a wire holds: more than any test sends.
const BYTES_MAX: usize = 1 << 16;
/// How far the clock moves while a test waits: longer than releases wait for a frame.
const STEP: Duration = Duration::from_millis(25);
/// A test that waits for longer than this waits for what never comes.
const STEPS_MAX: usize = 2_000;

thread_local! {
    /// One for all schedules of a test, entered for good and never dropped: what a schedule leaves
    /// over may wait for its clock, or begin to.
    static RUNTIME: &'static Runtime = {
        let mut builder = runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().start_paused(true).build();
        let runtime = Box::leak(Box::new(runtime.expect("it has a clock only")));
        std::mem::forget(runtime.enter());
        runtime
    };
}

#[derive(Clone)]
pub(super) struct Nodes {
    runtime: &'static Runtime,
    pub(super) nodes: [Node; 2],
    sessions: [Arc<Session>; 2],
}

/// Runs `test` between two nodes that have a session.
pub(super) fn between_nodes(test: impl FnOnce(&Nodes)) {
    let runtime = RUNTIME.with(|runtime| *runtime);
    let tasks = Arc::new(AtomicUsize::new(0));
    let nodes = [1, 2].map(|seed| start(seed, &tasks));
    let sessions = connect(&nodes);
    let nodes = Nodes { runtime, nodes, sessions };
    test(&nodes);
    nodes.nodes.iter().for_each(|node| node.inner().let_go());
    nodes.until("the last task ends", || tasks.load(Ordering::Relaxed) == 0);
}

/// A node whose tasks are counted.
fn start(seed: u64, tasks: &Arc<AtomicUsize>) -> Node {
    let tasks = Arc::clone(tasks);
    let surroundings = Surroundings::seeded(seed).wrapped(move |task| {
        let tasks = Arc::clone(&tasks);
        tasks.fetch_add(1, Ordering::Relaxed);
        shuttle::future::spawn(async move {
            task.await;
            tasks.fetch_sub(1, Ordering::Relaxed);
        });
        Box::pin(async {})
    });
    // Soon over, in steps of the clock, and yet not so soon that a thread which is kept waiting
    // loses its peer.
    let builder = Node::builder()
        .heartbeat(Duration::from_millis(500))
        .detection(Duration::from_secs(2))
        .lease(Duration::from_secs(1))
        .depth_max(2)
        .grace(Duration::from_secs(6));
    block_on(builder.surroundings(surroundings).start()).expect("it listens nowhere")
}

/// Begins a session, as if hands had been shaken.
fn connect(nodes: &[Node; 2]) -> [Arc<Session>; 2] {
    let [near, far] = wires(BYTES_MAX);
    let [one, other] = nodes;
    let begin = |node: &Node, peer: &Node, wire: Box<dyn Wire>| {
        let shaken = Shaken {
            wire,
            hello: peer.inner().hello(),
            relation: Relation::Unknown,
            accepted: Accepted { session: 5, received: 0, connections: 0 },
            peer_received: 0,
            received: BytesMut::new(),
        };
        let beginning = Beginning { shaken, dialled: None };
        node.inner().sessions.begin(node.inner(), beginning).expect("nobody has one")
    };
    [begin(one, other, near), begin(other, one, far)]
}

impl Nodes {
    pub(super) fn inner(&self, at: usize) -> &Arc<NodeInner> {
        self.nodes[at].inner()
    }

    /// Exports an object, with one reference to it.
    pub(super) fn export(&self, at: usize, object: Interfaces) -> Untyped {
        let node = self.inner(at);
        Untyped::counted(node, node.table.export(object, KEY))
    }

    /// Looks up what the other node has bound.
    pub(super) fn look_up(&self, from: usize, name: &str) -> Result<Untyped, Error> {
        let target = Target::Export(NODE);
        let way = Way { session: Arc::clone(&self.sessions[from]), target, relayed: false };
        let mut message = Message::encode(name)?;
        let call = way.start(self.inner(from), &LOOKUP, None, Undo::Nothing, &mut message);
        crate::call::read(block_on(call.map_err(Unsent::into_error)?)?, &LOOKUP)
    }

    /// Calls `method` of an object that is elsewhere with a reference.
    pub(super) fn call(of: &Untyped, method: &Method, with: &Untyped) -> Result<(), Error> {
        let mut message = Message::encode(with)?;
        let (way, _under_way) = block_on(of.way())?;
        let call = way.start(of.node(), method, None, Undo::Nothing, &mut message);
        of.read(block_on(call.map_err(Unsent::into_error)?)?, method)
    }

    /// Loses the present connection, if there is one.
    pub(super) fn cut(&self, at: usize) {
        self.sessions[at].link.detach(std::io::ErrorKind::TimedOut.into());
    }

    /// Waits until both ends have parked, and gives them another connection; false once one of
    /// them has ended.
    pub(super) fn reconnect(&self) -> bool {
        let [one, other] = &self.sessions;
        let parked = [block_on(one.link.parked()), block_on(other.link.parked())];
        let [Some(one_parked), Some(other_parked)] = parked else { return false };
        let [near, far] = wires(BYTES_MAX);
        for (session, wire, parked, peer) in
            [(one, near, one_parked, other_parked), (other, far, other_parked, one_parked)]
        {
            // It may have been closed meanwhile.
            let _ = session.link.attach(wire, BytesMut::new(), parked.epoch, peer.received);
        }
        true
    }

    pub(super) fn is_down(&self, at: usize) -> bool {
        self.inner(at).is_down()
    }

    /// Gives the peer of this node up, as if the lease were over.
    pub(super) fn give_up(&self, at: usize) {
        let reason = crate::ErrorKind::Disconnected.into();
        self.inner(at).sessions.give_up(self.inner(at), &self.sessions[at], reason);
    }

    /// Lets time pass until `condition` holds.
    pub(super) fn until(&self, what: &str, condition: impl Fn() -> bool) {
        for _ in 0..STEPS_MAX {
            // The more often, the more time the others have before the clock moves.
            for _ in 0..8 {
                if condition() {
                    return;
                }
                yield_now();
            }
            self.runtime.block_on(tokio::time::advance(STEP));
        }
        let left = self.nodes.each_ref().map(|node| node.gc().snapshot());
        panic!("never came: {what}\n{}\n{}", left[0], left[1]);
    }

    /// Waits until neither shares anything any more.
    pub(super) fn until_empty(&self) {
        let is_empty = |node: &Node| node.gc().snapshot().is_empty();
        self.until("nothing is shared", || self.nodes.iter().all(is_empty));
    }
}
