//! The collector as a state space.

use rmi_gc::{NodeId, ObjectId, ObjectIndex};
use stateright::Property;

use crate::faults::Fault;
use crate::witnesses::{self, Witnesses};
use crate::world::{A, Action, World};

/// How large a world is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    /// References sent in all.
    pub(crate) sends: u8,
    /// References to one object on one frame, at most.
    pub(crate) copies: u8,
    pub(crate) objects: u8,
    pub(crate) nodes: u8,
    /// Whether other steps may come between beginning a frame and letting it go.
    pub(crate) drafts: bool,
    /// Frames rolled back in all.
    pub(crate) roll_backs: u8,
    /// Sessions given up in all.
    pub(crate) give_ups: u8,
    pub(crate) fault: Option<Fault>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            sends: 3,
            copies: 1,
            objects: 1,
            nodes: 3,
            drafts: false,
            roll_backs: 0,
            give_ups: 0,
            fault: None,
        }
    }
}

/// The state space of a setup.
pub(crate) struct Model {
    pub(crate) setup: Setup,
    pub(crate) witnesses: Witnesses,
}

/// A world, and what may still happen to it.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct State {
    pub(crate) world: World,
    pub(crate) sends_left: u8,
    pub(crate) roll_backs_left: u8,
    pub(crate) give_ups_left: u8,
    /// What went wrong on the way here; nothing happens any more.
    pub(crate) violation: Option<String>,
}

impl Model {
    pub(crate) fn new(setup: Setup) -> Self {
        Self { setup, witnesses: Witnesses::default() }
    }

    pub(crate) fn objects(&self) -> impl Iterator<Item = ObjectId> + use<> {
        (1..=u64::from(self.setup.objects)).map(|n| ObjectId { home: A, index: ObjectIndex(n) })
    }
}

impl stateright::Model for Model {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            world: World::new(usize::from(self.setup.nodes), usize::from(self.setup.objects)),
            sends_left: self.setup.sends,
            roll_backs_left: self.setup.roll_backs,
            give_ups_left: self.setup.give_ups,
            violation: None,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        self.possible(state, actions);
    }

    fn next_state(&self, before: &State, action: Action) -> Option<State> {
        let mut after = before.clone();
        match &action {
            Action::Send { objects, .. } | Action::Draft { objects, .. } => {
                after.sends_left -= u8::try_from(objects.len()).expect("few copies");
            }
            Action::RollBack { .. } => after.roll_backs_left -= 1,
            Action::GiveUp { .. } => after.give_ups_left -= 1,
            Action::Write { .. }
            | Action::Deliver { .. }
            | Action::Drop { .. }
            | Action::Flush { .. }
            | Action::Acknowledge { .. }
            | Action::Notice { .. } => {}
        }
        match self.step(&mut after.world, &action) {
            Ok(effects) => self.witnesses.watch(&before.world, &action, &effects, &after.world),
            Err(violation) => after.violation = Some(violation),
        }
        Some(after)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = vec![
            Property::always("no peer is blamed", |_, state: &State| state.violation.is_none()),
            Property::always("S1: what is held lives", Model::held_objects_live),
            Property::always("S3: counts agree", Model::counts_agree),
            Property::always("S4: parents form a forest", Model::parents_form_a_forest),
            Property::always("nothing is dropped twice", Model::nothing_is_dropped_twice),
            Property::always("L1: nothing is left at the end", Model::nothing_is_left_at_the_end),
        ];
        if self.setup.fault.is_none() {
            properties.extend(witnesses::properties(&self.setup));
        }
        properties
    }
}

/// All ordered pairs of different nodes.
pub(crate) fn pairs(world: &World) -> impl Iterator<Item = (NodeId, NodeId)> {
    world
        .nodes()
        .flat_map(|from| world.nodes().filter(move |to| *to != from).map(move |to| (from, to)))
}
