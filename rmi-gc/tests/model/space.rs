//! The collector as a state space.

use rmi_gc::{Millis, Mutant, NodeId, ObjectId, ObjectIndex, Policy, Rules};
use stateright::Property;

use crate::faults::Fault;
use crate::witnesses::{self, Witnesses};
use crate::world::{A, Action, World};

/// How large a world is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) budget: Budget,
    /// References to one object on one frame, at most.
    pub(crate) copies: u8,
    pub(crate) objects: u8,
    pub(crate) nodes: u8,
    /// Whether other steps may come between beginning a frame and letting it go.
    pub(crate) drafts: bool,
    /// Whether it begins with a reference that was passed down from node to node and is held by the last one only.
    pub(crate) chain: bool,
    /// Whether idle holders want to be adopted.
    pub(crate) idle: bool,
    /// Whether it may be the home that crashes.
    pub(crate) home_crashes: bool,
    /// A node that never drops its last handle.
    pub(crate) keeper: Option<NodeId>,
    pub(crate) policy: Policy,
    pub(crate) depth_max: u8,
    pub(crate) fault: Option<Fault>,
    pub(crate) mutant: Option<Mutant>,
}

/// How often something may happen.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub(crate) struct Budget {
    /// References sent.
    pub(crate) sends: u8,
    /// Frames rolled back.
    pub(crate) roll_backs: u8,
    /// Sessions given up although both sides live and are connected.
    pub(crate) give_ups: u8,
    /// Connections lost.
    pub(crate) cuts: u8,
    pub(crate) crashes: u8,
    /// Nodes that ask their children to be adopted.
    pub(crate) leaves: u8,
    /// Nodes that sleep for longer than the grace.
    pub(crate) sleeps: u8,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            budget: Budget { sends: 3, ..Budget::default() },
            copies: 1,
            objects: 1,
            nodes: 3,
            drafts: false,
            chain: false,
            idle: false,
            home_crashes: false,
            keeper: None,
            policy: Policy::Hierarchical,
            depth_max: 4,
            fault: None,
            mutant: None,
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
    pub(crate) left: Budget,
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
        let Setup { policy, depth_max, mutant, .. } = self.setup;
        let rules = Rules { policy, depth_max, mutant, grace: Millis(1) };
        let Setup { nodes, objects, .. } = self.setup;
        let world = World::new(usize::from(nodes), usize::from(objects), rules);
        vec![State {
            world: if self.setup.chain { chain(world) } else { world },
            left: self.setup.budget,
            violation: None,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        self.possible(state, actions);
    }

    fn next_state(&self, before: &State, action: Action) -> Option<State> {
        let mut after = before.clone();
        after.left.spend(&before.world, &action);
        match self.step(&mut after.world, &action) {
            Ok(_) => self.witnesses.watch(&before.world, &action, &after.world),
            Err(violation) => after.violation = Some(violation),
        }
        Some(after)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = vec![
            Property::always("no peer is blamed", |_, state: &State| state.violation.is_none()),
            Property::always("S1, S2: what is held lives", Model::held_objects_live),
            Property::always("S3: counts agree", Model::counts_agree),
            Property::always("S4: parents form a forest", Model::parents_form_a_forest),
            Property::always("nothing is dropped twice", Model::nothing_is_dropped_twice),
            Property::always("L1: nothing is left at the end", Model::nothing_is_left_at_the_end),
            Property::always("S2, L2: nobody is left in doubt", Model::nobody_is_left_in_doubt),
            Property::always("L3: no zombie is left", Model::no_zombie_is_left_at_the_end),
        ];
        if self.setup.fault.is_none() && self.setup.mutant.is_none() {
            properties.extend(witnesses::properties(&self.setup));
        }
        properties
    }
}

/// A reference is passed down, and dropped by all but the last.
fn chain(mut world: World) -> World {
    let object = ObjectId { home: A, index: ObjectIndex(1) };
    let nodes: Vec<_> = world.nodes().collect();
    for hop in nodes.windows(2) {
        let &[from, to] = hop else { unreachable!("windows of two") };
        for action in [
            Action::Send { from, to, objects: vec![object] },
            Action::Deliver { from, to },
            Action::Drop { node: from, object },
        ] {
            let _ = world.step(&action).expect("nobody misbehaves");
        }
    }
    world
}

impl Budget {
    fn spend(&mut self, world: &World, action: &Action) {
        match action {
            Action::Send { objects, .. } | Action::Draft { objects, .. } => {
                self.sends -= u8::try_from(objects.len()).expect("few copies");
            }
            Action::RollBack { .. } => self.roll_backs -= 1,
            Action::GiveUp { by, peer } => {
                self.give_ups -= u8::from(world.is_open(*by, *peer));
            }
            Action::Cut { .. } => self.cuts -= 1,
            Action::Crash { .. } => self.crashes -= 1,
            Action::Leave { .. } => self.leaves -= 1,
            Action::Oversleep { .. } => self.sleeps -= 1,
            Action::Write { .. }
            | Action::Deliver { .. }
            | Action::Drop { .. }
            | Action::Flush { .. }
            | Action::Acknowledge { .. }
            | Action::Notice { .. }
            | Action::Open { .. }
            | Action::Heal { .. }
            | Action::Learn { .. }
            | Action::Adopt { .. }
            | Action::Expire { .. } => {}
        }
    }
}

/// All ordered pairs of different nodes.
pub(crate) fn pairs(world: &World) -> impl Iterator<Item = (NodeId, NodeId)> {
    world
        .nodes()
        .flat_map(|from| world.nodes().filter(move |to| *to != from).map(move |to| (from, to)))
}
