//! What goes wrong, and who may lose what by it.

use std::collections::BTreeSet;
use std::sync::Arc;

use rmi_gc::{Collector, Effects, Millis, NodeId, ObjectId};

use super::{Action, Link, World, pair};

impl World {
    pub(super) fn trouble(&mut self, action: &Action) -> Effects {
        match action {
            Action::GiveUp { by, peer } => self.give_up(*by, *peer),
            Action::Notice { node, peer } => {
                *self.link_mut(*peer, *node) = Link::default();
                self.closed.insert(pair(*node, *peer));
                self.forget(*node, *peer)
            }
            Action::Open { one, other } => {
                self.closed.remove(&pair(*one, *other));
                self.both(*one, *other, Collector::session_opened)
            }
            Action::Cut { one, other } => {
                self.cut.insert(pair(*one, *other));
                self.both(*one, *other, Collector::connection_lost)
            }
            Action::Heal { one, other } => {
                self.cut.remove(&pair(*one, *other));
                self.both(*one, *other, Collector::connection_back)
            }
            Action::Crash { node } => {
                self.crash(*node);
                Effects::default()
            }
            Action::Restart { node } => {
                self.restart(*node);
                Effects::default()
            }
            Action::Learn { node, home } => self.node_mut(*node).incarnation_ended(*home),
            Action::Leave { node } => self.node_mut(*node).leave(),
            Action::Oversleep { node } => self.node_mut(*node).slept(),
            Action::Expire { node } => {
                self.excuse_the_cut_off();
                let grace_is_over = Millis(u64::MAX);
                self.node_mut(*node).expire(grace_is_over)
            }
            Action::Send { .. }
            | Action::Draft { .. }
            | Action::Write { .. }
            | Action::RollBack { .. }
            | Action::Deliver { .. }
            | Action::Drop { .. }
            | Action::Flush { .. }
            | Action::Acknowledge { .. }
            | Action::Adopt { .. }
            | Action::Guess { .. } => unreachable!("{action:?} is no trouble"),
        }
    }

    fn both(
        &mut self,
        one: NodeId,
        other: NodeId,
        step: impl Fn(&mut Collector, NodeId) -> Effects,
    ) -> Effects {
        let mut effects = step(self.node_mut(one), other);
        effects.freed.extend(step(self.node_mut(other), one).freed);
        effects
    }

    fn give_up(&mut self, by: NodeId, peer: NodeId) -> Effects {
        self.cut.remove(&pair(by, peer));
        self.link_mut(peer, by).lane.clear();
        if self.is_alive(peer) {
            self.link_mut(by, peer).given_up = true;
        } else {
            *self.link_mut(peer, by) = Link::default();
            self.closed.insert(pair(by, peer));
        }
        self.forget(by, peer)
    }

    fn forget(&mut self, node: NodeId, peer: NodeId) -> Effects {
        let mut effects = self.node_mut(node).peer_gone(peer, Millis(0));
        if let Some((draft, _)) = self.link_mut(node, peer).draft.take() {
            effects.freed.extend(self.node_mut(node).abandon(draft).freed);
        }
        effects
    }

    fn crash(&mut self, node: NodeId) {
        *self.node_mut(node) = Collector::new(node);
        self.dead.insert(node);
        self.excused.retain(|(holder, _)| *holder != node);
        for peer in self.nodes().filter(|peer| *peer != node).collect::<Vec<_>>() {
            if std::mem::take(self.link_mut(peer, node)).given_up {
                self.closed.insert(pair(node, peer));
            }
            self.cut.remove(&pair(node, peer));
            let link = self.link_mut(node, peer);
            link.draft = None;
            if std::mem::take(&mut link.given_up) {
                // The peer will notice that the node is dead all the same.
                link.lane.clear();
            }
        }
    }

    /// The new incarnation knows nothing, and has sessions of its own. It shares as many objects as the old one, under the
    /// same numbers: they are others.
    fn restart(&mut self, node: NodeId) {
        let again = next_incarnation(node);
        self.nodes.push(Arc::new(Collector::with_rules(again, self.rules)));
        let shared = self.objects().iter().filter(|object| object.home == node).count();
        (0..shared).for_each(|_| self.export(again));
    }

    /// Some grace is over: who is cut off from a home may lose what it has of there.
    fn excuse_the_cut_off(&mut self) {
        let homes: BTreeSet<NodeId> = self.objects().iter().map(|object| object.home).collect();
        for home in homes.into_iter().filter(|home| self.is_alive(*home)).collect::<Vec<_>>() {
            let cut_off =
                |node: &NodeId| *node != home && self.is_alive(*node) && !self.is_open(*node, home);
            let cut_off: Vec<_> = self.nodes().filter(cut_off).collect();
            self.excused.extend(cut_off.into_iter().map(|node| (node, home)));
        }
    }

    /// What arrived may have been sent by one who has lost it, perhaps before that one knew.
    pub(super) fn excuse_receiver(&mut self, from: NodeId, to: NodeId, meant: &[ObjectId]) {
        for object in meant {
            let parent = self.node(to).entry(*object).and_then(|entry| entry.parent());
            let below = parent.is_some_and(|parent| parent.peer == from);
            let dangles = below || self.freed.contains(object);
            if dangles && self.excused.contains(&(from, object.home)) {
                self.excused.insert((to, object.home));
            }
        }
    }

    /// Whoever a home counts again has no excuse any more.
    pub(super) fn forgive(&mut self) {
        if self.excused.is_empty() {
            return;
        }
        let excused = std::mem::take(&mut self.excused);
        let still = |(node, home): &(NodeId, NodeId)| {
            let bridges = self.node(*node).snapshot().bridges;
            self.is_alive(*node)
                && bridges.iter().filter(|bridge| bridge.id.home == *home).any(|bridge| {
                    bridge.parent.is_none_or(|parent| parent.peer != *home)
                        || !self.is_open(*node, *home)
                })
        };
        self.excused = excused.into_iter().filter(still).collect();
    }
}

/// The one that stands at the place of `node` when that is restarted.
pub(crate) fn next_incarnation(node: NodeId) -> NodeId {
    NodeId(node.0 + 0x10)
}
