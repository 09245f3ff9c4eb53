//! A few nodes and the lanes between them, for scripts and for the model.

use std::collections::VecDeque;

use rmi_gc::{Collector, Draft, Effects, Frame, FrameNumber, NodeId, ObjectId, PeerMisbehaved};

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
    /// The peer notices. The next frame begins a new session.
    Notice { node: NodeId, peer: NodeId },
}

/// All there is.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct World {
    nodes: Vec<Collector>,
    links: Vec<Vec<Link>>,
    /// Objects that were dropped at home, each as often as it was.
    pub(crate) freed: Vec<ObjectId>,
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
    pub(crate) fn new(nodes: usize, objects: usize) -> Self {
        let links = vec![vec![Link::default(); nodes]; nodes];
        let mut nodes: Vec<_> = [A, B, C, D].into_iter().take(nodes).map(Collector::new).collect();
        for _ in 0..objects {
            nodes[0].export();
        }
        Self { nodes, links, freed: Vec::new() }
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
            Action::GiveUp { by, peer } => {
                self.link_mut(*by, *peer).given_up = true;
                self.link_mut(*peer, *by).lane.clear();
                self.forget(*by, *peer)
            }
            Action::Notice { node, peer } => {
                *self.link_mut(*peer, *node) = Link::default();
                self.forget(*node, *peer)
            }
        };
        self.freed.extend(&effects.freed);
        Ok(effects)
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
                Ok(effects)
            }
        }
    }

    fn forget(&mut self, node: NodeId, peer: NodeId) -> Effects {
        let mut effects = self.node_mut(node).peer_gone(peer);
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
