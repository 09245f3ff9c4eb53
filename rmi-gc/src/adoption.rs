//! How a bridge keeps its object when paths break, rules 7–10 and 13–15.
//!
//! ```text
//!              ┌────────── voluntarily ──────────▶ Adopting { voluntary: true } ──┐
//!              │ ◀─ home session given up ─────────            │                  │
//!  Confirmed ──┤                                            in doubt              │
//!      ▲       │                                               ▼                  │
//!      │       ├─ in doubt, home session exists ──▶ Adopting { voluntary: false } ┤
//!      │       │                                       ▲  │ home session given up │
//!      │       └─ in doubt, home session absent ─▶ Suspect ◀┘                     │
//!      │                                             │                            │
//!      └── Adopted, Confirm, connection back ────────┴────────────────────────────┘
//!
//!  any ── Gone, or the home is a new incarnation ──▶ Broken
//! ```

use crate::bridge::owed_in_full;
use crate::{
    Bridge, ExportIndex, Fate, Forwarding, HomeSession, Millis, News, NodeId, ObjectId, Orders,
    Parent, PeerMisbehaved, Release, Standing, Tell, Waiting,
};

impl Bridge {
    /// Rule 7, voluntarily: the path is good, and a shorter one is wanted.
    pub(crate) fn adoption_wanted(&mut self, id: ObjectId, home: HomeSession) -> Orders {
        match (self.standing, home) {
            (Standing::Confirmed, HomeSession::Exists) if !self.is_below(id.home) => {
                self.standing = Standing::Adopting { voluntary: true };
                Orders { adopt: true, ..Orders::NONE }
            }
            (
                Standing::Confirmed
                | Standing::Adopting { .. }
                | Standing::Suspect
                | Standing::Broken,
                HomeSession::Exists | HomeSession::Absent,
            ) => Orders::NONE,
        }
    }

    /// Rule 9: the home counts one reference more, received under `index`.
    ///
    /// A `Broken` bridge takes it as well: the home knows better than whoever said that it was gone.
    pub(crate) fn adopted(
        &mut self,
        id: ObjectId,
        index: ExportIndex,
    ) -> Result<Orders, PeerMisbehaved> {
        let release = match &mut self.parent {
            Some(parent) if parent.peer == id.home => parent.received_again(id, index)?,
            Some(_) | None => {
                let old = self.parent.replace(Parent { peer: id.home, index, received: 1 });
                old.map(owed_in_full)
            }
        };
        self.depth = 1;
        self.rerooted = false;
        Ok(self.confirmed(release))
    }

    /// Rule 10: the object is gone, the key was wrong, or the home is a new incarnation.
    pub(crate) fn broken(&mut self) -> Orders {
        // Children that were not told to worry ask the home themselves, and are told by it.
        let tell = if self.children_worry() { None } else { self.tell(News::Reroot) };
        let waiting = (self.standing != Standing::Broken).then_some(Waiting::Fail);
        self.standing = Standing::Broken;
        Orders { tell, waiting, ..Orders::NONE }
    }

    /// Rule 13: the connection to `peer` is lost, and its session is not given up.
    pub(crate) fn connection_lost(
        &mut self,
        id: ObjectId,
        peer: NodeId,
        home: HomeSession,
    ) -> Orders {
        if peer != id.home && self.is_below(peer) { self.in_doubt(home) } else { Orders::NONE }
    }

    /// Rule 13: the connection to `peer` is back.
    pub(crate) fn connection_back(&mut self, peer: NodeId) -> Orders {
        if self.is_below(peer) && !self.rerooted { self.reassured() } else { Orders::NONE }
    }

    /// Rules 12, 13 and 15: the session with `peer` was given up.
    pub(crate) fn session_given_up(
        &mut self,
        id: ObjectId,
        peer: NodeId,
        home: HomeSession,
        deadline: Millis,
    ) -> Orders {
        let (shares, pins) = (self.children.remove(peer), self.pins.remove(peer));
        if shares + pins > 0 {
            self.estate.left_by(peer, deadline);
        }
        let home = if peer == id.home { HomeSession::Absent } else { home };
        let orders = if self.is_below(peer) {
            self.parent = None;
            self.rerooted = false;
            self.in_doubt(home)
        } else if peer == id.home {
            self.home_session_lost()
        } else {
            Orders::NONE
        };
        Orders { fate: self.fate(), ..orders }
    }

    /// Rule 15.
    fn home_session_lost(&mut self) -> Orders {
        match self.standing {
            Standing::Adopting { voluntary: true } => self.standing = Standing::Confirmed,
            Standing::Adopting { voluntary: false } => self.standing = Standing::Suspect,
            Standing::Confirmed | Standing::Suspect | Standing::Broken => {}
        }
        Orders::NONE
    }

    /// There is a session with the home: a bridge that waited for one asks to be adopted (rules 13–15).
    pub(crate) fn home_session_opened(&mut self) -> Orders {
        match self.standing {
            Standing::Suspect => {
                self.standing = Standing::Adopting { voluntary: false };
                Orders { adopt: true, ..Orders::NONE }
            }
            Standing::Confirmed | Standing::Adopting { .. } | Standing::Broken => Orders::NONE,
        }
    }

    /// Rules 14 and 17: news of the path, from `from`.
    pub(crate) fn told(
        &mut self,
        id: ObjectId,
        from: NodeId,
        news: News,
        home: HomeSession,
    ) -> Orders {
        // A home has no path that could be in doubt, and whoever is not the parent has no say.
        if from == id.home || !self.is_below(from) {
            return Orders::NONE;
        }
        match news {
            News::Reroot => {
                self.rerooted = true;
                self.in_doubt(home)
            }
            News::Confirm => {
                self.rerooted = false;
                self.reassured()
            }
            News::Leaving => self.adoption_wanted(id, home),
        }
    }

    /// Rule 18: this process slept for longer than the grace. Nobody may have waited for it.
    pub(crate) fn slept(&mut self) -> Orders {
        self.in_doubt(HomeSession::Absent)
    }

    /// Rule 17: this node is about to leave.
    pub(crate) fn leaving(&self) -> Orders {
        Orders { tell: self.tell(News::Leaving), ..Orders::NONE }
    }

    /// Whether a reference may be put on a frame to `to` (rules 1 and 16).
    pub(crate) fn forwarding(&self, id: ObjectId, to: NodeId, depth_max: u8) -> Forwarding {
        match self.standing {
            Standing::Confirmed | Standing::Adopting { voluntary: true } => {
                let deepens = to != id.home && !self.is_below(to);
                if deepens && self.depth >= depth_max {
                    Forwarding::AfterAdoption
                } else {
                    Forwarding::Now
                }
            }
            Standing::Adopting { voluntary: false } | Standing::Suspect => {
                Forwarding::AfterAdoption
            }
            Standing::Broken => Forwarding::Never,
        }
    }

    /// Rule 13. Children are told once; from then on they worry until they get a `Confirm` or are adopted.
    fn in_doubt(&mut self, home: HomeSession) -> Orders {
        let tell = if self.children_worry() { None } else { self.tell(News::Reroot) };
        match (self.standing, home) {
            (Standing::Broken, _)
            | (Standing::Adopting { voluntary: false }, HomeSession::Exists) => Orders::NONE,
            (
                Standing::Confirmed | Standing::Adopting { .. } | Standing::Suspect,
                HomeSession::Exists,
            ) => {
                self.standing = Standing::Adopting { voluntary: false };
                Orders { adopt: true, tell, ..Orders::NONE }
            }
            (
                Standing::Confirmed | Standing::Adopting { .. } | Standing::Suspect,
                HomeSession::Absent,
            ) => {
                self.standing = Standing::Suspect;
                Orders { tell, ..Orders::NONE }
            }
        }
    }

    /// The path under the old parent is good again.
    fn reassured(&mut self) -> Orders {
        match self.standing {
            Standing::Suspect | Standing::Adopting { voluntary: false } => self.confirmed(None),
            Standing::Confirmed | Standing::Adopting { voluntary: true } | Standing::Broken => {
                Orders::NONE
            }
        }
    }

    /// The path is good, whatever the standing was.
    fn confirmed(&mut self, release: Option<Release>) -> Orders {
        let tell = if self.children_worry() { self.tell(News::Confirm) } else { None };
        self.standing = Standing::Confirmed;
        Orders { fate: Fate::Kept, release, adopt: false, tell, waiting: Some(Waiting::GoOn) }
    }

    /// Whether children were told that the path is in doubt. Whoever became a child did so before, as a bridge in doubt
    /// passes nothing on.
    fn children_worry(&self) -> bool {
        match self.standing {
            Standing::Confirmed | Standing::Adopting { voluntary: true } => false,
            Standing::Adopting { voluntary: false } | Standing::Suspect | Standing::Broken => true,
        }
    }

    fn tell(&self, news: News) -> Option<Tell> {
        let children = self.children.peers();
        // Whoever has children was passed on, and so has a number.
        let index = self.export?;
        (!children.is_empty()).then_some(Tell { news, index, children })
    }

    fn is_below(&self, peer: NodeId) -> bool {
        self.parent.is_some_and(|parent| parent.peer == peer)
    }
}
