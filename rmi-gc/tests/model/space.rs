//! The collector as a state space.

use std::fmt;

use rmi_gc::{Millis, Mutant, NodeId, Policy, Rules};
use stateright::Property;

use crate::faults::Fault;
use crate::witnesses::{Step, Witnesses};
use crate::world::{A, Action, World};

/// How large a world is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) budget: Budget,
    /// References to one object on one frame, at most.
    pub(crate) copies: u8,
    /// Where objects live: one each.
    pub(crate) homes: &'static [NodeId],
    pub(crate) nodes: u8,
    /// Whether other steps may come between beginning a frame and letting it go.
    pub(crate) drafts: bool,
    /// Whether it begins with a reference that was passed down from node to node and is held by the last one only.
    pub(crate) chain: bool,
    /// Whether idle holders want to be adopted.
    pub(crate) idle: bool,
    /// Whether it may be a home that crashes.
    pub(crate) home_crashes: bool,
    /// A node that never drops its last handle.
    pub(crate) keeper: Option<NodeId>,
    /// A node that is given nothing, and asks for adoption all the same.
    pub(crate) thief: Option<NodeId>,
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
    /// Nodes that are back after a crash, as new incarnations.
    pub(crate) restarts: u8,
    /// Nodes that ask their children to be adopted.
    pub(crate) leaves: u8,
    /// Nodes that sleep for longer than the grace.
    pub(crate) sleeps: u8,
    /// Adoptions that the thief asks for.
    pub(crate) guesses: u8,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            budget: Budget { sends: 3, ..Budget::default() },
            copies: 1,
            homes: &[A],
            nodes: 3,
            drafts: false,
            chain: false,
            idle: false,
            home_crashes: false,
            keeper: None,
            thief: None,
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
        let is_right = setup.fault.is_none() && setup.mutant.is_none();
        let witnesses = if is_right { Witnesses::of(&setup) } else { Witnesses::default() };
        Self { setup, witnesses }
    }
}

impl stateright::Model for Model {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let Setup { policy, depth_max, mutant, .. } = self.setup;
        let rules = Rules { policy, depth_max, mutant, grace: Millis(1) };
        let Setup { nodes, homes, thief, .. } = self.setup;
        let mut world = World::new(usize::from(nodes), homes, rules);
        world.thief = thief;
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
            Ok(effects) => self.witnesses.watch(&Step {
                before: &before.world,
                action: &action,
                effects: &effects,
                after: &after.world,
            }),
            Err(violation) => after.violation = Some(violation),
        }
        Some(after)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = vec![
            Property::always("S1, S2: what is held lives", Model::held_objects_live),
            Property::always("S3: counts agree", Model::counts_agree),
            Property::always("S4: parents form a forest", Model::parents_form_a_forest),
            Property::always("S5: no peer is blamed", |_, state: &State| state.violation.is_none()),
            Property::always("S5: nothing is stolen", Model::nothing_is_stolen),
            Property::always("L1: nothing is dropped twice", Model::nothing_is_dropped_twice),
            Property::always("L1: nothing is left at the end", Model::nothing_is_left_at_the_end),
            Property::always("S2, L2: nobody is left in doubt", Model::nobody_is_left_in_doubt),
            Property::always("L3: no zombie is left", Model::no_zombie_is_left_at_the_end),
        ];
        properties.extend(self.witnesses.properties());
        properties
    }
}

/// A reference is passed down, and dropped by all but the last.
fn chain(mut world: World) -> World {
    let object = *world.objects().first().expect("something is passed down");
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
            Action::Restart { .. } => self.restarts -= 1,
            Action::Leave { .. } => self.leaves -= 1,
            Action::Oversleep { .. } => self.sleeps -= 1,
            Action::Guess { .. } => self.guesses -= 1,
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

impl fmt::Display for Setup {
    /// How large the world is, shortly.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Budget { sends, roll_backs, give_ups, cuts, crashes, .. } = self.budget;
        let Budget { restarts, leaves, sleeps, guesses, .. } = self.budget;
        write!(f, "{} nodes", self.nodes)?;
        let objects = u8::try_from(self.homes.len()).expect("few objects");
        for (count, what) in [
            (objects, "object"),
            (sends, "send"),
            (roll_backs, "roll-back"),
            (give_ups, "give-up"),
            (cuts, "cut"),
            (crashes, "crash"),
            (restarts, "restart"),
            (leaves, "leave"),
            (sleeps, "sleep"),
            (guesses, "guess"),
        ] {
            match (count, what) {
                (0, _) => {}
                (1, _) => write!(f, ", 1 {what}")?,
                (_, "crash" | "guess") => write!(f, ", {count} {what}es")?,
                (_, _) => write!(f, ", {count} {what}s")?,
            }
        }
        Ok(())
    }
}
