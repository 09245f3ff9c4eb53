//! The concurrent home of entries: one collector entry for each object that lives here or is
//! referred to from here, each a small state machine under its shard's lock.
//!
//! Locks, in the order in which they nest: a session's outgoing lock, then a shard of this table,
//! then the session map, then a session's ledger. No guard leaves this module, no user code runs
//! under a lock: an object that is freed is handed to the caller, who drops it (`reaper`).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dashmap::DashMap;
use dashmap::mapref::entry::{Entry as Place, OccupiedEntry};
use parking_lot::Mutex;
use rmi_gc::{
    Bridge, CannotForward, Entry, EntrySnapshot, ExportIndex, Fate, Home, NodeId, ObjectId,
    ObjectIndex, PeerMisbehaved, Release, Sent, Standing,
};
use smallvec::SmallVec;

use crate::interface::{Exported, Interfaces};
use crate::reference::{Identity, Key};

/// What an entry stands for, beside what the collector knows of it.
enum Subject {
    Object(Arc<Exported>),
    /// An object elsewhere; `relayed_calls` are under way through the parent.
    Elsewhere {
        relayed_calls: u32,
        /// What a former parent is owed once no call is under way through it any more: until then
        /// its export index must keep its meaning.
        former: Option<Release>,
    },
}

struct Cell {
    gc: Entry,
    identity: Arc<Identity>,
    subject: Subject,
}

/// What a call frame's target turned out to be.
pub(crate) enum Callee {
    /// An object that lives here.
    Object(Arc<Exported>),
    /// An object elsewhere, for which this node is asked to relay.
    Elsewhere(Arc<Identity>),
}

/// How the home can be reached for a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    pub(crate) parent: Option<(NodeId, ExportIndex)>,
    pub(crate) standing: Standing,
    /// Calls under way through the parent: while there are any, later calls take the same way,
    /// so that they keep their order.
    pub(crate) relayed_calls: u32,
}

/// Why a peer's call by object and key is turned down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotCallable {
    Gone,
    WrongKey,
}

/// An object that nothing refers to any more; whoever gets it drops it outside all locks.
pub(crate) type Freed = Option<Arc<Exported>>;

/// Keyed by what peers choose, so with a hash that is fast and that they cannot foresee.
type Map<K, V> = DashMap<K, V, ahash::RandomState>;

pub(crate) struct Table {
    own: NodeId,
    entries: Map<ObjectId, Cell>,
    /// Bridges that were passed on, by the index that they were passed on under.
    passed_on: Map<ExportIndex, ObjectId>,
    /// Objects by where they lie, so that all exports of one `Arc` are one object.
    by_address: Map<usize, ObjectId>,
    next_index: AtomicU64,
    /// Held while an object is exported, so that two threads which export one `Arc` at once agree
    /// on its identity. Taken before all other locks.
    exporting: Mutex<()>,
}

impl Table {
    pub(crate) fn new(own: NodeId) -> Self {
        Self {
            own,
            entries: Map::default(),
            passed_on: Map::default(),
            by_address: Map::default(),
            next_index: AtomicU64::new(1),
            exporting: Mutex::default(),
        }
    }

    /// Never reused within an incarnation; 0 is the node itself.
    fn fresh_index(&self) -> u64 {
        self.next_index.fetch_add(1, Ordering::Relaxed)
    }

    /// Exports an object, with one local handle; an `Arc` that is exported already gains the
    /// interfaces that it did not have.
    pub(crate) fn export(&self, interfaces: Interfaces, key: Key) -> Arc<Identity> {
        let address = interfaces.address();
        let _exporting = self.exporting.lock();
        let known = self.by_address.get(&address).map(|id| *id);
        match known {
            Some(id) => match self.export_again(id, interfaces) {
                Ok(identity) => identity,
                Err(interfaces) => self.export_new(interfaces, key),
            },
            None => self.export_new(interfaces, key),
        }
    }

    fn export_new(&self, interfaces: Interfaces, key: Key) -> Arc<Identity> {
        let id = ObjectId { home: self.own, index: ObjectIndex(self.fresh_index()) };
        let identity = Arc::new(Identity {
            id,
            key,
            depth: 0,
            interfaces: interfaces.ids().collect(),
            endpoints: Arc::new([]),
        });
        self.by_address.insert(interfaces.address(), id);
        let object = Arc::new(Exported { interfaces, monitor: Default::default() });
        let cell = Cell {
            gc: Entry::Home(Home::new()),
            identity: Arc::clone(&identity),
            subject: Subject::Object(object),
        };
        self.entries.insert(id, cell);
        identity
    }

    /// Gives the interfaces back if the object was freed meanwhile.
    fn export_again(&self, id: ObjectId, more: Interfaces) -> Result<Arc<Identity>, Interfaces> {
        let Some(mut cell) = self.entries.get_mut(&id) else { return Err(more) };
        let cell = &mut *cell;
        let Subject::Object(object) = &mut cell.subject else { return Err(more) };
        cell.gc.handle_acquired();
        let mut interfaces = object.interfaces.clone();
        interfaces.merge(more);
        let ids: SmallVec<_> = interfaces.ids().collect();
        if ids.len() > cell.identity.interfaces.len() {
            let monitor = object.monitor.clone();
            *object = Arc::new(Exported { interfaces, monitor });
            let Identity { id, key, endpoints, .. } = &*cell.identity;
            let endpoints = Arc::clone(endpoints);
            cell.identity =
                Arc::new(Identity { id: *id, key: *key, depth: 0, interfaces: ids, endpoints });
        }
        Ok(Arc::clone(&cell.identity))
    }

    /// The object of that identity, if it lives here.
    pub(crate) fn exported(&self, id: ObjectId) -> Option<Arc<Exported>> {
        match &self.entries.get(&id)?.subject {
            Subject::Object(object) => Some(Arc::clone(object)),
            Subject::Elsewhere { .. } => None,
        }
    }

    pub(crate) fn identity(&self, id: ObjectId) -> Option<Arc<Identity>> {
        self.entries.get(&id).map(|cell| Arc::clone(&cell.identity))
    }

    /// Another local handle, if the entry is there at all.
    pub(crate) fn acquire(&self, id: ObjectId) -> Option<Arc<Identity>> {
        let mut cell = self.entries.get_mut(&id)?;
        cell.gc.handle_acquired();
        Some(Arc::clone(&cell.identity))
    }

    /// A local handle is gone (rule 4). Owes in the same step, so that the release goes to the
    /// session that the references came by, or nowhere.
    pub(crate) fn handle_dropped(&self, id: ObjectId, owe: impl FnOnce(Release)) -> Freed {
        self.change(id, owe, Entry::handle_dropped)
    }

    /// A reference arrived that the peer names by its own export index (rule 3).
    pub(crate) fn received(
        &self,
        from: NodeId,
        index: ExportIndex,
        depth: u8,
        identity: Arc<Identity>,
        owe: impl FnOnce(Release),
    ) -> Result<Arc<Identity>, PeerMisbehaved> {
        let id = identity.id;
        match self.entries.entry(id) {
            Place::Occupied(mut place) => {
                let cell = place.get_mut();
                // Nobody here worries or waits for an adoption yet: there is nothing to tell.
                if let Some(release) = cell.gc.reference_received(id, from, index)?.release {
                    match &mut cell.subject {
                        Subject::Elsewhere { relayed_calls: 1.., former } if release.to != from => {
                            *former = Some(release);
                        }
                        Subject::Elsewhere { .. } | Subject::Object(_) => owe(release),
                    }
                }
                Ok(Arc::clone(&cell.identity))
            }
            Place::Vacant(_) if id.home == self.own => Err(PeerMisbehaved::DescribedOurOwn(id)),
            Place::Vacant(place) => {
                place.insert(Cell {
                    gc: Entry::Bridge(Bridge::new(id, from, index, depth)),
                    identity: Arc::clone(&identity),
                    subject: Subject::Elsewhere { relayed_calls: 0, former: None },
                });
                Ok(identity)
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

    /// What a peer may call under one of our export indices; `None` if it was never given it.
    pub(crate) fn callee(&self, index: ExportIndex, by: NodeId) -> Option<Callee> {
        let cell = self.entries.get(&self.object(index));
        let cell = match cell {
            Some(cell) => cell,
            None => self.entries.get(&self.bridge(index)?)?,
        };
        if !cell.gc.was_given_to(by) {
            return None;
        }
        Some(match &cell.subject {
            Subject::Object(object) => Callee::Object(Arc::clone(object)),
            Subject::Elsewhere { .. } => Callee::Elsewhere(Arc::clone(&cell.identity)),
        })
    }

    pub(crate) fn callee_by_key(
        &self,
        index: ObjectIndex,
        key: &Key,
    ) -> Result<Arc<Exported>, NotCallable> {
        let id = ObjectId { home: self.own, index };
        let cell = self.entries.get(&id).ok_or(NotCallable::Gone)?;
        if !same_key(&cell.identity.key, key) {
            return Err(NotCallable::WrongKey);
        }
        match &cell.subject {
            Subject::Object(object) => Ok(Arc::clone(object)),
            Subject::Elsewhere { .. } => Err(NotCallable::Gone),
        }
    }

    /// A reference is put on a frame to `to` (rules 1 and 2), in the step that queues the frame.
    pub(crate) fn sent(
        &self,
        id: ObjectId,
        to: NodeId,
    ) -> Result<(Sent, Arc<Identity>), CannotForward> {
        let mut cell = self.entries.get_mut(&id).ok_or(CannotForward::Broken)?;
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
        owe: impl FnOnce(Release),
    ) -> Freed {
        self.change(id, owe, |entry| entry.send_rolled_back(to, sent))
    }

    /// A peer released references (rule 5).
    pub(crate) fn released(
        &self,
        index: ExportIndex,
        by: NodeId,
        count: u32,
        owe: impl FnOnce(Release),
    ) -> Result<Freed, PeerMisbehaved> {
        let occupied = |id| match self.entries.entry(id) {
            Place::Occupied(place) => Some(place),
            Place::Vacant(_) => None,
        };
        let mut place = occupied(self.object(index))
            .or_else(|| occupied(self.bridge(index)?))
            .ok_or(PeerMisbehaved::ReleasedUnshared)?;
        let fate = place.get_mut().gc.released(by, count)?;
        Ok(self.settle(place, fate, owe))
    }

    /// Frames that pinned the entry were acknowledged.
    pub(crate) fn unpinned(
        &self,
        id: ObjectId,
        by: NodeId,
        count: u32,
        owe: impl FnOnce(Release),
    ) -> Freed {
        self.change(id, owe, |entry| entry.unpinned(by, count))
    }

    /// The session with `peer` was given up: its shares, pins, monitor holds and parenthood end.
    pub(crate) fn peer_gone(&self, peer: NodeId, owe: impl Fn(Release)) -> Vec<Arc<Exported>> {
        let ids: Vec<ObjectId> = self.entries.iter().map(|cell| *cell.key()).collect();
        ids.into_iter()
            .filter_map(|id| {
                if let Some(mut cell) = self.entries.get_mut(&id) {
                    if let Subject::Elsewhere { former, .. } = &mut cell.subject {
                        former.take_if(|release| release.to == peer);
                    }
                }
                self.change(id, &owe, |entry| entry.peer_gone(id, peer))
            })
            .collect()
    }

    /// The objects that live here.
    pub(crate) fn objects(&self) -> Vec<Arc<Exported>> {
        let object =
            |cell: dashmap::mapref::multiple::RefMulti<'_, ObjectId, Cell>| match &cell.subject {
                Subject::Object(object) => Some(Arc::clone(object)),
                Subject::Elsewhere { .. } => None,
            };
        self.entries.iter().filter_map(object).collect()
    }

    /// How to reach the home of an object that lives elsewhere.
    pub(crate) fn route(&self, id: ObjectId) -> Option<Route> {
        let cell = self.entries.get(&id)?;
        let (Entry::Bridge(bridge), Subject::Elsewhere { relayed_calls, .. }) =
            (&cell.gc, &cell.subject)
        else {
            return None;
        };
        let parent = bridge.parent().map(|parent| (parent.peer, parent.index));
        Some(Route { parent, standing: bridge.standing(), relayed_calls: *relayed_calls })
    }

    /// A call goes through the parent; [`Table::relayed_call_ended`] once it is over.
    pub(crate) fn relayed_call_began(&self, id: ObjectId) {
        if let Some(mut cell) = self.entries.get_mut(&id) {
            if let Subject::Elsewhere { relayed_calls, .. } = &mut cell.subject {
                *relayed_calls += 1;
            }
        }
    }

    pub(crate) fn relayed_call_ended(&self, id: ObjectId, owe: impl FnOnce(Release)) {
        if let Some(mut cell) = self.entries.get_mut(&id) {
            if let Subject::Elsewhere { relayed_calls, former } = &mut cell.subject {
                // An entry that went and came back has forgotten the calls of its former life.
                *relayed_calls = relayed_calls.saturating_sub(1);
                if *relayed_calls == 0 {
                    former.take().map(owe);
                }
            }
        }
    }

    /// Is a bridge about to be passed on for the first time (`BridgeInit::Eager`)?
    pub(crate) fn first_passing_on(&self, id: ObjectId) -> bool {
        self.entries.get(&id).is_some_and(|cell| cell.gc.first_passing_on())
    }

    pub(crate) fn relay_built(&self, id: ObjectId) {
        if let Some(mut cell) = self.entries.get_mut(&id) {
            cell.gc.relay_built();
        }
    }

    /// Every entry as it is now: (exports, bridges), each sorted by identity.
    pub(crate) fn snapshot(&self) -> (Vec<EntrySnapshot>, Vec<EntrySnapshot>) {
        let mut exports = Vec::new();
        let mut bridges = Vec::new();
        for cell in &self.entries {
            let snapshot = EntrySnapshot::new(*cell.key(), cell.gc.view());
            match cell.subject {
                Subject::Object(_) => exports.push(snapshot),
                Subject::Elsewhere { .. } => bridges.push(snapshot),
            }
        }
        exports.sort_by_key(|entry| entry.id);
        bridges.sort_by_key(|entry| entry.id);
        (exports, bridges)
    }

    /// Objects at home and bridges share one number space: the object that `index` would be.
    fn object(&self, index: ExportIndex) -> ObjectId {
        ObjectId { home: self.own, index: ObjectIndex(index.0) }
    }

    /// The bridge that was passed on under `index`.
    fn bridge(&self, index: ExportIndex) -> Option<ObjectId> {
        self.passed_on.get(&index).map(|id| *id)
    }

    fn change(
        &self,
        id: ObjectId,
        owe: impl FnOnce(Release),
        change: impl FnOnce(&mut Entry) -> Fate,
    ) -> Freed {
        let Place::Occupied(mut place) = self.entries.entry(id) else { return None };
        let fate = change(&mut place.get_mut().gc);
        self.settle(place, fate, owe)
    }

    fn settle(
        &self,
        place: OccupiedEntry<'_, ObjectId, Cell>,
        fate: Fate,
        owe: impl FnOnce(Release),
    ) -> Freed {
        let Fate::Gone { export, release } = fate else { return None };
        if let Some(release) = release {
            owe(release);
        }
        let (id, cell) = place.remove_entry();
        match cell.subject {
            Subject::Object(object) => {
                let address = object.interfaces.address();
                self.by_address.remove_if(&address, |_, known| *known == id);
                Some(object)
            }
            Subject::Elsewhere { .. } => {
                if let Some(index) = export {
                    self.passed_on.remove(&index);
                }
                None
            }
        }
    }
}

/// Compares in constant time: how much of a guess is right is not told.
fn same_key(a: &Key, b: &Key) -> bool {
    u128::from_ne_bytes(*a) ^ u128::from_ne_bytes(*b) == 0
}
