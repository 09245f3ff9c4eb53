//! What must hold in every state.

use rmi_gc::{Ledger, NodeId, ObjectId, Standing, WireReference};

use crate::space::{Model, State, pairs};
use crate::world::{Letter, Link, World};

impl Model {
    /// S1 and S2: nobody loses a reference but by being cut off from its home when some grace was over.
    pub(crate) fn held_objects_live(&self, state: &State) -> bool {
        let world = &state.world;
        world.objects().iter().all(|object| {
            !world.is_alive(object.home)
                || world.node(object.home).entry(*object).is_some()
                || !is_held(world, *object)
        })
    }

    /// S2, at the end: whoever lost a reference knows, and whoever did not can use it. L2: nobody waits.
    pub(crate) fn nobody_is_left_in_doubt(&self, state: &State) -> bool {
        let mut bridges = state.world.nodes().flat_map(|n| state.world.node(n).snapshot().bridges);
        let all_know = bridges.all(|bridge| {
            let home = state.world.node(bridge.id.home);
            match bridge.standing {
                Standing::Confirmed => home.entry(bridge.id).is_some(),
                Standing::Broken => home.entry(bridge.id).is_none(),
                Standing::Adopting { .. } | Standing::Suspect => false,
            }
        });
        all_know || !self.has_ended(state)
    }

    /// L3: if holders are adopted when idle, only they and the home are left with what they hold.
    pub(crate) fn no_zombie_is_left_at_the_end(&self, state: &State) -> bool {
        if !self.setup.idle {
            return true;
        }
        let mut bridges = state.world.nodes().flat_map(|n| state.world.node(n).snapshot().bridges);
        let only_holders = bridges.all(|bridge| {
            bridge.local > 0
                && bridge.children.is_empty()
                && bridge.parent.is_none_or(|parent| parent.peer == bridge.id.home)
        });
        only_holders || !self.has_ended(state)
    }

    /// S3: sent and not released is in flight, or received, or on its way back.
    pub(crate) fn counts_agree(&self, state: &State) -> bool {
        pairs(&state.world).filter(|(from, to)| is_in_session(&state.world, *from, *to)).all(
            |(from, to)| {
                let shares = self.total(&state.world, |object| {
                    state.world.node(from).entry(object).map_or(0, |entry| entry.share_of(to))
                });
                let received = self.total(&state.world, |object| {
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
                let adopted = state.world.node(from).ledger(to).map_or(0, Ledger::owed_adopted);
                let adopted = u32::try_from(adopted).expect("few adoptions");
                shares == adopted + counted_in(link) + received + owed + released_in(back)
            },
        )
    }

    /// S4: from every bridge, parents lead to the home, or to an orphan.
    pub(crate) fn parents_form_a_forest(&self, state: &State) -> bool {
        let rooted = |object| state.world.nodes().all(|node| has_a_root(state, node, object));
        state.world.objects().iter().all(|object| rooted(*object))
    }

    /// S5: who was not given a reference is not counted for it, and gets none.
    pub(crate) fn nothing_is_stolen(&self, state: &State) -> bool {
        let Some(thief) = self.setup.thief else { return true };
        state.world.objects().iter().all(|object| {
            let entry = state.world.node(object.home).entry(*object);
            entry.is_none_or(|entry| entry.share_of(thief) == 0)
        })
    }

    pub(crate) fn nothing_is_dropped_twice(&self, state: &State) -> bool {
        let freed = &state.world.freed;
        freed.iter().enumerate().all(|(at, object)| !freed[..at].contains(object))
    }

    /// L1.
    pub(crate) fn nothing_is_left_at_the_end(&self, state: &State) -> bool {
        if self.setup.keeper.is_some() {
            return true;
        }
        let world = &state.world;
        let empty = || world.nodes().all(|node| world.node(node).snapshot().is_empty());
        let settled = || {
            pairs(world).all(|(from, to)| {
                let ledger = world.node(from).ledger(to);
                ledger.is_none_or(|ledger| ledger.is_empty())
            })
        };
        let freed = world
            .objects()
            .iter()
            .all(|object| !world.is_alive(object.home) || world.freed.contains(object));
        (freed && empty() && settled()) || !self.has_ended(state)
    }

    fn has_ended(&self, state: &State) -> bool {
        state.violation.is_none() && self.is_over(state)
    }

    fn total(&self, world: &World, count: impl Fn(ObjectId) -> u32) -> u32 {
        world.objects().iter().map(|object| count(*object)).sum()
    }
}

/// Whether a local handle or a reference in flight exists that nobody may lose.
fn is_held(world: &World, object: ObjectId) -> bool {
    let may_lose = |node| !world.is_alive(node) || world.excused.contains(&(node, object.home));
    let handle = world.nodes().filter(|node| !may_lose(*node)).any(|node| {
        let entry = world.node(node).entry(object);
        entry.is_some_and(|entry| entry.local_handles() > 0)
    });
    let carried = pairs(world)
        .filter(|(from, to)| !may_lose(*from) && !may_lose(*to))
        .any(|(from, to)| carries(world.link(from, to), object));
    handle || carried
}

fn carries(link: &Link, object: ObjectId) -> bool {
    link.lane.iter().any(|letter| match letter {
        Letter::Frame { meant, .. } => meant.contains(&object),
        Letter::Acknowledgement(_) | Letter::Guess(_) => false,
    })
}

/// References on their way that the sender counts.
fn counted_in(link: &Link) -> u32 {
    let drafted = link.draft.iter().flat_map(|(draft, _)| draft.references());
    let written = link.lane.iter().flat_map(|letter| match letter {
        Letter::Frame { frame, .. } => &frame.references[..],
        Letter::Acknowledgement(_) | Letter::Guess(_) => &[],
    });
    let adopted = link.lane.iter().map(|letter| match letter {
        Letter::Frame { frame, .. } => frame.adopted.len(),
        Letter::Acknowledgement(_) | Letter::Guess(_) => 0,
    });
    let adopted = u32::try_from(adopted.sum::<usize>()).expect("few adoptions");
    let sent: u32 = drafted
        .chain(written)
        .map(|reference| match reference {
            WireReference::Described { .. } | WireReference::Known { .. } => 1,
            WireReference::Yours { .. } | WireReference::YoursByKey { .. } => 0,
        })
        .sum();
    sent + adopted
}

fn released_in(link: &Link) -> u32 {
    let releases = link.lane.iter().flat_map(|letter| match letter {
        Letter::Frame { frame, .. } => &frame.releases[..],
        Letter::Acknowledgement(_) | Letter::Guess(_) => &[],
    });
    releases.map(|release| release.count).sum()
}

fn has_a_root(state: &State, node: NodeId, object: ObjectId) -> bool {
    let mut at = node;
    for _ in state.world.nodes() {
        let Some(entry) = state.world.node(at).entry(object) else {
            // A parent's entry may be gone only when its session is.
            return at == node || state.world.freed.contains(&object) || was_in_trouble(state);
        };
        let Some(parent) = entry.parent() else { return true };
        at = parent.peer;
    }
    false
}

fn was_in_trouble(state: &State) -> bool {
    pairs(&state.world).any(|(from, to)| !is_in_session(&state.world, from, to))
}

fn is_in_session(world: &World, one: NodeId, other: NodeId) -> bool {
    world.is_cut(one, other) || world.is_open(one, other)
}
