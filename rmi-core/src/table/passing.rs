//! References on their way: received, passed on, released (`gc.md`, rules 1 to 5).

use std::sync::Arc;

use rmi_gc::{
    Bridge, CannotForward, Entry, ExportIndex, Fate, Forwarding, NodeId, ObjectId, ObjectIndex,
    PeerMisbehaved, Sent,
};

use super::{Cell, Errands, Freed, NotCallable, Subject, Table, same_key};
use crate::map::Entry as Place;
use crate::reference::{Identity, Key};

/// What came of a reference that arrived.
pub(crate) struct Arrived {
    pub(crate) identity: Arc<Identity>,
    /// Its user may not have it before the home has answered (`Policy::Listing`).
    pub(crate) waits: bool,
}

impl Table {
    /// A local handle is gone (rule 4). Owes in the same step, so that the release goes to the
    /// session that the references came by, or nowhere.
    pub(crate) fn handle_dropped(&self, id: ObjectId, errands: &impl Errands) -> Freed {
        self.change(id, errands, Entry::handle_dropped)
    }

    /// A reference arrived that the peer names by its own export index (rule 3).
    pub(crate) fn received(
        &self,
        from: NodeId,
        index: ExportIndex,
        depth: u8,
        identity: Arc<Identity>,
        errands: &impl Errands,
    ) -> Result<Arrived, PeerMisbehaved> {
        let id = identity.id;
        match self.entries.entry(id) {
            Place::Occupied(mut place) => {
                let cell = place.get_mut();
                let fate = cell.step(errands, |gc| gc.reference_received(id, from, index))?;
                debug_assert_eq!(fate, Fate::Kept, "there is one more handle");
                Ok(Arrived {
                    identity: Arc::clone(&cell.identity),
                    waits: self.waits(id, &cell.gc),
                })
            }
            Place::Vacant(_) if id.home == self.own => Err(PeerMisbehaved::DescribedOurOwn(id)),
            Place::Vacant(place) => {
                let bridge = Bridge::new(id, from, index, depth);
                let at_once = self.policy.adopts_at_receipt(bridge.depth(), self.depth_max);
                let mut cell = place.insert(Cell {
                    gc: Entry::Bridge(bridge),
                    identity: Arc::clone(&identity),
                    subject: Subject::Elsewhere { relayed_calls: 0, former: Vec::new() },
                });
                if at_once {
                    cell.carry_out(errands, |gc, home| gc.adoption_wanted(id, home));
                }
                if id.home != from {
                    errands.came_by_others(id);
                }
                Ok(Arrived { waits: self.waits(id, &cell.gc), identity })
            }
        }
    }

    /// A reference came home, or to the parent of its sender: named by our own export index.
    pub(crate) fn received_own(&self, from: NodeId, index: ExportIndex) -> Option<Arc<Identity>> {
        let cell = self.entries.get_mut(&self.object(index));
        let mut cell = match cell {
            Some(cell) => cell,
            None => self.entries.get_mut(&self.bridge(index)?)?,
        };
        if !cell.gc.was_given_to(from) {
            return None;
        }
        cell.gc.handle_acquired();
        Some(Arc::clone(&cell.identity))
    }

    /// A reference came home from a node that has it from a third.
    pub(crate) fn received_own_by_key(
        &self,
        index: ObjectIndex,
        key: &Key,
    ) -> Result<Arc<Identity>, NotCallable> {
        let id = ObjectId { home: self.own, index };
        let mut cell = self.entries.get_mut(&id).ok_or(NotCallable::Gone)?;
        if !same_key(&cell.identity.key, key) {
            return Err(NotCallable::WrongKey);
        }
        cell.gc.handle_acquired();
        Ok(Arc::clone(&cell.identity))
    }

    /// Whether a reference may be put on a frame to `to` now. If it has to wait for its adoption,
    /// that is asked for.
    pub(crate) fn forwarding(
        &self,
        id: ObjectId,
        to: NodeId,
        errands: &impl Errands,
    ) -> Forwarding {
        let Some(mut cell) = self.entries.get_mut(&id) else { return Forwarding::Never };
        let forwarding = cell.gc.forwarding(id, to, self.depth_passed_on_max());
        if forwarding == Forwarding::AfterAdoption {
            cell.carry_out(errands, |gc, home| gc.adoption_wanted(id, home));
        }
        forwarding
    }

    /// A reference is put on a frame to `to` (rules 1 and 2), in the step that queues the frame.
    pub(crate) fn sent(
        &self,
        id: ObjectId,
        to: NodeId,
    ) -> Result<(Sent, Arc<Identity>), CannotForward> {
        let mut cell = self.entries.get_mut(&id).ok_or(CannotForward::Broken)?;
        match cell.gc.forwarding(id, to, self.depth_passed_on_max()) {
            Forwarding::Now => {}
            Forwarding::AfterAdoption => return Err(CannotForward::Suspect),
            Forwarding::Never => return Err(CannotForward::Broken),
        }
        let mut passed_on = None;
        let sent = cell.gc.reference_sent(id, to, || {
            let index = ExportIndex(self.fresh_index());
            passed_on = Some(index);
            index
        })?;
        if let Some(index) = passed_on {
            self.passed_on.insert(index, id);
        }
        Ok((sent, Arc::clone(&cell.identity)))
    }

    /// The frame certainly never leaves.
    pub(crate) fn rolled_back(
        &self,
        id: ObjectId,
        to: NodeId,
        sent: Sent,
        errands: &impl Errands,
    ) -> Freed {
        self.change(id, errands, |entry| entry.send_rolled_back(to, sent))
    }

    /// A peer released references (rule 5).
    pub(crate) fn released(
        &self,
        index: ExportIndex,
        by: NodeId,
        count: u32,
        errands: &impl Errands,
    ) -> Result<Freed, PeerMisbehaved> {
        let occupied = |id| match self.entries.entry(id) {
            Place::Occupied(place) => Some(place),
            Place::Vacant(_) => None,
        };
        let mut place = occupied(self.object(index))
            .or_else(|| occupied(self.bridge(index)?))
            .ok_or(PeerMisbehaved::ReleasedUnshared)?;
        let fate = place.get_mut().gc.released(by, count)?;
        Ok(self.settle(place, fate, errands))
    }

    /// Frames that pinned the entry were acknowledged.
    pub(crate) fn unpinned(
        &self,
        id: ObjectId,
        by: NodeId,
        count: u32,
        errands: &impl Errands,
    ) -> Freed {
        self.change(id, errands, |entry| entry.unpinned(by, count))
    }

    fn change(
        &self,
        id: ObjectId,
        errands: &impl Errands,
        change: impl FnOnce(&mut Entry) -> Fate,
    ) -> Freed {
        let Place::Occupied(mut place) = self.entries.entry(id) else { return None };
        let fate = change(&mut place.get_mut().gc);
        self.settle(place, fate, errands)
    }

    fn depth_passed_on_max(&self) -> u8 {
        self.policy.depth_max(self.depth_max)
    }
}
