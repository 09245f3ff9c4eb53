//! What may happen next.

use rmi_gc::{NodeId, ObjectId, Standing};

use crate::space::{Model, State, pairs};
use crate::world::Action;

impl Model {
    /// Whether nothing can happen any more.
    pub(crate) fn is_over(&self, state: &State) -> bool {
        let mut actions = Vec::new();
        self.possible(state, &mut actions);
        actions.is_empty()
    }

    pub(crate) fn possible(&self, state: &State, actions: &mut Vec<Action>) {
        if state.violation.is_some() {
            return;
        }
        for node in state.world.nodes() {
            for object in self.objects().filter(|object| holds(state, node, *object)) {
                actions.push(Action::Drop { node, object });
            }
        }
        for (from, to) in pairs(&state.world) {
            self.possible_between(state, from, to, actions);
        }
    }

    fn possible_between(&self, state: &State, from: NodeId, to: NodeId, actions: &mut Vec<Action>) {
        let (link, back) = (state.world.link(from, to), state.world.link(to, from));
        if !link.lane.is_empty() {
            actions.push(Action::Deliver { from, to });
        }
        if state.give_ups_left > 0 && !link.given_up && !back.given_up {
            actions.push(Action::GiveUp { by: from, peer: to });
        }
        if link.given_up {
            actions.push(Action::Notice { node: to, peer: from });
            return;
        }
        if link.draft.is_some() {
            actions.push(Action::Write { from, to });
            if state.roll_backs_left > 0 {
                actions.push(Action::RollBack { from, to });
            }
            return;
        }
        self.possible_sends(state, from, to, actions);
        let (here, there) = (state.world.node(from), state.world.node(to));
        if here.ledger(to).is_some_and(|ledger| ledger.owes()) {
            actions.push(Action::Flush { from, to });
        }
        // One that nobody waits for changes nothing.
        let awaited = there.ledger(from).is_some_and(|ledger| ledger.awaits_acknowledgement());
        if awaited && here.has_news_for(to) {
            actions.push(Action::Acknowledge { from, to });
        }
    }

    fn possible_sends(&self, state: &State, from: NodeId, to: NodeId, actions: &mut Vec<Action>) {
        for object in self.objects().filter(|object| may_pass_on(state, from, *object)) {
            for copies in 1..=self.setup.copies.min(state.sends_left) {
                let objects = vec![object; usize::from(copies)];
                actions.push(if self.setup.drafts {
                    Action::Draft { from, to, objects }
                } else {
                    Action::Send { from, to, objects }
                });
            }
        }
    }
}

fn holds(state: &State, node: NodeId, object: ObjectId) -> bool {
    let entry = state.world.node(node).entry(object);
    entry.is_some_and(|entry| entry.local_handles() > drafted(state, node, object))
}

fn may_pass_on(state: &State, node: NodeId, object: ObjectId) -> bool {
    let entry = state.world.node(node).entry(object);
    holds(state, node, object) && entry.is_some_and(|entry| entry.standing() == Standing::Confirmed)
}

/// Handles that belong to messages which were begun.
fn drafted(state: &State, node: NodeId, object: ObjectId) -> u32 {
    let drafts = pairs(&state.world)
        .filter(|(from, _)| *from == node)
        .filter_map(|(from, to)| state.world.link(from, to).draft.as_ref());
    drafts.flat_map(|(_, meant)| meant).filter(|other| **other == object).map(|_| 1).sum()
}
