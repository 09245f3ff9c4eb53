//! That each rule is alive: situations that some run must meet.
//!
//! They are seen on steps, not on states: a state does not tell by which step it was reached first.

use std::sync::atomic::{AtomicBool, Ordering};

use rmi_gc::{
    Collector, EntrySnapshot, EntryView, NodeId, ObjectId, Parent, Standing, WireReference,
};
use stateright::Property;

use crate::space::{Budget, Model, Setup, State};
use crate::world::{A, Action, Letter, World};

/// What was seen in any run.
#[derive(Default)]
pub(crate) struct Witnesses {
    zombie: AtomicBool,
    came_home: AtomicBool,
    came_home_by_key: AtomicBool,
    pinned: AtomicBool,
    known_from_another: AtomicBool,
    home_became_parent: AtomicBool,
    release_crossed: AtomicBool,
    rolled_back: AtomicBool,
    orphan: AtomicBool,
    adopted: AtomicBool,
    adopted_in_doubt: AtomicBool,
    adopted_without_parent: AtomicBool,
    adopted_too_late: AtomicBool,
    broken: AtomicBool,
    reroot_passed_on: AtomicBool,
    confirmed_by_parent: AtomicBool,
    confirmed_by_connection: AtomicBool,
    suspect_confirmed: AtomicBool,
    back_to_confirmed: AtomicBool,
    back_to_suspect: AtomicBool,
    retried: AtomicBool,
    estate_expired: AtomicBool,
    estate_claimed: AtomicBool,
    estate_of_pins: AtomicBool,
    estate_only: AtomicBool,
    home_lost_as_parent: AtomicBool,
    left: AtomicBool,
    overslept: AtomicBool,
    deep: AtomicBool,
}

/// The situations that a setup can meet.
pub(crate) fn properties(setup: &Setup) -> Vec<Property<Model>> {
    macro_rules! sometimes {
        ($($name:literal => $witness:ident),* $(,)?) => {
            vec![$(Property::sometimes($name, |model: &Model, _: &State| {
                model.witnesses.$witness.load(Ordering::Relaxed)
            })),*]
        };
    }
    let Budget { sends, roll_backs, give_ups, cuts, crashes, leaves, sleeps } = setup.budget;
    let mut properties = sometimes!["a bridge is a zombie" => zombie];
    if sends > 0 {
        properties.extend(sometimes!["a reference comes home" => came_home]);
    }
    if sends > 2 && crashes == 0 {
        properties.extend(sometimes![
            "a reference comes home by key" => came_home_by_key,
            "only a pin keeps a bridge" => pinned,
            "a reference is known from another" => known_from_another,
            "the home becomes the parent" => home_became_parent,
            "a release crosses a reference" => release_crossed,
        ]);
    }
    if roll_backs > 0 {
        properties.extend(sometimes!["a frame is rolled back" => rolled_back]);
    }
    if give_ups > 0 || cuts > 0 {
        properties.extend(sometimes![
            "a bridge is an orphan" => orphan,
            "7, 9: a bridge in doubt is adopted" => adopted_in_doubt,
            "8: an estate is claimed" => estate_claimed,
            "9: an adoption comes too late" => adopted_too_late,
            "12: an estate expires" => estate_expired,
            "12: only an estate keeps a bridge" => estate_only,
            "13: a bridge without parent is adopted" => adopted_without_parent,
            "13: the session with the home, the parent, is given up" => home_lost_as_parent,
            "14: Confirm ends doubt" => confirmed_by_parent,
        ]);
    }
    if setup.chain && (give_ups > 0 || cuts > 0) {
        properties.extend(sometimes!["14: Reroot is passed on" => reroot_passed_on]);
    }
    if give_ups + cuts > 1 && sends > 2 {
        properties.extend(sometimes![
            "10: an object is gone" => broken,
            "12: a pin becomes an estate" => estate_of_pins,
            "15: a bridge in doubt loses the session with its home" => back_to_suspect,
            "15: the adoption is tried again" => retried,
        ]);
    }
    if give_ups > 0 && setup.idle {
        properties
            .extend(sometimes!["15: a voluntary adoption is called off" => back_to_confirmed]);
    }
    if cuts > 0 {
        properties.extend(sometimes![
            "13: the connection to the parent is back" => confirmed_by_connection,
        ]);
    }
    if cuts > 0 && give_ups + cuts > 1 {
        properties.extend(sometimes!["13: from Suspect, too" => suspect_confirmed]);
    }
    if crashes > 0 {
        properties.extend(sometimes!["12: an estate expires" => estate_expired]);
    }
    if setup.idle {
        properties.extend(sometimes!["7, 9: a holder is adopted" => adopted]);
    }
    if setup.home_crashes {
        properties.extend(sometimes!["13: the home is a new incarnation" => broken]);
    }
    if leaves > 0 {
        properties.extend(sometimes!["17: a child is asked to be adopted" => left]);
    }
    if sleeps > 0 {
        properties.extend(sometimes!["18: bridges of an oversleeper are in doubt" => overslept]);
    }
    if setup.depth_max < 3 {
        properties.extend(sometimes!["16: a bridge passes on after its adoption only" => deep]);
    }
    properties
}

impl Witnesses {
    /// Looks at one step.
    pub(crate) fn watch(&self, before: &World, action: &Action, after: &World) {
        match action {
            Action::Deliver { from, to } => {
                if let Some(Letter::Frame { frame, meant }) = before.link(*from, *to).lane.front() {
                    for (reference, object) in frame.references.iter().zip(meant) {
                        self.arrival(before, (*from, *to), reference, *object);
                    }
                }
            }
            Action::RollBack { .. } => see(&self.rolled_back, true),
            Action::Leave { .. } => see(&self.left, notices_owed(after)),
            Action::Oversleep { .. } => see(&self.overslept, true),
            Action::Drop { .. }
            | Action::Send { .. }
            | Action::Draft { .. }
            | Action::Write { .. }
            | Action::Flush { .. }
            | Action::Acknowledge { .. }
            | Action::GiveUp { .. }
            | Action::Notice { .. }
            | Action::Open { .. }
            | Action::Cut { .. }
            | Action::Heal { .. }
            | Action::Crash { .. }
            | Action::Learn { .. }
            | Action::Adopt { .. }
            | Action::Expire { .. } => {}
        }
        self.changes(before, action, after);
        let changed = after.nodes().filter(|node| after.node(*node) != before.node(*node));
        for entry in changed.flat_map(|node| after.node(node).snapshot().bridges) {
            let handles = entry.local > 0;
            see(&self.zombie, !handles && !entry.children.is_empty());
            see(&self.pinned, !handles && entry.children.is_empty() && !entry.pins.is_empty());
            see(&self.orphan, entry.parent.is_none());
        }
    }

    fn arrival(
        &self,
        before: &World,
        (from, to): (NodeId, NodeId),
        reference: &WireReference,
        object: ObjectId,
    ) {
        let old = before.node(to).entry(object);
        let parent = old.and_then(|entry| entry.parent());
        let from_another = old.is_some() && parent.is_some_and(|parent| parent.peer != from);
        match reference {
            WireReference::Yours { .. } => see(&self.came_home, to == A),
            WireReference::YoursByKey { .. } => see(&self.came_home_by_key, true),
            WireReference::Known { .. } => {
                let crossed = before.link(to, from).lane.iter().any(|letter| match letter {
                    Letter::Frame { frame, .. } => !frame.releases.is_empty(),
                    Letter::Acknowledgement(_) => false,
                });
                see(&self.release_crossed, crossed && old.is_none());
            }
            WireReference::Described { .. } => {}
        }
        see(&self.known_from_another, from_another && from != A);
        see(&self.home_became_parent, from_another && from == A);
    }
}

impl Witnesses {
    /// Looks at what became of each bridge.
    fn changes(&self, before: &World, action: &Action, after: &World) {
        let changed = |node: &NodeId| after.node(*node) != before.node(*node);
        for node in before.nodes().filter(|node| after.is_alive(*node)).filter(changed) {
            for object in before.node(node).snapshot().exports.iter().map(|entry| entry.id) {
                let estates = |world: &World| {
                    world.node(node).entry(object).map_or(0, |entry| entry.view().estate.len())
                };
                let expired = matches!(action, Action::Expire { .. });
                let fewer = estates(after) < estates(before);
                see(&self.estate_claimed, fewer && !expired);
                see(&self.estate_expired, fewer && expired);
            }
            for old in before.node(node).snapshot().bridges {
                match after.node(node).entry(old.id) {
                    Some(new) => self.change(action, &old, &new.view(), after.node(node)),
                    None => see(&self.estate_expired, matches!(action, Action::Expire { .. })),
                }
            }
            if let Action::Deliver { from, to } = action
                && *to == node
                && let Some(Letter::Frame { frame, .. }) = before.link(*from, *to).lane.front()
            {
                let held = |object: &ObjectId| before.node(node).entry(*object).is_some();
                let too_late = frame.adopted.iter().any(|object| !held(object));
                see(&self.adopted_too_late, too_late);
            }
        }
    }

    fn change(&self, action: &Action, old: &EntrySnapshot, new: &EntryView, node: &Collector) {
        use Standing::{Adopting, Broken, Confirmed, Suspect};
        let to_home = |parent: Option<Parent>| parent.is_some_and(|parent| parent.peer == A);
        let rehomed = !to_home(old.parent) && to_home(new.parent);
        let doubt = |standing| matches!(standing, Adopting { voluntary: false } | Suspect);
        let same_parent =
            old.parent.map(|parent| parent.peer) == new.parent.map(|parent| parent.peer);
        let arrival = matches!(action, Action::Deliver { .. });
        see(&self.adopted, rehomed && old.standing == Adopting { voluntary: true });
        see(&self.adopted_in_doubt, rehomed && old.standing == Adopting { voluntary: false });
        see(&self.adopted_without_parent, rehomed && old.parent.is_none());
        see(&self.broken, old.standing != Broken && new.standing == Broken);
        let newly = !doubt(old.standing) && doubt(new.standing);
        see(&self.reroot_passed_on, newly && arrival && tells(node, new));
        let calmed = doubt(old.standing) && new.standing == Confirmed && same_parent;
        see(&self.confirmed_by_parent, calmed && arrival && !to_home(new.parent));
        let healed = matches!(action, Action::Heal { .. });
        see(&self.confirmed_by_connection, calmed && healed);
        see(&self.suspect_confirmed, calmed && healed && old.standing == Suspect);
        let lost = matches!(action, Action::GiveUp { .. } | Action::Notice { .. });
        let called_off = old.standing == Adopting { voluntary: true } && new.standing == Confirmed;
        see(&self.back_to_confirmed, called_off && lost);
        let waits = old.standing == Adopting { voluntary: false } && new.standing == Suspect;
        see(&self.back_to_suspect, waits && lost);
        let retries = old.standing == Suspect && new.standing == Adopting { voluntary: false };
        see(&self.retried, retries && matches!(action, Action::Open { .. }));
        see(&self.estate_of_pins, new.estate.contains_key(&A) && !old.estate.contains_key(&A));
        let only_estate = new.local == 0 && new.children.is_empty() && new.pins.is_empty();
        see(&self.estate_only, only_estate);
        see(&self.home_lost_as_parent, to_home(old.parent) && new.parent.is_none() && lost);
        see(&self.deep, rehomed && old.depth == 2);
    }
}

fn tells(node: &Collector, entry: &EntryView) -> bool {
    let told = |child: &NodeId| node.ledger(*child).is_some_and(|ledger| ledger.has_notices());
    entry.children.keys().any(told)
}

fn notices_owed(world: &World) -> bool {
    crate::space::pairs(world)
        .any(|(from, to)| world.node(from).ledger(to).is_some_and(|ledger| ledger.has_notices()))
}

fn see(witness: &AtomicBool, seen: bool) {
    if seen {
        witness.store(true, Ordering::Relaxed);
    }
}
