//! What must hold in every state.

use rmi_gc::{NodeId, ObjectId, WireReference};

use crate::space::{Model, State, pairs};
use crate::world::{A, Letter, Link};

impl Model {
    /// S1. A session that was given up may cost its holders their references, as nothing adopts them yet.
    pub(crate) fn held_objects_live(&self, state: &State) -> bool {
        state.give_ups_left < self.setup.give_ups
            || self.objects().all(|object| {
                state.world.node(A).entry(object).is_some() || !is_held(state, object)
            })
    }

    /// S3: sent and not released is in flight, or received, or on its way back.
    pub(crate) fn counts_agree(&self, state: &State) -> bool {
        pairs(&state.world)
            .filter(|(from, to)| {
                !state.world.link(*from, *to).given_up && !state.world.link(*to, *from).given_up
            })
            .all(|(from, to)| {
                let shares = self.total(|object| {
                    state.world.node(from).entry(object).map_or(0, |entry| entry.share_of(to))
                });
                let received = self.total(|object| {
                    let parent =
                        state.world.node(to).entry(object).and_then(|entry| entry.parent());
                    parent.filter(|parent| parent.peer == from).map_or(0, |parent| parent.received)
                });
                let owed: u32 = state
                    .world
                    .node(to)
                    .ledger(from)
                    .map_or(0, |ledger| ledger.owed().map(|(_, count)| count).sum());
                let (link, back) = (state.world.link(from, to), state.world.link(to, from));
                shares == counted_in(link) + received + owed + released_in(back)
            })
    }

    /// S4: from every bridge, parents lead to the home, or to an orphan.
    pub(crate) fn parents_form_a_forest(&self, state: &State) -> bool {
        self.objects().all(|object| state.world.nodes().all(|node| has_a_root(state, node, object)))
    }

    pub(crate) fn nothing_is_dropped_twice(&self, state: &State) -> bool {
        let freed = &state.world.freed;
        freed.iter().enumerate().all(|(at, object)| !freed[..at].contains(object))
    }

    /// L1.
    pub(crate) fn nothing_is_left_at_the_end(&self, state: &State) -> bool {
        if state.violation.is_some() || !self.is_over(state) {
            return true;
        }
        let empty = state.world.nodes().all(|node| state.world.node(node).snapshot().is_empty());
        let settled = pairs(&state.world).all(|(from, to)| {
            let ledger = state.world.node(from).ledger(to);
            ledger.is_none_or(|ledger| ledger.is_empty())
        });
        empty && settled && self.objects().all(|object| state.world.freed.contains(&object))
    }

    fn total(&self, count: impl Fn(ObjectId) -> u32) -> u32 {
        self.objects().map(count).sum()
    }
}

/// Whether a local handle or a reference in flight exists.
fn is_held(state: &State, object: ObjectId) -> bool {
    let handle = state.world.nodes().any(|node| {
        let entry = state.world.node(node).entry(object);
        entry.is_some_and(|entry| entry.local_handles() > 0)
    });
    handle || pairs(&state.world).any(|(from, to)| carries(state.world.link(from, to), object))
}

fn carries(link: &Link, object: ObjectId) -> bool {
    link.lane.iter().any(|letter| match letter {
        Letter::Frame { meant, .. } => meant.contains(&object),
        Letter::Acknowledgement(_) => false,
    })
}

/// References on their way that the sender counts.
fn counted_in(link: &Link) -> u32 {
    let drafted = link.draft.iter().flat_map(|(draft, _)| draft.references());
    let written = link.lane.iter().flat_map(|letter| match letter {
        Letter::Frame { frame, .. } => &frame.references[..],
        Letter::Acknowledgement(_) => &[],
    });
    drafted
        .chain(written)
        .map(|reference| match reference {
            WireReference::Described { .. } | WireReference::Known { .. } => 1,
            WireReference::Yours { .. } | WireReference::YoursByKey { .. } => 0,
        })
        .sum()
}

fn released_in(link: &Link) -> u32 {
    let releases = link.lane.iter().flat_map(|letter| match letter {
        Letter::Frame { frame, .. } => &frame.releases[..],
        Letter::Acknowledgement(_) => &[],
    });
    releases.map(|release| release.count).sum()
}

fn has_a_root(state: &State, node: NodeId, object: ObjectId) -> bool {
    let mut at = node;
    for _ in state.world.nodes() {
        let Some(entry) = state.world.node(at).entry(object) else {
            // A parent's entry may be gone only when its session is.
            return at == node || state.world.freed.contains(&object) || any_given_up(state);
        };
        let Some(parent) = entry.parent() else { return true };
        at = parent.peer;
    }
    false
}

fn any_given_up(state: &State) -> bool {
    pairs(&state.world).any(|(from, to)| state.world.link(from, to).given_up)
}
