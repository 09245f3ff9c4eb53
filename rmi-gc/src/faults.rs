//! How a node's entries and ledgers go together when paths break: rules 7–18, joined.

use crate::collector::Session;
use crate::{
    Collector, Effects, Entry, ExportIndex, HomeSession, Millis, News, NodeId, Notice, ObjectId,
    Orders, PeerMisbehaved, Release, Tell,
};

impl Collector {
    /// Asks the home to adopt this node as holder of `object`, if that shortens its path (rule 7).
    pub fn adoption_wanted(&mut self, object: ObjectId) -> Effects {
        let home = self.session_with(object.home);
        let mut effects = Effects::default();
        if let Some(entry) = self.entries.get_mut(&object) {
            let orders = entry.adoption_wanted(object, home);
            self.carry_out(object, orders, &mut effects);
        }
        effects
    }

    /// The connection to `peer` is lost; its session is not given up (rule 13).
    pub fn connection_lost(&mut self, peer: NodeId) -> Effects {
        self.each(|object, entry, home| entry.connection_lost(object, peer, home))
    }

    /// The connection to `peer` is back, with its session (rule 13).
    pub fn connection_back(&mut self, peer: NodeId) -> Effects {
        self.each(|_, entry, _| entry.connection_back(peer))
    }

    /// The session with `peer` was given up at `now` (rules 12, 13 and 15).
    pub fn peer_gone(&mut self, peer: NodeId, now: Millis) -> Effects {
        self.sessions.remove(&peer);
        self.given_up.insert(peer);
        #[cfg(feature = "mutants")]
        self.before_giving_up(peer);
        let deadline = now.plus(self.rules.grace);
        #[cfg(feature = "mutants")]
        let rules = self.rules;
        self.each(|object, entry, home| {
            #[cfg(feature = "mutants")]
            let before = entry.clone();
            let orders = entry.session_given_up(object, peer, home, deadline);
            #[cfg(feature = "mutants")]
            let orders = rules.after_giving_up(&before, entry, orders);
            orders
        })
    }

    /// There is a session with `peer` anew.
    pub fn session_opened(&mut self, peer: NodeId) -> Effects {
        self.given_up.remove(&peer);
        #[cfg(feature = "mutants")]
        if self.rules.mutant == Some(crate::Mutant::AdoptionNotRetried) {
            return Effects::default();
        }
        self.each(
            |object, entry, _| {
                if object.home == peer { entry.home_session_opened() } else { Orders::NONE }
            },
        )
    }

    /// `home` is known to be gone for good: a new incarnation stands in its place (rule 13).
    pub fn incarnation_ended(&mut self, home: NodeId) -> Effects {
        self.each(
            |object, entry, _| {
                if object.home == home { entry.object_gone() } else { Orders::NONE }
            },
        )
    }

    /// `peer` asked to be adopted for `object`, under a key that is wrong (rule 8). Whoever checks keys says so, and the notice
    /// comes no further.
    pub fn denied(&mut self, peer: NodeId, object: ObjectId) {
        self.session(peer).ledger.owe_gone(object);
    }

    /// This process slept for longer than the grace (rule 18).
    pub fn slept(&mut self) -> Effects {
        let mut effects = self.each(|_, entry, _| entry.slept());
        effects.absorb(self.each(|_, entry, home| match home {
            HomeSession::Exists => entry.home_session_opened(),
            HomeSession::Absent => Orders::NONE,
        }));
        effects
    }

    /// This node is about to leave: its children are asked to be adopted (rule 17).
    pub fn leave(&mut self) -> Effects {
        self.each(|_, entry, _| entry.leaving())
    }

    /// It is `now`: estates that are over go (rule 12).
    pub fn expire(&mut self, now: Millis) -> Effects {
        self.each(|_, entry, _| Orders::fate(entry.expire(now)))
    }

    /// When [`expire`](Self::expire) is due next.
    pub fn next_deadline(&self) -> Option<Millis> {
        self.entries.values().filter_map(Entry::next_deadline).min()
    }

    /// Whether the session with `peer` was given up and there is no new one.
    pub fn has_given_up(&self, peer: NodeId) -> bool {
        self.given_up.contains(&peer)
    }

    fn each(
        &mut self,
        mut step: impl FnMut(ObjectId, &mut Entry, HomeSession) -> Orders,
    ) -> Effects {
        let mut effects = Effects::default();
        let objects: Vec<ObjectId> = self.entries.keys().copied().collect();
        for object in objects {
            let home = self.session_with(object.home);
            let orders = step(object, self.held(object), home);
            self.carry_out(object, orders, &mut effects);
        }
        effects
    }

    fn session_with(&self, home: NodeId) -> HomeSession {
        if self.given_up.contains(&home) { HomeSession::Absent } else { HomeSession::Exists }
    }

    /// Rule 9.
    pub(crate) fn was_adopted(
        &mut self,
        from: NodeId,
        object: ObjectId,
        effects: &mut Effects,
    ) -> Result<(), PeerMisbehaved> {
        let index = ExportIndex::from(object.index);
        if object.home != from {
            return Err(PeerMisbehaved::NotAsked(object));
        }
        self.session(from).ledger.adopted(index, object)?;
        match self.entries.get_mut(&object) {
            Some(entry) => {
                let orders = entry.adopted(object, index)?;
                #[cfg(feature = "mutants")]
                let orders = self.rules.after_adoption(orders);
                self.carry_out(object, orders, effects);
            }
            #[cfg(feature = "mutants")]
            None if self.rules.mutant == Some(crate::Mutant::LateAdoptionKept) => {}
            None => self.session(from).ledger.owe(index, 1),
        }
        Ok(())
    }

    pub(crate) fn notice_arrived(
        &mut self,
        from: NodeId,
        notice: Notice,
        effects: &mut Effects,
    ) -> Result<(), PeerMisbehaved> {
        match notice {
            Notice::Adopt { object } => self.adopts(from, object),
            Notice::Gone { object } => self.is_gone(from, object, effects),
            Notice::Path { index, news } => {
                self.path_news(from, index, news, effects);
                Ok(())
            }
        }
    }

    /// Rule 8.
    fn adopts(&mut self, holder: NodeId, object: ObjectId) -> Result<(), PeerMisbehaved> {
        if object.home != self.node {
            return Err(PeerMisbehaved::NotOurs(object));
        }
        let found = self.entries.get_mut(&object);
        let exists = found.map(|entry| entry.adopts(holder)).is_some();
        let ledger = &mut self.session(holder).ledger;
        if exists {
            ledger.owe_adopted(object)
        } else {
            ledger.owe_gone(object)
        }
        Ok(())
    }

    /// Rule 10.
    fn is_gone(
        &mut self,
        from: NodeId,
        object: ObjectId,
        effects: &mut Effects,
    ) -> Result<(), PeerMisbehaved> {
        if object.home != from {
            return Err(PeerMisbehaved::NotAsked(object));
        }
        self.session(from).ledger.gone(object)?;
        if let Some(entry) = self.entries.get_mut(&object) {
            let orders = entry.object_gone();
            self.carry_out(object, orders, effects);
        }
        Ok(())
    }

    /// Rules 14 and 17.
    fn path_news(&mut self, from: NodeId, index: ExportIndex, news: News, effects: &mut Effects) {
        let Some(object) = self.session(from).ledger.meaning(index) else { return };
        let home = self.session_with(object.home);
        if let Some(entry) = self.entries.get_mut(&object) {
            let orders = entry.told(object, from, news, home);
            self.carry_out(object, orders, effects);
        }
    }

    pub(crate) fn carry_out(&mut self, object: ObjectId, orders: Orders, effects: &mut Effects) {
        let Orders { fate, release, adopt, tell, waiting } = orders;
        self.owe(release);
        if let Some(Tell { news, index, children }) = tell {
            for child in children {
                self.session(child).ledger.tell(index, news);
            }
        }
        if adopt {
            let depth = 1;
            self.session(object.home).ledger.ask_adoption(object, depth);
        }
        effects.waiting.extend(waiting.map(|what| (object, what)));
        self.settle(object, fate, effects);
    }

    pub(crate) fn owe(&mut self, release: Option<Release>) {
        if let Some(Release { to, index, count }) = release {
            let Session { ledger, .. } = self.session(to);
            ledger.owe(index, count);
        }
    }
}
