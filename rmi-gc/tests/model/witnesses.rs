//! That each rule is alive: situations that some run must meet.
//!
//! They are seen on steps, not on states: a state does not tell by which step it was reached first.

use std::sync::atomic::{AtomicBool, Ordering};

use rmi_gc::{Effects, NodeId, ObjectId, Standing, WireReference};
use stateright::Property;

use crate::space::{Model, Setup, State};
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
    orphan_refused_a_parent: AtomicBool,
    orphan_taken_in: AtomicBool,
    came_home_too_late: AtomicBool,
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
    let mut properties = sometimes![
        "a bridge is a zombie" => zombie,
        "a reference comes home" => came_home,
    ];
    if setup.sends > 2 {
        properties.extend(sometimes![
            "a reference comes home by key" => came_home_by_key,
            "only a pin keeps a bridge" => pinned,
            "a reference is known from another" => known_from_another,
            "the home becomes the parent" => home_became_parent,
            "a release crosses a reference" => release_crossed,
        ]);
    }
    if setup.roll_backs > 0 {
        properties.extend(sometimes!["a frame is rolled back" => rolled_back]);
    }
    if setup.give_ups > 0 {
        properties.extend(sometimes!["a bridge is an orphan" => orphan]);
        if setup.sends > 2 {
            properties.extend(sometimes![
                "an orphan refuses a parent" => orphan_refused_a_parent,
                "a suspect orphan is taken in by the home" => orphan_taken_in,
                "a reference comes home too late" => came_home_too_late,
            ]);
        }
    }
    properties
}

impl Witnesses {
    /// Looks at one step.
    pub(crate) fn watch(&self, before: &World, action: &Action, effects: &Effects, after: &World) {
        match action {
            Action::Deliver { from, to } => {
                if let Some(Letter::Frame { frame, meant }) = before.link(*from, *to).lane.front() {
                    for (reference, object) in frame.references.iter().zip(meant) {
                        self.arrival(before, (*from, *to), reference, *object, after);
                    }
                }
                see(&self.came_home_too_late, !effects.lost.is_empty());
            }
            Action::RollBack { .. } => see(&self.rolled_back, true),
            Action::Drop { .. }
            | Action::Send { .. }
            | Action::Draft { .. }
            | Action::Write { .. }
            | Action::Flush { .. }
            | Action::Acknowledge { .. }
            | Action::GiveUp { .. }
            | Action::Notice { .. } => {}
        }
        for entry in after.nodes().flat_map(|node| after.node(node).snapshot().bridges) {
            let handles = entry.local > 0;
            see(&self.zombie, !handles && !entry.children.is_empty());
            see(&self.pinned, !handles && entry.children.is_empty() && !entry.pins.is_empty());
            see(&self.orphan, entry.standing == Standing::Suspect);
        }
    }

    fn arrival(
        &self,
        before: &World,
        (from, to): (NodeId, NodeId),
        reference: &WireReference,
        object: ObjectId,
        after: &World,
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
        if old.is_some_and(|entry| entry.standing() == Standing::Suspect) {
            let standing = after.node(to).entry(object).map(|entry| entry.standing());
            let described = matches!(reference, WireReference::Described { .. });
            see(&self.orphan_refused_a_parent, described && from != A);
            see(&self.orphan_taken_in, standing == Some(Standing::Confirmed));
        }
    }
}

fn see(witness: &AtomicBool, seen: bool) {
    if seen {
        witness.store(true, Ordering::Relaxed);
    }
}
