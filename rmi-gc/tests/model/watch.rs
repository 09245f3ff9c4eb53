//! What can be seen of the rules on one step.

use rmi_gc::{
    Collector, Effects, EntrySnapshot, EntryView, Forwarding, Frame, NodeId, Notice, ObjectId,
    Parent, Standing, Waiting, WireReference,
};

use crate::space::pairs;
use crate::witnesses::{Witness, Witnesses};
use crate::world::{Action, Letter, World, next_incarnation};

/// A step that was taken.
pub(crate) struct Step<'a> {
    pub(crate) before: &'a World,
    pub(crate) action: &'a Action,
    pub(crate) effects: &'a Effects,
    pub(crate) after: &'a World,
}

impl Step<'_> {
    /// Tells what it showed.
    pub(crate) fn tell(&self, seen: &Witnesses) {
        for (_, waiting) in &self.effects.waiting {
            match waiting {
                Waiting::GoOn => seen.see(Witness::WentOn, true),
                Waiting::Fail => seen.see(Witness::Failed, true),
            }
        }
        if let Some((from, to, frame, meant)) = self.arriving() {
            self.frame(seen, (from, to), frame);
            for (reference, object) in frame.references.iter().zip(meant) {
                self.reference(seen, (from, to), reference, *object);
            }
        }
        let was_rolled_back = matches!(self.action, Action::RollBack { .. });
        seen.see(Witness::RolledBack, was_rolled_back);
        let leaves = matches!(self.action, Action::Leave { .. });
        seen.see(Witness::Left, leaves && notices_owed(self.after));
        seen.see(Witness::Overslept, matches!(self.action, Action::Oversleep { .. }));
        let changed = |node: &NodeId| {
            self.after.is_alive(*node) && self.after.node(*node) != self.before.node(*node)
        };
        for node in self.before.nodes().filter(changed) {
            self.home(seen, node);
            self.bridges(seen, node);
        }
    }

    /// The frame that arrives.
    fn arriving(&self) -> Option<(NodeId, NodeId, &Frame, &[ObjectId])> {
        let Action::Deliver { from, to } = self.action else { return None };
        match self.before.link(*from, *to).lane.front()? {
            Letter::Frame { frame, meant } => Some((*from, *to, frame, meant)),
            Letter::Acknowledgement(_) | Letter::Guess(_) => None,
        }
    }

    fn frame(&self, seen: &Witnesses, (from, to): (NodeId, NodeId), frame: &Frame) {
        let old = |object: &ObjectId| self.before.node(to).entry(*object);
        for object in &frame.adopted {
            seen.see(Witness::AdoptedTooLate, old(object).is_none());
            let parent = old(object).and_then(|entry| entry.parent());
            seen.see(Witness::AdoptedTwice, parent.is_some_and(|parent| parent.peer == from));
        }
        let denied = |notice: &Notice| matches!(notice, Notice::Gone { .. });
        let thief = self.before.thief == Some(to);
        seen.see(Witness::Denied, thief && frame.notices.iter().any(denied));
        seen.see(Witness::Merged, frame.releases.iter().any(|release| release.count > 1));
        seen.see(Witness::Rode, !frame.releases.is_empty() && !frame.references.is_empty());
        let climbs = self.before.node(to).snapshot().bridges.iter().any(|bridge| {
            let gone = self.after.node(to).entry(bridge.id).is_none();
            gone && bridge.children.contains_key(&from)
        });
        seen.see(Witness::Climbed, climbs && !frame.releases.is_empty());
    }

    fn reference(
        &self,
        seen: &Witnesses,
        (from, to): (NodeId, NodeId),
        reference: &WireReference,
        object: ObjectId,
    ) {
        let old = self.before.node(to).entry(object);
        let parent = old.and_then(|entry| entry.parent()).map(|parent| parent.peer);
        let home = object.home;
        match reference {
            WireReference::Yours { .. } => {
                seen.see(Witness::CameHome, to == home);
                seen.see(Witness::CameBack, to != home);
                return;
            }
            WireReference::YoursByKey { .. } => {
                seen.see(Witness::CameHomeByKey, true);
                return;
            }
            WireReference::Known { .. } => {
                let crossed = self.before.link(to, from).lane.iter().any(|letter| match letter {
                    Letter::Frame { frame, .. } => !frame.releases.is_empty(),
                    Letter::Acknowledgement(_) | Letter::Guess(_) => false,
                });
                seen.see(Witness::ReleaseCrossed, crossed && old.is_none());
            }
            WireReference::Described { .. } => {}
        }
        let from_another = parent.is_some_and(|parent| parent != from);
        seen.see(Witness::ReceivedAgain, parent == Some(from));
        seen.see(Witness::KnownFromAnother, from_another && from != home);
        seen.see(Witness::HomeBecameParent, from_another && from == home);
        seen.see(Witness::OwedByOrphan, old.is_some() && parent.is_none() && from != home);
        seen.see(Witness::ReceivedByNew, self.is_back(to));
        seen.see(Witness::PassedByNew, self.is_back(home) && from == home);
        let asks = self.after.node(to).entry(object).map(|entry| entry.standing());
        let asks = old.is_none() && asks == Some(Standing::Adopting { voluntary: true });
        seen.see(Witness::AskedAtReceipt, asks);
    }

    /// Whether the node stands in the place of one that crashed.
    fn is_back(&self, node: NodeId) -> bool {
        self.before.dead.iter().any(|dead| next_incarnation(*dead) == node)
    }

    /// What became of the objects that live at `node`.
    fn home(&self, seen: &Witnesses, node: NodeId) {
        for object in self.before.node(node).snapshot().exports.iter().map(|entry| entry.id) {
            let estates = |world: &World| {
                world.node(node).entry(object).map_or(0, |entry| entry.view().estate.len())
            };
            let expired = matches!(self.action, Action::Expire { .. });
            let fewer = estates(self.after) < estates(self.before);
            seen.see(Witness::EstateClaimed, fewer && !expired);
            seen.see(Witness::EstateExpired, fewer && expired);
        }
    }

    /// What became of the bridges of `node`.
    fn bridges(&self, seen: &Witnesses, node: NodeId) {
        let after = self.after.node(node);
        for old in self.before.node(node).snapshot().bridges {
            match after.entry(old.id) {
                Some(new) => self.bridge(seen, &old, &new.view(), after),
                None => {
                    let expired = matches!(self.action, Action::Expire { .. });
                    seen.see(Witness::EstateExpired, expired);
                }
            }
        }
        for EntrySnapshot { id, local, children, pins, estate, .. } in after.snapshot().bridges {
            let (handles, shared) = (local > 0, !children.is_empty());
            seen.see(Witness::Zombie, !handles && shared);
            seen.see(Witness::Pinned, !handles && !shared && estate.is_empty() && !pins.is_empty());
            seen.see(Witness::EstateOnly, !handles && !shared && pins.is_empty());
            let waits = |to: NodeId| {
                let entry = after.entry(id);
                let now = entry.map(|entry| entry.forwarding(id, to, u8::MAX));
                now == Some(Forwarding::AfterAdoption) && self.after.is_open(node, to)
            };
            let others = self.after.nodes().filter(|to| *to != node);
            seen.see(Witness::HeldBack, handles && others.into_iter().any(waits));
        }
    }

    fn bridge(&self, seen: &Witnesses, old: &EntrySnapshot, new: &EntryView, node: &Collector) {
        use Standing::{Adopting, Broken, Confirmed, Suspect};
        let (wanted, in_doubt) = (Adopting { voluntary: true }, Adopting { voluntary: false });
        let home = old.id.home;
        let to_home = |parent: Option<Parent>| parent.is_some_and(|parent| parent.peer == home);
        let rehomed = !to_home(old.parent) && to_home(new.parent);
        let doubt = |standing| matches!(standing, Adopting { voluntary: false } | Suspect);
        let same_parent =
            old.parent.map(|parent| parent.peer) == new.parent.map(|parent| parent.peer);
        let arrival = matches!(self.action, Action::Deliver { .. });
        let lost = matches!(self.action, Action::GiveUp { .. } | Action::Notice { .. });
        let learned = matches!(self.action, Action::Learn { .. });
        let opened = matches!(self.action, Action::Open { .. });
        let healed = matches!(self.action, Action::Heal { .. });

        seen.see(Witness::Adopted, rehomed && old.standing == wanted);
        seen.see(Witness::AdoptedDeep, rehomed && old.depth == 2);
        seen.see(Witness::AdoptedInDoubt, rehomed && old.standing == in_doubt);
        seen.see(Witness::AdoptedWithoutParent, rehomed && old.parent.is_none());
        let breaks = old.standing != Broken && new.standing == Broken;
        seen.see(Witness::Broken, breaks && arrival);
        seen.see(Witness::NewIncarnation, breaks && learned);
        let newly = !doubt(old.standing) && doubt(new.standing);
        seen.see(Witness::RerootPassedOn, newly && arrival && tells(node, new));
        let calmed = doubt(old.standing) && new.standing == Confirmed && same_parent;
        seen.see(Witness::ConfirmedByParent, calmed && arrival && !to_home(new.parent));
        seen.see(Witness::ConnectionBack, calmed && healed);
        seen.see(Witness::SuspectConfirmed, calmed && healed && old.standing == Suspect);
        let called_off = old.standing == wanted && new.standing == Confirmed;
        seen.see(Witness::BackToConfirmed, called_off && lost);
        let waits = old.standing == in_doubt && new.standing == Suspect;
        seen.see(Witness::BackToSuspect, waits && lost);
        let retries = old.standing == Suspect && new.standing == in_doubt;
        seen.see(Witness::Retried, retries && opened);
        let of_pins = new.estate.contains_key(&home) && !old.estate.contains_key(&home);
        seen.see(Witness::EstateOfPins, of_pins);
        let orphaned = to_home(old.parent) && new.parent.is_none();
        seen.see(Witness::HomeLostAsParent, orphaned && lost);
    }
}

fn tells(node: &Collector, entry: &EntryView) -> bool {
    let told = |child: &NodeId| node.ledger(*child).is_some_and(|ledger| ledger.has_notices());
    entry.children.keys().any(told)
}

fn notices_owed(world: &World) -> bool {
    pairs(world)
        .any(|(from, to)| world.node(from).ledger(to).is_some_and(|ledger| ledger.has_notices()))
}
