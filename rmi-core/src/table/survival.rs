//! Adoption, doubt, and the end of peers (`gc.md`, rules 7 to 18).

use std::sync::Arc;

use rmi_gc::{
    Entry, ExportIndex, Fate, HomeSession, Millis, News, NodeId, ObjectId, ObjectIndex, Orders,
    PeerMisbehaved, Policy, Standing,
};

use super::{Cell, Errands, Freed, NotCallable, Subject, Table, same_key};
use crate::interface::Exported;
use crate::map::Entry as Place;
use crate::reference::{Identity, Key};

impl Table {
    /// A shorter way to the home is wanted (rule 7).
    pub(crate) fn adoption_wanted(&self, id: ObjectId, errands: &impl Errands) {
        if let Some(mut cell) = self.entries.get_mut(&id) {
            cell.carry_out(errands, |gc, home| gc.adoption_wanted(id, home));
        }
    }

    /// At home: `holder` asks to be adopted (rule 8).
    pub(crate) fn adopts(
        &self,
        holder: NodeId,
        index: ObjectIndex,
        key: &Key,
    ) -> Result<(), NotCallable> {
        let id = ObjectId { home: self.own, index };
        let mut cell = self.entries.get_mut(&id).ok_or(NotCallable::Gone)?;
        if !same_key(&cell.identity.key, key) {
            return Err(NotCallable::WrongKey);
        }
        cell.gc.adopts(holder);
        Ok(())
    }

    /// At a holder: the home has counted one reference more (rule 9). False if there is no entry
    /// any more: then it is owed back.
    pub(crate) fn adopted(
        &self,
        id: ObjectId,
        index: ExportIndex,
        errands: &impl Errands,
    ) -> Result<bool, PeerMisbehaved> {
        let Some(mut cell) = self.entries.get_mut(&id) else { return Ok(false) };
        let fate = cell.step(errands, |gc| gc.adopted(id, index))?;
        debug_assert_eq!(fate, Fate::Kept, "the home's reference keeps it");
        Ok(true)
    }

    /// The object is gone for good (rule 10).
    pub(crate) fn object_gone(&self, id: ObjectId, errands: &impl Errands) {
        if let Some(mut cell) = self.entries.get_mut(&id) {
            cell.carry_out(errands, |gc, _| gc.object_gone());
        }
    }

    /// The parent tells of its way to the home (rules 14 and 17).
    pub(crate) fn told(&self, id: ObjectId, from: NodeId, news: News, errands: &impl Errands) {
        if let Some(mut cell) = self.entries.get_mut(&id) {
            cell.carry_out(errands, |gc, home| gc.told(id, from, news, home));
        }
    }

    /// The connection with `peer` is lost; its session is not (rule 13).
    pub(crate) fn connection_lost(&self, peer: NodeId, errands: &impl Errands) {
        self.each_bridge(errands, |id, gc, home| gc.connection_lost(id, peer, home));
    }

    /// The connection with `peer` is back (rule 13).
    pub(crate) fn connection_back(&self, peer: NodeId, errands: &impl Errands) {
        self.each_bridge(errands, |_, gc, _| gc.connection_back(peer));
    }

    /// The session with `peer` was given up (rules 12, 13 and 15): what it had is kept until
    /// `deadline`.
    pub(crate) fn session_given_up(
        &self,
        peer: NodeId,
        deadline: Millis,
        errands: &impl Errands,
    ) -> Vec<Arc<Exported>> {
        self.each(errands, |id, cell| {
            if let Subject::Elsewhere { former, .. } = &mut cell.subject {
                former.retain(|release| release.to != peer);
            }
            cell.decide(errands, |gc, home| gc.session_given_up(id, peer, home, deadline))
        })
    }

    /// There is a session with `home`: orphans ask it to be adopted.
    pub(crate) fn home_session_opened(&self, home: NodeId, errands: &impl Errands) {
        self.each_bridge(errands, |id, gc, _| {
            if id.home == home { gc.home_session_opened() } else { Orders::NONE }
        });
    }

    /// `home` is known to be no more: another incarnation stands in its place, or it has left.
    pub(crate) fn home_gone(&self, home: NodeId, errands: &impl Errands) {
        self.each_bridge(
            errands,
            |id, gc, _| {
                if id.home == home { gc.object_gone() } else { Orders::NONE }
            },
        );
    }

    /// This process slept for longer than the grace (rule 18).
    pub(crate) fn slept(&self, errands: &impl Errands) {
        self.each_bridge(errands, |_, gc, _| gc.slept());
        self.each_bridge(errands, |_, gc, home| match home {
            HomeSession::Exists => gc.home_session_opened(),
            HomeSession::Absent => Orders::NONE,
        });
    }

    /// This node is about to leave: children are asked to be adopted (rule 17).
    pub(crate) fn leaving(&self, errands: &impl Errands) {
        self.each_bridge(errands, |_, gc, _| gc.leaving());
    }

    /// Does a bridge still count references that it passed on?
    pub(crate) fn has_children_elsewhere(&self) -> bool {
        self.entries.iter().any(|cell| match &cell.gc {
            Entry::Home(_) => false,
            Entry::Bridge(_) => cell.gc.has_children(),
        })
    }

    /// This node leaves now: what nothing but its own handles keeps is released (rule 17).
    pub(crate) fn let_go_of_own_handles(&self, errands: &impl Errands) {
        let freed =
            self.each(
                errands,
                |id, cell| {
                    if id.home == self.own { Fate::Kept } else { cell.gc.left() }
                },
            );
        debug_assert!(freed.is_empty(), "bridges have no object");
    }

    /// It is `now`: estates that are over go (rule 12).
    pub(crate) fn expire(&self, now: Millis, errands: &impl Errands) -> Vec<Arc<Exported>> {
        self.each(errands, |_, cell| cell.gc.expire(now))
    }

    /// A bridge that waits for a session with its home, if there is one.
    pub(crate) fn orphan_of(&self, home: NodeId) -> Option<Arc<Identity>> {
        let orphan = self.entries.iter().find(|cell| match &cell.gc {
            Entry::Home(_) => false,
            Entry::Bridge(bridge) => {
                cell.key().home == home && bridge.standing() == Standing::Suspect
            }
        })?;
        Some(Arc::clone(&orphan.identity))
    }

    /// Is this a bridge that a shorter way to its home would do good?
    pub(crate) fn is_indirect(&self, id: ObjectId) -> Option<Arc<Identity>> {
        let cell = self.entries.get(&id)?;
        let Entry::Bridge(bridge) = &cell.gc else { return None };
        let indirect = bridge.standing() == Standing::Confirmed
            && bridge.parent().is_some_and(|parent| parent.peer != id.home);
        indirect.then(|| Arc::clone(&cell.identity))
    }

    /// Is this a bridge whose references are counted at another node than its home?
    pub(crate) fn comes_by_another(&self, id: ObjectId) -> bool {
        let Some(cell) = self.entries.get(&id) else { return false };
        match &cell.gc {
            Entry::Bridge(bridge) => bridge.parent().is_some_and(|by| by.peer != id.home),
            Entry::Home(_) => false,
        }
    }

    /// May the user of this reference have it only after the home's answer?
    pub(super) fn waits(&self, id: ObjectId, gc: &Entry) -> bool {
        match gc {
            Entry::Bridge(bridge) if self.policy == Policy::Listing => match bridge.standing() {
                Standing::Adopting { .. } => true,
                // It was not asked for: there was no session with the home.
                Standing::Confirmed => bridge.parent().is_some_and(|by| by.peer != id.home),
                Standing::Suspect | Standing::Broken => false,
            },
            Entry::Bridge(_) | Entry::Home(_) => false,
        }
    }

    /// Is the user of this reference still waiting for the home's answer?
    pub(crate) fn still_waits(&self, id: ObjectId) -> bool {
        self.entries.get(&id).is_some_and(|cell| self.waits(id, &cell.gc))
    }

    /// One step of every bridge, which keeps it.
    fn each_bridge(
        &self,
        errands: &impl Errands,
        mut step: impl FnMut(ObjectId, &mut Entry, HomeSession) -> Orders,
    ) {
        for mut cell in self.entries.iter_mut() {
            let id = *cell.key();
            if id.home != self.own {
                cell.carry_out(errands, |gc, home| step(id, gc, home));
            }
        }
    }

    /// One step of every entry, which may be its last. Entries that come meanwhile are not looked
    /// at.
    fn each(
        &self,
        errands: &impl Errands,
        mut step: impl FnMut(ObjectId, &mut Cell) -> Fate,
    ) -> Vec<Arc<Exported>> {
        let ids: Vec<ObjectId> = self.entries.iter().map(|cell| *cell.key()).collect();
        let freed = |id| -> Freed {
            let Place::Occupied(mut place) = self.entries.entry(id) else { return None };
            let fate = step(id, place.get_mut());
            self.settle(place, fate, errands)
        };
        ids.into_iter().filter_map(freed).collect()
    }
}
