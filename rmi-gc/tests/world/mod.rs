//! A few nodes and the lanes between them, for scripts and for the model.

mod action;
mod trouble;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use rmi_gc::{Collector, Draft, Effects, NodeId, ObjectId, PeerMisbehaved, Rules};

pub(crate) use action::{Action, Letter};
pub(crate) use trouble::next_incarnation;

/// The home of all objects, unless others are named, and its holders.
pub(crate) const A: NodeId = NodeId(0xa);
pub(crate) const B: NodeId = NodeId(0xb);
pub(crate) const C: NodeId = NodeId(0xc);
pub(crate) const D: NodeId = NodeId(0xd);

/// All there is.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct World {
    nodes: Vec<Arc<Collector>>,
    /// Directions in which there is something to tell; no other is here, so that equal worlds are equal.
    links: BTreeMap<(NodeId, NodeId), Link>,
    /// All objects there ever were.
    objects: Vec<ObjectId>,
    /// Objects that were dropped at home, each as often as it was.
    pub(crate) freed: Vec<ObjectId>,
    /// Pairs whose session lacks a connection.
    cut: BTreeSet<(NodeId, NodeId)>,
    /// Pairs without a session.
    closed: BTreeSet<(NodeId, NodeId)>,
    pub(crate) dead: BTreeSet<NodeId>,
    /// Holders, and the home from which each was cut off when some grace was over, without having been adopted by it since:
    /// the only ones that may lose a reference.
    pub(crate) excused: BTreeSet<(NodeId, NodeId)>,
    /// A node that keeps to no rule. It hears nothing of what it is told.
    pub(crate) thief: Option<NodeId>,
    rules: Rules,
}

/// One direction between two nodes.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(crate) struct Link {
    pub(crate) lane: VecDeque<Letter>,
    pub(crate) draft: Option<(Draft, Vec<ObjectId>)>,
    /// The sender gave the session up, and the receiver has not noticed.
    pub(crate) given_up: bool,
}

static IDLE: Link = Link { lane: VecDeque::new(), draft: None, given_up: false };

impl World {
    /// As many nodes, from [`A`] on, and an object with one handle at each of the `homes`.
    pub(crate) fn new(nodes: usize, homes: &[NodeId], rules: Rules) -> Self {
        let with_rules = |node| Arc::new(Collector::with_rules(node, rules));
        let mut world = Self {
            nodes: [A, B, C, D].into_iter().take(nodes).map(with_rules).collect(),
            links: BTreeMap::new(),
            objects: Vec::new(),
            freed: Vec::new(),
            cut: BTreeSet::new(),
            closed: BTreeSet::new(),
            dead: BTreeSet::new(),
            excused: BTreeSet::new(),
            thief: None,
            rules,
        };
        homes.iter().for_each(|home| world.export(*home));
        world
    }

    pub(crate) fn is_cut(&self, one: NodeId, other: NodeId) -> bool {
        self.cut.contains(&pair(one, other))
    }

    pub(crate) fn is_closed(&self, one: NodeId, other: NodeId) -> bool {
        self.closed.contains(&pair(one, other))
    }

    pub(crate) fn is_alive(&self, node: NodeId) -> bool {
        !self.dead.contains(&node)
    }

    /// Whether nothing keeps the two from talking.
    pub(crate) fn is_open(&self, one: NodeId, other: NodeId) -> bool {
        !self.is_cut(one, other)
            && !self.is_closed(one, other)
            && self.is_alive(one)
            && self.is_alive(other)
            && !self.link(one, other).given_up
            && !self.link(other, one).given_up
    }

    pub(crate) fn nodes(&self) -> impl Iterator<Item = NodeId> {
        self.nodes.iter().map(|node| node.node())
    }

    pub(crate) fn objects(&self) -> &[ObjectId] {
        &self.objects
    }

    pub(crate) fn node(&self, node: NodeId) -> &Collector {
        &self.nodes[self.position(node)]
    }

    pub(crate) fn node_mut(&mut self, node: NodeId) -> &mut Collector {
        let position = self.position(node);
        Arc::make_mut(&mut self.nodes[position])
    }

    pub(crate) fn link(&self, from: NodeId, to: NodeId) -> &Link {
        self.links.get(&(from, to)).unwrap_or(&IDLE)
    }

    pub(crate) fn link_mut(&mut self, from: NodeId, to: NodeId) -> &mut Link {
        self.links.entry((from, to)).or_default()
    }

    /// Takes one step, which must be possible.
    pub(crate) fn step(&mut self, action: &Action) -> Result<Effects, PeerMisbehaved> {
        let effects = match action {
            Action::Send { from, to, objects } => {
                self.draft(*from, *to, objects);
                self.write(*from, *to)
            }
            Action::Draft { from, to, objects } => {
                self.draft(*from, *to, objects);
                Effects::default()
            }
            Action::Write { from, to } => self.write(*from, *to),
            Action::RollBack { from, to } => {
                let (draft, _) = self.take_draft(*from, *to);
                self.node_mut(*from).roll_back(draft)
            }
            Action::Deliver { from, to } => self.deliver(*from, *to)?,
            Action::Drop { node, object } => self.node_mut(*node).drop_handle(*object),
            Action::Flush { from, to } => {
                let frame = self.node_mut(*from).flush(*to).expect("a release is owed");
                self.post(*from, *to, Letter::Frame { frame, meant: Vec::new() });
                Effects::default()
            }
            Action::Acknowledge { from, to } => {
                let news = self.node_mut(*from).acknowledge(*to).expect("something arrived");
                self.post(*from, *to, Letter::Acknowledgement(news));
                Effects::default()
            }
            Action::Adopt { node, object } => self.node_mut(*node).adoption_wanted(*object),
            Action::Guess { thief, object } => {
                self.post(*thief, object.home, Letter::Guess(*object));
                Effects::default()
            }
            Action::GiveUp { .. }
            | Action::Notice { .. }
            | Action::Open { .. }
            | Action::Cut { .. }
            | Action::Heal { .. }
            | Action::Crash { .. }
            | Action::Restart { .. }
            | Action::Learn { .. }
            | Action::Leave { .. }
            | Action::Oversleep { .. }
            | Action::Expire { .. } => self.trouble(action),
        };
        self.freed.extend(&effects.freed);
        self.forgive();
        self.tidy();
        Ok(effects)
    }

    pub(crate) fn export(&mut self, home: NodeId) {
        let object = self.node_mut(home).export();
        self.objects.push(object);
    }

    /// Forgets directions in which nothing is under way.
    pub(crate) fn tidy(&mut self) {
        self.links.retain(|_, link| *link != IDLE);
    }

    fn draft(&mut self, from: NodeId, to: NodeId, objects: &[ObjectId]) {
        let draft = self.node_mut(from).draft(to, objects).expect("only no orphan is passed on");
        self.link_mut(from, to).draft = Some((draft, objects.to_vec()));
    }

    fn write(&mut self, from: NodeId, to: NodeId) -> Effects {
        let (draft, meant) = self.take_draft(from, to);
        let (frame, effects) = self.node_mut(from).write(draft);
        self.post(from, to, Letter::Frame { frame, meant });
        effects
    }

    fn deliver(&mut self, from: NodeId, to: NodeId) -> Result<Effects, PeerMisbehaved> {
        let letter = self.link_mut(from, to).lane.pop_front().expect("a letter is under way");
        if self.thief == Some(to) {
            return Ok(Effects::default());
        }
        match letter {
            Letter::Acknowledgement(up_to) => Ok(self.node_mut(to).acknowledged(from, up_to)),
            // Whoever checks the key sees that it is wrong.
            Letter::Guess(object) => {
                self.node_mut(to).denied(from, object);
                Ok(Effects::default())
            }
            Letter::Frame { frame, meant } => {
                let effects = self.node_mut(to).receive(from, &frame)?;
                if effects.lost.is_empty() {
                    assert_eq!(effects.arrived, meant, "an index meant something else");
                }
                self.excuse_receiver(from, to, &meant);
                Ok(effects)
            }
        }
    }

    fn post(&mut self, from: NodeId, to: NodeId, letter: Letter) {
        if !self.link(to, from).given_up {
            self.link_mut(from, to).lane.push_back(letter);
        }
    }

    fn take_draft(&mut self, from: NodeId, to: NodeId) -> (Draft, Vec<ObjectId>) {
        self.link_mut(from, to).draft.take().expect("a message was begun")
    }

    fn position(&self, node: NodeId) -> usize {
        self.nodes().position(|other| other == node).expect("it is one of the world's nodes")
    }
}

fn pair(one: NodeId, other: NodeId) -> (NodeId, NodeId) {
    (one.min(other), one.max(other))
}
