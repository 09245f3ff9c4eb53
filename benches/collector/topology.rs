//! Which nodes there are, and who hands what to whom.

use std::time::Duration;

use rmi::gc::{BridgeInit, Policy};
use rmi::{Node, Result, Stats};

use crate::interface::{Cup, Grasping, Hands, HandsRef, ThingRef};

/// A shape in which a reference is handed off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Topology {
    /// The home gives its object to one node.
    TwoNodes,
    /// A holder gives an object of a third node to one that does not know it.
    ThreeNodes,
    /// The same, and the receiver calls it.
    ThreeNodesCalled,
    /// The home gives one object to 64 nodes.
    FanOut,
    /// Four nodes after the home hand it on, and the last one calls it.
    Chain,
}

impl Topology {
    pub(crate) const ALL: [Topology; 5] = [
        Topology::TwoNodes,
        Topology::ThreeNodes,
        Topology::ThreeNodesCalled,
        Topology::FanOut,
        Topology::Chain,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Topology::TwoNodes => "two nodes",
            Topology::ThreeNodes => "three nodes",
            Topology::ThreeNodesCalled => "three nodes, called",
            Topology::FanOut => "fan-out to 64",
            Topology::Chain => "chain of depth 4",
        }
    }

    fn holders(self) -> usize {
        match self {
            Topology::TwoNodes => 1,
            Topology::ThreeNodes | Topology::ThreeNodesCalled => 2,
            Topology::FanOut => 64,
            Topology::Chain => 4,
        }
    }

    /// Hand-offs in one operation.
    pub(crate) fn handoffs(self) -> usize {
        self.holders()
    }
}

/// A home and its holders, all in this process, connected by TCP.
pub(crate) struct Cluster {
    topology: Topology,
    home: Node,
    holders: Vec<Node>,
    /// The holders' hands, as the home has them.
    hands: Vec<HandsRef>,
}

impl Cluster {
    pub(crate) async fn start(
        topology: Topology,
        policy: Policy,
        bridges: BridgeInit,
    ) -> Result<Self> {
        let start = || async {
            Node::builder()
                .listen("tcp://127.0.0.1:0")
                .policy(policy)
                .bridges(bridges)
                .start()
                .await
        };
        let home = start().await?;
        let (mut holders, mut hands) = (Vec::new(), Vec::new());
        for _ in 0..topology.holders() {
            let holder = start().await?;
            let own: HandsRef = holder.export(Grasping::default());
            holder.bind("hands", &own)?;
            let endpoint = holder.endpoint().expect("it listens").to_string();
            hands.push(home.lookup(format!("{endpoint}/hands")).await?);
            holders.push(holder);
        }
        Ok(Self { topology, home, holders, hands })
    }

    /// One object is made, handed off as the topology has it, and let go of by everybody.
    pub(crate) async fn operate(&self) -> Result<()> {
        let thing: ThingRef = self.home.export(Cup::default());
        match self.topology {
            Topology::FanOut => {
                for hands in &self.hands {
                    hands.take(thing.clone()).await?;
                }
            }
            Topology::TwoNodes
            | Topology::ThreeNodes
            | Topology::ThreeNodesCalled
            | Topology::Chain => {
                // The first gets it from the home, each of the others from the one before.
                self.hands[0].take(thing.clone()).await?;
                for pair in self.hands.windows(2) {
                    pair[0].pass_on(vec![pair[1].clone()]).await?;
                }
            }
        }
        drop(thing);
        if matches!(self.topology, Topology::ThreeNodesCalled | Topology::Chain) {
            self.hands.last().expect("there is a holder").touch().await?;
        }
        for hands in &self.hands {
            hands.let_go().await?;
        }
        Ok(())
    }

    /// Waits until nobody shares anything but the hands, so that all releases have been sent.
    pub(crate) async fn rest(&self) {
        let is_quiet = |node: &Node| {
            let snapshot = node.gc().snapshot();
            let own = |entry: &rmi::gc::EntrySnapshot| entry.id.home == self.home.id();
            !snapshot.bridges.iter().any(own)
                && (node.id() != self.home.id() || snapshot.exports.is_empty())
                && snapshot.owed_releases == 0
        };
        while !self.nodes().all(is_quiet) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// The counters of all nodes.
    pub(crate) fn stats(&self) -> Vec<Stats> {
        self.nodes().map(Node::stats).collect()
    }

    fn nodes(&self) -> impl Iterator<Item = &Node> {
        std::iter::once(&self.home).chain(&self.holders)
    }

    pub(crate) async fn stop(self) {
        drop(self.hands);
        for node in self.holders.iter().chain([&self.home]) {
            node.shutdown().await;
        }
    }
}
