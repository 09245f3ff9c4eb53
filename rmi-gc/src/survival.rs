//! The inputs of an entry that tell of lost connections, given-up sessions, adoption and time.

use crate::{
    Entry, ExportIndex, Fate, Forwarding, HomeSession, Millis, News, NodeId, ObjectId, Orders,
    PeerMisbehaved,
};

impl Entry {
    /// Whether a reference may be put on a frame to `to` (rules 1 and 16).
    pub fn forwarding(&self, id: ObjectId, to: NodeId, depth_max: u8) -> Forwarding {
        match self {
            Self::Home(_) => Forwarding::Now,
            Self::Bridge(bridge) => bridge.forwarding(id, to, depth_max),
        }
    }

    /// Someone wants a shorter path (rule 7): a first direct call, an idle holder, the depth bound. Nothing happens if the
    /// home is the parent, or adoption is under way, or there is no session with the home.
    pub fn adoption_wanted(&mut self, id: ObjectId, home: HomeSession) -> Orders {
        self.of_bridge(|bridge| bridge.adoption_wanted(id, home))
    }

    /// At home: `holder` asks to be adopted, with the right key (rule 8). It is counted once more, and owed an `Adopted`.
    pub fn adopts(&mut self, holder: NodeId) {
        match self {
            Self::Home(home) => {
                home.children.add_one(holder);
                home.estate.claimed_by(holder);
            }
            Self::Bridge(_) => debug_assert!(false, "only a home adopts"),
        }
    }

    /// At a holder: the home has counted a reference more, under its export index `index` (rule 9). There is no entry any
    /// more? Then the caller owes the home a release of 1.
    ///
    /// # Errors
    ///
    /// - [`PeerMisbehaved::DescribedOurOwn`]: the object lives here.
    /// - [`PeerMisbehaved::TwoIndicesForOne`]: the home uses another index than before.
    pub fn adopted(&mut self, id: ObjectId, index: ExportIndex) -> Result<Orders, PeerMisbehaved> {
        match self {
            Self::Home(_) => Err(PeerMisbehaved::DescribedOurOwn(id)),
            Self::Bridge(bridge) => bridge.adopted(id, index),
        }
    }

    /// At a holder: the home says that the object is gone or the key is wrong, or is known to be a new incarnation
    /// (rules 10 and 13).
    pub fn object_gone(&mut self) -> Orders {
        self.of_bridge(|bridge| bridge.broken())
    }

    /// The connection to `peer` is lost, and its session is not given up (rule 13).
    pub fn connection_lost(&mut self, id: ObjectId, peer: NodeId, home: HomeSession) -> Orders {
        self.of_bridge(|bridge| bridge.connection_lost(id, peer, home))
    }

    /// The connection to `peer` is back, its session resumed (rule 13).
    pub fn connection_back(&mut self, peer: NodeId) -> Orders {
        self.of_bridge(|bridge| bridge.connection_back(peer))
    }

    /// The session with `peer` was given up, for whatever reason (rules 12, 13 and 15): what `peer` held is kept until
    /// `deadline`, which is grace from now.
    pub fn session_given_up(
        &mut self,
        id: ObjectId,
        peer: NodeId,
        home: HomeSession,
        deadline: Millis,
    ) -> Orders {
        match self {
            Self::Home(own) => {
                if own.children.remove(peer) > 0 {
                    own.estate.left_by(peer, deadline);
                }
                Orders::fate(own.fate())
            }
            Self::Bridge(bridge) => bridge.session_given_up(id, peer, home, deadline),
        }
    }

    /// There is a session with the object's home, where there was none.
    pub fn home_session_opened(&mut self) -> Orders {
        self.of_bridge(|bridge| bridge.home_session_opened())
    }

    /// `from` has news of the path to the home (rules 14 and 17). News of who is not the parent any more changes nothing.
    pub fn told(&mut self, id: ObjectId, from: NodeId, news: News, home: HomeSession) -> Orders {
        self.of_bridge(|bridge| bridge.told(id, from, news, home))
    }

    /// This process slept for longer than the grace (rule 18).
    pub fn slept(&mut self) -> Orders {
        self.of_bridge(|bridge| bridge.slept())
    }

    /// This node is about to leave: children are asked to be adopted (rule 17).
    pub fn leaving(&self) -> Orders {
        match self {
            Self::Home(_) => Orders::NONE,
            Self::Bridge(bridge) => bridge.leaving(),
        }
    }

    /// This node leaves now, and what is left of its own handles counts no more (rule 17). A bridge with children, estate
    /// or pins is kept all the same: the end of the session turns it into an estate of its parent.
    pub fn left(&mut self) -> Fate {
        if let Self::Bridge(bridge) = self {
            bridge.local = 0;
        }
        self.fate()
    }

    /// Whether a reference that was passed on has not been released.
    pub fn has_children(&self) -> bool {
        match self {
            Self::Home(home) => !home.children.is_empty(),
            Self::Bridge(bridge) => !bridge.children.is_empty(),
        }
    }

    /// It is `now`: estates that are over go (rule 12).
    pub fn expire(&mut self, now: Millis) -> Fate {
        match self {
            Self::Home(home) => home.estate.expire(now),
            Self::Bridge(bridge) => bridge.estate.expire(now),
        }
        self.fate()
    }

    /// When [`expire`](Self::expire) is due next. All entries of one given-up session share a deadline, so that a table needs
    /// one timer for each, not one for each entry.
    pub fn next_deadline(&self) -> Option<Millis> {
        match self {
            Self::Home(home) => home.estate.next_deadline(),
            Self::Bridge(bridge) => bridge.estate.next_deadline(),
        }
    }

    fn of_bridge(&mut self, step: impl FnOnce(&mut crate::Bridge) -> Orders) -> Orders {
        match self {
            Self::Home(_) => Orders::NONE,
            Self::Bridge(bridge) => step(bridge),
        }
    }
}
