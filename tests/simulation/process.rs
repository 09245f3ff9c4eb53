//! One process of a world: a node, what it holds, and how it ends.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rmi::__private::Surroundings;
use rmi::Node;
use tokio::task::JoinHandle;

use crate::gate::Gate;
use crate::interface::{Grasping, HandsRef, Kept, Slot, Store};
use crate::network::{Network, Place};
use crate::oracle::{Life, Oracle};
use crate::plan::Plan;

/// A process that runs, or stands still.
pub(crate) struct Process {
    pub(crate) life: Life,
    pub(crate) gate: Arc<Gate>,
    pub(crate) slot: Slot,
    pub(crate) store: Store,
    oracle: Arc<Oracle>,
}

impl Process {
    pub(crate) async fn start(
        plan: &Plan,
        network: &Network,
        oracle: &Arc<Oracle>,
        life: Life,
        seed: u64,
    ) -> Process {
        let gate = Arc::new(Gate::default());
        let wrapper = Arc::clone(&gate);
        let surroundings = Surroundings::seeded(seed).wrapped(move |task| wrapper.wrap(task));
        let skew = |time: Duration| time.mul_f64(plan.skew(life.place));
        let mut builder = Node::builder()
            .listen(format!("sim://{}", life.place))
            .transport(network.at(life.place))
            .surroundings(surroundings)
            .policy(plan.policy)
            .bridges(plan.bridges)
            .heartbeat(skew(plan.heartbeat))
            .detection(skew(plan.detection))
            .lease(skew(plan.lease))
            .depth_max(plan.depth_max);
        builder = builder.grace(skew(plan.grace));
        let node = builder.start().await.expect("the timings keep rule 16");
        oracle.begins(life);
        oracle.trace.note(format_args!("{life} starts as {}", node.id()));
        let (slot, store) = (Arc::new(Mutex::new(Some(node.clone()))), Store::default());
        let process =
            Process { life, gate, slot: Arc::clone(&slot), store, oracle: Arc::clone(oracle) };
        let (store, oracle) = (Arc::clone(&process.store), Arc::clone(oracle));
        let hands: HandsRef = node.export(Grasping { life, node: slot, store, oracle });
        node.bind("hands", &hands).expect("a good name");
        process
    }

    pub(crate) fn place(&self) -> Place {
        self.life.place
    }

    pub(crate) fn node(&self) -> Node {
        self.slot.lock().clone().expect("it has not ended")
    }

    /// A task of this process: it stands still and ends with it.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        tokio::spawn(self.gate.wrap(Box::pin(task)))
    }

    pub(crate) fn held(&self) -> Vec<Arc<Kept>> {
        self.store.lock().clone()
    }

    /// kill -9, or the machine is gone and nobody is told.
    pub(crate) fn kill(&self, network: &Network, is_lost: bool) {
        self.oracle.ends(self.life);
        let how = if is_lost { "without a trace" } else { "and its connections end" };
        self.oracle.trace.note(format_args!("{} crashes, {how}", self.life));
        if is_lost {
            network.lose(self.place());
        } else {
            network.close(self.place());
        }
        self.gate.kill();
        let_go(&self.slot, &self.store);
    }

    /// The process ends in order, holding what it holds.
    pub(crate) async fn leave(&self) {
        self.oracle.trace.note(format_args!("{} leaves", self.life));
        let node = self.node();
        self.oracle.ends(self.life);
        node.shutdown().await;
        drop(node);
        let_go(&self.slot, &self.store);
        self.oracle.trace.note(format_args!("{} has left", self.life));
    }
}

/// The memory of a process is gone.
fn let_go(slot: &Slot, store: &Store) {
    let (node, held) = (slot.lock().take(), std::mem::take(&mut *store.lock()));
    drop(held);
    drop(node);
}
