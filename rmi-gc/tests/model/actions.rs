//! What may happen next.

use std::collections::BTreeSet;

use rmi_gc::{EntrySnapshot, Forwarding, NodeId, ObjectId, Standing};

use crate::faults::Fault;
use crate::space::{Model, State, pairs};
use crate::world::{Action, World, next_incarnation};

impl Model {
    /// Whether nothing can happen any more.
    pub(crate) fn is_over(&self, state: &State) -> bool {
        // What most states have, and what is quick to see.
        let world = &state.world;
        let living = || world.nodes().filter(|node| world.is_alive(*node));
        if pairs(world).any(|(from, to)| may_arrive(world, from, to))
            || living().any(|node| self.may_drop_any(state, node))
        {
            return false;
        }
        let mut actions = Vec::new();
        self.possible(state, &mut actions);
        actions.is_empty()
    }

    pub(crate) fn possible(&self, state: &State, actions: &mut Vec<Action>) {
        if state.violation.is_some() {
            return;
        }
        let world = &state.world;
        for node in world.nodes() {
            if world.is_alive(node) {
                self.possible_at(state, node, actions);
            } else if state.left.restarts > 0 && !is_replaced(world, node) {
                actions.push(Action::Restart { node });
            }
        }
        for (from, to) in pairs(world).filter(|(_, to)| world.is_alive(*to)) {
            self.possible_between(state, from, to, actions);
        }
    }

    fn possible_at(&self, state: &State, node: NodeId, actions: &mut Vec<Action>) {
        let world = &state.world;
        for object in world.objects().iter().filter(|object| self.may_drop(state, node, **object)) {
            actions.push(Action::Drop { node, object: *object });
        }
        let here = world.node(node);
        let over = is_settled(world) || self.setup.fault == Some(Fault::GraceTooShort);
        if here.next_deadline().is_some() && over {
            actions.push(Action::Expire { node });
        }
        if state.left.crashes > 0 && (self.setup.home_crashes || !is_home(world, node)) {
            actions.push(Action::Crash { node });
        }
        if self.setup.thief == Some(node) {
            self.possible_guesses(state, node, actions);
        }
        let bridges = here.snapshot().bridges;
        if state.left.sleeps > 0 && !bridges.is_empty() {
            actions.push(Action::Oversleep { node });
        }
        if state.left.leaves > 0 && bridges.iter().any(|bridge| !bridge.children.is_empty()) {
            actions.push(Action::Leave { node });
        }
        let hopeful = bridges.iter().filter(|bridge| bridge.standing != Standing::Broken);
        let homes: BTreeSet<NodeId> = hopeful.map(|bridge| bridge.id.home).collect();
        for home in homes.into_iter().filter(|home| self.may_learn_of(world, node, *home)) {
            actions.push(Action::Learn { node, home });
        }
        if self.setup.idle {
            let idle = bridges.iter().filter(|bridge| wants_adoption(world, node, bridge));
            actions.extend(idle.map(|bridge| Action::Adopt { node, object: bridge.id }));
        }
    }

    /// Whether `node` may hear that `home` is no more: from the incarnation in its place, if there will be one.
    fn may_learn_of(&self, world: &World, node: NodeId, home: NodeId) -> bool {
        let is_told = self.setup.budget.restarts == 0 || is_replaced(world, home);
        !world.is_alive(home) && world.is_closed(node, home) && is_told
    }

    fn possible_guesses(&self, state: &State, thief: NodeId, actions: &mut Vec<Action>) {
        if state.left.guesses > 0 {
            let near = |object: &&ObjectId| state.world.is_open(thief, object.home);
            let all = state.world.objects().iter().filter(near);
            actions.extend(all.map(|object| Action::Guess { thief, object: *object }));
        }
    }

    fn possible_between(&self, state: &State, from: NodeId, to: NodeId, actions: &mut Vec<Action>) {
        let world = &state.world;
        if may_arrive(world, from, to) {
            actions.push(Action::Deliver { from, to });
        }
        if world.is_closed(from, to) {
            if from < to && world.is_alive(from) {
                actions.push(Action::Open { one: from, other: to });
            }
            return;
        }
        if !world.is_alive(from) {
            actions.push(Action::GiveUp { by: to, peer: from });
            return;
        }
        self.possible_trouble(state, from, to, actions);
        if world.link(from, to).given_up || world.is_cut(from, to) {
            return;
        }
        if world.link(from, to).draft.is_some() {
            actions.push(Action::Write { from, to });
            if state.left.roll_backs > 0 {
                actions.push(Action::RollBack { from, to });
            }
            return;
        }
        self.possible_sends(state, from, to, actions);
        if owes(world, from, to) {
            actions.push(Action::Flush { from, to });
        }
        // One that nobody waits for changes nothing.
        let (here, there) = (world.node(from), world.node(to));
        let awaited = there.ledger(from).is_some_and(|ledger| ledger.awaits_acknowledgement());
        if awaited && here.has_news_for(to) {
            actions.push(Action::Acknowledge { from, to });
        }
    }

    fn possible_trouble(&self, state: &State, from: NodeId, to: NodeId, actions: &mut Vec<Action>) {
        let world = &state.world;
        if world.link(from, to).given_up {
            actions.push(Action::Notice { node: to, peer: from });
        } else if world.is_cut(from, to) {
            actions.push(Action::GiveUp { by: from, peer: to });
            if from < to {
                actions.push(Action::Heal { one: from, other: to });
            }
        } else if world.is_open(from, to) {
            if state.left.give_ups > 0 {
                actions.push(Action::GiveUp { by: from, peer: to });
            }
            if state.left.cuts > 0 && from < to {
                actions.push(Action::Cut { one: from, other: to });
            }
        }
    }

    fn possible_sends(&self, state: &State, from: NodeId, to: NodeId, actions: &mut Vec<Action>) {
        let may = |object: &&ObjectId| self.may_pass_on(state, from, to, **object);
        for object in state.world.objects().iter().filter(may) {
            for copies in 1..=self.setup.copies.min(state.left.sends) {
                let objects = vec![*object; usize::from(copies)];
                actions.push(if self.setup.drafts {
                    Action::Draft { from, to, objects }
                } else {
                    Action::Send { from, to, objects }
                });
            }
        }
    }

    fn may_drop_any(&self, state: &State, node: NodeId) -> bool {
        state.world.objects().iter().any(|object| self.may_drop(state, node, *object))
    }

    fn may_drop(&self, state: &State, node: NodeId, object: ObjectId) -> bool {
        let kept = u32::from(self.setup.keeper == Some(node));
        handles(state, node, object) > kept
    }

    fn may_pass_on(&self, state: &State, node: NodeId, to: NodeId, object: ObjectId) -> bool {
        if handles(state, node, object) == 0 || self.setup.thief == Some(to) {
            return false;
        }
        if self.setup.mutant == Some(rmi_gc::Mutant::OrphanForwards) {
            return true;
        }
        let depth_max = self.setup.policy.depth_max(self.setup.depth_max);
        let entry = state.world.node(node).entry(object);
        entry.is_some_and(|entry| entry.forwarding(object, to, depth_max) == Forwarding::Now)
    }
}

/// Whether another incarnation stands at the place of `node`.
fn is_replaced(world: &World, node: NodeId) -> bool {
    world.nodes().any(|other| other == next_incarnation(node))
}

fn is_home(world: &World, node: NodeId) -> bool {
    world.objects().iter().any(|object| object.home == node)
}

/// Whether a bridge has a longer path to its home than need be, and could have another.
fn wants_adoption(world: &World, node: NodeId, bridge: &EntrySnapshot) -> bool {
    let home = bridge.id.home;
    bridge.parent.is_some_and(|parent| parent.peer != home)
        && bridge.standing == Standing::Confirmed
        && !world.node(node).has_given_up(home)
}

/// Whether all that rule 16 leaves time for has happened: whatever can arrive has arrived, and sessions that are over are
/// given up at both ends. What cannot arrive belongs to nodes that are cut off.
fn is_settled(world: &World) -> bool {
    pairs(world).filter(|(_, to)| world.is_alive(*to)).all(|(from, to)| {
        let dead_and_known = world.is_alive(from) || world.is_closed(from, to);
        let noticed = !world.link(from, to).given_up;
        let told = !world.is_open(from, to) || !owes(world, from, to);
        dead_and_known && noticed && told && !may_arrive(world, from, to)
    })
}

fn may_arrive(world: &World, from: NodeId, to: NodeId) -> bool {
    !world.link(from, to).lane.is_empty() && !world.is_cut(from, to) && !world.is_closed(from, to)
}

fn owes(world: &World, from: NodeId, to: NodeId) -> bool {
    let ledger = world.node(from).ledger(to);
    ledger.is_some_and(|ledger| ledger.owes() || ledger.has_notices())
}

/// Local handles but those that belong to messages which were begun.
fn handles(state: &State, node: NodeId, object: ObjectId) -> u32 {
    let drafts = pairs(&state.world)
        .filter(|(from, _)| *from == node)
        .filter_map(|(from, to)| state.world.link(from, to).draft.as_ref());
    let drafted: u32 =
        drafts.flat_map(|(_, meant)| meant).filter(|other| **other == object).map(|_| 1).sum();
    let entry = state.world.node(node).entry(object);
    entry.map_or(0, |entry| entry.local_handles() - drafted)
}
