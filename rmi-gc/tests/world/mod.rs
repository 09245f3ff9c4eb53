//! A few nodes and the lanes between them, for scripts and for the model.

use std::collections::{BTreeSet, VecDeque};

use rmi_gc::{
    Collector, Draft, Effects, Frame, FrameNumber, Millis, NodeId, ObjectId, PeerMisbehaved, Rules,
};

/// The home of all objects, and its holders.
pub(crate) const A: NodeId = NodeId(0xa);
pub(crate) const B: NodeId = NodeId(0xb);
pub(crate) const C: NodeId = NodeId(0xc);
pub(crate) const D: NodeId = NodeId(0xd);

/// What travels in a lane.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Letter {
    /// A frame, and what its references were meant to name.
    Frame { frame: Frame, meant: Vec<ObjectId> },
    /// An acknowledgement without a frame.
    Acknowledgement(FrameNumber),
}

/// One step of the world.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Action {
    /// A message with references is sent, all at once.
    Send { from: NodeId, to: NodeId, objects: Vec<ObjectId> },
    /// A message with references is begun.
    Draft { from: NodeId, to: NodeId, objects: Vec<ObjectId> },
    /// The message that was begun is let go.
    Write { from: NodeId, to: NodeId },
    /// The message that was begun certainly never leaves.
    RollBack { from: NodeId, to: NodeId },
    /// The oldest letter of a lane arrives.
    Deliver { from: NodeId, to: NodeId },
    /// A local handle is dropped.
    Drop { node: NodeId, object: ObjectId },
    /// Owed releases leave by themselves.
    Flush { from: NodeId, to: NodeId },
    /// What arrived is acknowledged without a frame.
    Acknowledge { from: NodeId, to: NodeId },
    /// A node gives up a session. Its peer does not know yet, and may receive what is under way.
    GiveUp { by: NodeId, peer: NodeId },
    /// The peer notices. There is no session any more.
    Notice { node: NodeId, peer: NodeId },
    /// There is a session again.
    Open { one: NodeId, other: NodeId },
    /// The connection of a session is lost, and both sides know.
    Cut { one: NodeId, other: NodeId },
    /// The session has a connection again.
    Heal { one: NodeId, other: NodeId },
    /// A node is no more. What it sent is still under way.
    Crash { node: NodeId },
    /// A node learns that a home is no more.
    Learn { node: NodeId, home: NodeId },
    /// A node wants to be adopted, because it is idle.
    Adopt { node: NodeId, object: ObjectId },
    /// A node asks its children to be adopted, as it is about to leave.
    Leave { node: NodeId },
    /// A node slept for longer than the grace.
    Oversleep { node: NodeId },
    /// The grace of all estates at a node is over.
    Expire { node: NodeId },
}

/// All there is.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct World {
    nodes: Vec<Collector>,
    links: Vec<Vec<Link>>,
    /// Objects that were dropped at home, each as often as it was.
    pub(crate) freed: Vec<ObjectId>,
    /// Pairs whose session lacks a connection.
    cut: BTreeSet<(NodeId, NodeId)>,
    /// Pairs without a session.
    closed: BTreeSet<(NodeId, NodeId)>,
    pub(crate) dead: BTreeSet<NodeId>,
    /// Nodes that were cut off from the home when some grace was over, and have not been adopted since: the only ones that
    /// may lose a reference.
    pub(crate) excused: BTreeSet<NodeId>,
}

/// One direction between two nodes.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(crate) struct Link {
    pub(crate) lane: VecDeque<Letter>,
    pub(crate) draft: Option<(Draft, Vec<ObjectId>)>,
    /// The sender gave the session up, and the receiver has not noticed.
    pub(crate) given_up: bool,
}

impl World {
    /// As many nodes, from [`A`] on, and objects at `A`, each with one handle.
    pub(crate) fn new(nodes: usize, objects: usize, rules: Rules) -> Self {
        let links = vec![vec![Link::default(); nodes]; nodes];
        let with_rules = |node| Collector::with_rules(node, rules);
        let mut nodes: Vec<_> = [A, B, C, D].into_iter().take(nodes).map(with_rules).collect();
        for _ in 0..objects {
            nodes[0].export();
        }
        Self {
            nodes,
            links,
            freed: Vec::new(),
            cut: BTreeSet::new(),
            closed: BTreeSet::new(),
            dead: BTreeSet::new(),
            excused: BTreeSet::new(),
        }
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
        self.nodes.iter().map(Collector::node)
    }

    pub(crate) fn node(&self, node: NodeId) -> &Collector {
        &self.nodes[position(node)]
    }

    pub(crate) fn node_mut(&mut self, node: NodeId) -> &mut Collector {
        &mut self.nodes[position(node)]
    }

    pub(crate) fn link(&self, from: NodeId, to: NodeId) -> &Link {
        &self.links[position(from)][position(to)]
    }

    pub(crate) fn link_mut(&mut self, from: NodeId, to: NodeId) -> &mut Link {
        &mut self.links[position(from)][position(to)]
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
            Action::GiveUp { by, peer } => self.give_up(*by, *peer),
            Action::Notice { node, peer } => {
                *self.link_mut(*peer, *node) = Link::default();
                self.closed.insert(pair(*node, *peer));
                self.forget(*node, *peer)
            }
            Action::Open { one, other } => {
                self.closed.remove(&pair(*one, *other));
                self.both(*one, *other, Collector::session_opened)
            }
            Action::Cut { one, other } => {
                self.cut.insert(pair(*one, *other));
                self.both(*one, *other, Collector::connection_lost)
            }
            Action::Heal { one, other } => {
                self.cut.remove(&pair(*one, *other));
                self.both(*one, *other, Collector::connection_back)
            }
            Action::Crash { node } => {
                self.crash(*node);
                Effects::default()
            }
            Action::Learn { node, home } => self.node_mut(*node).incarnation_ended(*home),
            Action::Adopt { node, object } => self.node_mut(*node).adoption_wanted(*object),
            Action::Leave { node } => self.node_mut(*node).leave(),
            Action::Oversleep { node } => self.node_mut(*node).slept(),
            Action::Expire { node } => {
                let cut_off: Vec<_> = self.nodes().filter(|node| self.is_cut_off(*node)).collect();
                self.excused.extend(cut_off);
                let grace_is_over = Millis(u64::MAX);
                self.node_mut(*node).expire(grace_is_over)
            }
        };
        self.freed.extend(&effects.freed);
        self.forgive();
        Ok(effects)
    }

    fn is_cut_off(&self, node: NodeId) -> bool {
        node != A && self.is_alive(node) && !self.is_open(node, A)
    }

    /// Whoever the home counts again has no excuse any more.
    fn forgive(&mut self) {
        let excused = std::mem::take(&mut self.excused);
        let still = |node: &NodeId| {
            self.is_alive(*node)
                && self.node(*node).snapshot().bridges.iter().any(|bridge| {
                    bridge.parent.is_none_or(|parent| parent.peer != A) || !self.is_open(*node, A)
                })
        };
        self.excused = excused.into_iter().filter(still).collect();
    }

    fn both(
        &mut self,
        one: NodeId,
        other: NodeId,
        step: impl Fn(&mut Collector, NodeId) -> Effects,
    ) -> Effects {
        let mut effects = step(self.node_mut(one), other);
        effects.freed.extend(step(self.node_mut(other), one).freed);
        effects
    }

    fn give_up(&mut self, by: NodeId, peer: NodeId) -> Effects {
        self.cut.remove(&pair(by, peer));
        self.link_mut(peer, by).lane.clear();
        if self.is_alive(peer) {
            self.link_mut(by, peer).given_up = true;
        } else {
            *self.link_mut(peer, by) = Link::default();
            self.closed.insert(pair(by, peer));
        }
        self.forget(by, peer)
    }

    fn crash(&mut self, node: NodeId) {
        *self.node_mut(node) = Collector::new(node);
        self.dead.insert(node);
        self.excused.remove(&node);
        for peer in self.nodes().filter(|peer| *peer != node).collect::<Vec<_>>() {
            if std::mem::take(self.link_mut(peer, node)).given_up {
                self.closed.insert(pair(node, peer));
            }
            self.cut.remove(&pair(node, peer));
            let link = self.link_mut(node, peer);
            link.draft = None;
            if std::mem::take(&mut link.given_up) {
                // The peer will notice that the node is dead all the same.
                link.lane.clear();
            }
        }
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
        match self.link_mut(from, to).lane.pop_front().expect("a letter is under way") {
            Letter::Acknowledgement(up_to) => Ok(self.node_mut(to).acknowledged(from, up_to)),
            Letter::Frame { frame, meant } => {
                let effects = self.node_mut(to).receive(from, &frame)?;
                if effects.lost.is_empty() {
                    assert_eq!(effects.arrived, meant, "an index meant something else");
                }
                let below = |object: &ObjectId| {
                    let parent = self.node(to).entry(*object).and_then(|entry| entry.parent());
                    self.freed.contains(object) || parent.is_some_and(|parent| parent.peer == from)
                };
                if self.excused.contains(&from) && meant.iter().any(below) {
                    // It was sent by one who has lost it, perhaps before that one knew.
                    self.excused.insert(to);
                }
                Ok(effects)
            }
        }
    }

    fn forget(&mut self, node: NodeId, peer: NodeId) -> Effects {
        let mut effects = self.node_mut(node).peer_gone(peer, Millis(0));
        if let Some((draft, _)) = self.link_mut(node, peer).draft.take() {
            effects.freed.extend(self.node_mut(node).abandon(draft).freed);
        }
        effects
    }

    fn post(&mut self, from: NodeId, to: NodeId, letter: Letter) {
        if !self.link(to, from).given_up {
            self.link_mut(from, to).lane.push_back(letter);
        }
    }

    fn take_draft(&mut self, from: NodeId, to: NodeId) -> (Draft, Vec<ObjectId>) {
        self.link_mut(from, to).draft.take().expect("a message was begun")
    }
}

fn position(node: NodeId) -> usize {
    usize::try_from(node.0 - A.0).expect("nodes are numbered from A on")
}

fn pair(one: NodeId, other: NodeId) -> (NodeId, NodeId) {
    (one.min(other), one.max(other))
}
