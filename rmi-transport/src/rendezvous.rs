//! One connection at a time for each pair of incarnations, also when both dial each other at once.
//!
//! It decides about connections only: which session a connection is for is another question,
//! which the two settle in the hand-shake ([`Relation`](crate::handshake::Relation)).

use std::collections::{BTreeMap, BTreeSet};

use crate::handshake::Refusal;

/// What to do with a connection whose peer has introduced itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Go on: the acceptor welcomes, the dialler goes.
    Proceed,
    /// End it, with this reason.
    Refuse(Refusal),
}

/// Which peers a node has a connection with, or may have soon.
///
/// For every peer:
///
/// ```text
///            greeted: welcome               confirmed
///  (nothing) ────────────────▶ pending ──────────────────▶ open ──closed──▶ (nothing)
///      │     ◀────────────────    │                         ▲
///      │         abandoned        └── welcomed: go ─────────┤  if we are the smaller
///      └───────────────── welcomed: go ─────────────────────┘
/// ```
///
/// When both dial at once, *the connection that the smaller incarnation dialled wins*. The
/// greater one yields its own while one from the smaller is pending. The smaller one goes, and
/// forgets about the pending ones. A node that has a connection refuses every other one.
///
/// So a node is bound by its welcome: as long as it is pending, the node opens nothing else with
/// a smaller peer. That is why both ends always choose the same connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rendezvous {
    own: u64,
    peers: BTreeMap<u64, Peer>,
}

/// What is known of one peer. An entry without any content is removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Peer {
    open: bool,
    /// Connections that we accepted and welcomed, and that have not yet been confirmed. By
    /// token, so that the late end of one does not pass for the end of another.
    pending: BTreeSet<u64>,
}

impl Rendezvous {
    /// For the node of incarnation `own`, without any peers.
    pub fn new(own: u64) -> Self {
        Rendezvous { own, peers: BTreeMap::new() }
    }

    /// As acceptor: `peer` says hello, on the connection `token`. After
    /// [`Proceed`](Verdict::Proceed), exactly one of [`confirmed`](Self::confirmed) and
    /// [`abandoned`](Self::abandoned) is to follow.
    pub fn greeted(&mut self, peer: u64, token: u64) -> Verdict {
        if peer == self.own {
            return Verdict::Refuse(Refusal::SelfConnection);
        }
        if self.is_open(peer) {
            return Verdict::Refuse(Refusal::AlreadyConnected);
        }
        self.peers.entry(peer).or_default().pending.insert(token);
        Verdict::Proceed
    }

    /// As dialler: `peer` welcomes us. After [`Proceed`](Verdict::Proceed) the connection is open.
    pub fn welcomed(&mut self, peer: u64) -> Verdict {
        if peer == self.own {
            return Verdict::Refuse(Refusal::SelfConnection);
        }
        let state = self.peers.entry(peer).or_default();
        let theirs_wins = self.own > peer && !state.pending.is_empty();
        if state.open || theirs_wins {
            return Verdict::Refuse(Refusal::Yielded);
        }
        state.open = true;
        Verdict::Proceed
    }

    /// As acceptor: `peer` goes. `true`: the connection is open. `false`: another one was
    /// first, and this one is to be dropped.
    pub fn confirmed(&mut self, peer: u64, token: u64) -> bool {
        let Some(state) = self.peers.get_mut(&peer) else { return false };
        let opens = state.pending.remove(&token) && !state.open;
        state.open |= opens;
        opens
    }

    /// As acceptor: a connection that we welcomed ended before it was confirmed.
    pub fn abandoned(&mut self, peer: u64, token: u64) {
        if let Some(state) = self.peers.get_mut(&peer) {
            state.pending.remove(&token);
        }
        self.tidy(peer);
    }

    /// The connection with `peer` is lost, or was taken off.
    pub fn closed(&mut self, peer: u64) {
        if let Some(state) = self.peers.get_mut(&peer) {
            state.open = false;
        }
        self.tidy(peer);
    }

    /// Whether there is a connection with `peer`.
    pub fn is_open(&self, peer: u64) -> bool {
        self.peers.get(&peer).is_some_and(|state| state.open)
    }

    fn tidy(&mut self, peer: u64) {
        if self.peers.get(&peer).is_some_and(|state| *state == Peer::default()) {
            self.peers.remove(&peer);
        }
    }
}
