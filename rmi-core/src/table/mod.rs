//! The concurrent home of entries: one collector entry for each object that lives here or is
//! referred to from here, each a small state machine under its shard's lock.
//!
//! Locks, in the order in which they nest: a session's outgoing lock, then a shard of this table,
//! then one of its indices, the session map, and a session's ledger (`rmi_transport::sync::rank`).
//! Two shards are never held at once, so that two references never wait for each other. No guard
//! leaves this module, no user code runs under a lock: an object that is freed is handed to the
//! caller, who drops it (`reaper`).

use std::convert::Infallible;
use std::sync::Arc;

mod exporting;
mod passing;
mod survival;

use rmi_gc::{
    Entry, EntrySnapshot, ExportIndex, Fate, HomeSession, NodeId, ObjectId, ObjectIndex, Orders,
    Policy, Release, Standing, Tell, Waiting,
};
use rmi_transport::sync::{AtomicU64, Mutex, Ordering, rank};

pub(crate) use self::passing::Arrived;
use crate::interface::Exported;
use crate::map::{Map, Occupied};
use crate::reference::{Identity, Key};
use crate::surroundings::Surroundings;

/// What an entry stands for, beside what the collector knows of it.
enum Subject {
    Object(Arc<Exported>),
    /// An object elsewhere; `relayed_calls` are under way through the parent.
    Elsewhere {
        relayed_calls: u32,
        /// What former parents are owed once no call is under way through them any more: until
        /// then their export index must keep its meaning. Hardly ever any.
        former: Vec<Release>,
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

/// What a step of an entry asks for beside its own change. All of it is asked under the entry's
/// lock, so that it only notes and wakes.
pub(crate) trait Errands {
    /// Whether there is a session with `home`, connected or not.
    fn session_with(&self, home: NodeId) -> HomeSession;

    /// A release is owed. If the session by which the references came is gone, so is the debt.
    fn owe(&self, release: Release);

    /// The home is to be asked to count us as a holder; at once if the way is in doubt.
    fn ask_adoption(&self, identity: &Arc<Identity>, at_once: bool);

    /// Children are to be told of the way to the home, at once.
    fn tell(&self, tell: &Tell);

    /// Sends that wait may go on, or fail.
    fn look_again(&self);

    /// A session with this object's home is wanted, for as long as it has orphans here.
    fn want_home(&self, identity: &Arc<Identity>);

    /// A bridge began whose references came from another node than its home.
    fn came_by_others(&self, id: ObjectId);
}

/// An object that nothing refers to any more; whoever gets it drops it outside all locks.
pub(crate) type Freed = Option<Arc<Exported>>;

pub(crate) struct Table {
    own: NodeId,
    policy: Policy,
    /// Hops to the home from which on a bridge is adopted before it passes on (rule 16).
    depth_max: u8,
    entries: Map<ObjectId, Cell, rank::Entries>,
    /// Bridges that were passed on, by the index that they were passed on under.
    passed_on: Map<ExportIndex, ObjectId, rank::Indices>,
    /// Objects by where they lie, so that all exports of one `Arc` are one object.
    by_address: Map<usize, ObjectId, rank::Indices>,
    next_index: AtomicU64,
    /// Held while an object is exported, so that two threads which export one `Arc` at once agree
    /// on its identity. Taken before all other locks.
    exporting: Mutex<(), rank::Exporting>,
}

impl Table {
    pub(crate) fn new(
        own: NodeId,
        policy: Policy,
        depth_max: u8,
        surroundings: &Surroundings,
    ) -> Self {
        Self {
            own,
            policy,
            depth_max,
            entries: surroundings.map(),
            passed_on: surroundings.map(),
            by_address: surroundings.map(),
            next_index: AtomicU64::new(1),
            exporting: Mutex::default(),
        }
    }

    /// Never reused within an incarnation; 0 is the node itself.
    fn fresh_index(&self) -> u64 {
        self.next_index.fetch_add(1, Ordering::Relaxed)
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

    /// The objects that live here.
    pub(crate) fn objects(&self) -> Vec<Arc<Exported>> {
        let objects = self.entries.iter().filter_map(|cell| match &cell.subject {
            Subject::Object(object) => Some(Arc::clone(object)),
            Subject::Elsewhere { .. } => None,
        });
        objects.collect()
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

    pub(crate) fn relayed_call_ended(&self, id: ObjectId, errands: &impl Errands) {
        if let Some(mut cell) = self.entries.get_mut(&id) {
            if let Subject::Elsewhere { relayed_calls, former } = &mut cell.subject {
                // An entry that went and came back has forgotten the calls of its former life.
                *relayed_calls = relayed_calls.saturating_sub(1);
                if *relayed_calls == 0 {
                    former.drain(..).for_each(|release| errands.owe(release));
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
        for cell in self.entries.iter() {
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

    /// One entry as it is now.
    pub(crate) fn look_at(&self, id: ObjectId) -> Option<EntrySnapshot> {
        self.entries.get(&id).map(|cell| EntrySnapshot::new(id, cell.gc.view()))
    }

    /// How many indices lead to entries.
    #[cfg(all(test, shuttle))]
    pub(crate) fn indices(&self) -> usize {
        self.passed_on.len() + self.by_address.len()
    }

    /// Removes an entry that nothing keeps.
    fn settle(
        &self,
        place: Occupied<'_, ObjectId, Cell>,
        fate: Fate,
        errands: &impl Errands,
    ) -> Freed {
        let Fate::Gone { export, release } = fate else { return None };
        if let Some(release) = release {
            errands.owe(release);
        }
        let (id, cell) = place.remove_entry();
        match cell.subject {
            Subject::Object(object) => {
                let address = object.interfaces.address();
                self.by_address.remove_if(&address, |_, known| *known == id);
                Some(object)
            }
            Subject::Elsewhere { former, .. } => {
                former.into_iter().for_each(|release| errands.owe(release));
                if let Some(index) = export {
                    self.passed_on.remove(&index);
                }
                None
            }
        }
    }

    /// Objects at home and bridges share one number space: the object that `index` would be.
    fn object(&self, index: ExportIndex) -> ObjectId {
        ObjectId { home: self.own, index: ObjectIndex(index.0) }
    }

    /// The bridge that was passed on under `index`.
    fn bridge(&self, index: ExportIndex) -> Option<ObjectId> {
        self.passed_on.get(&index).map(|id| *id)
    }
}

impl Cell {
    /// One step of the entry, with what it asks for; what became of it is for the caller.
    fn step<E>(
        &mut self,
        errands: &impl Errands,
        step: impl FnOnce(&mut Entry) -> Result<Orders, E>,
    ) -> Result<Fate, E> {
        let parent = self.parent();
        let orders = step(&mut self.gc)?;
        let Orders { fate, release, adopt, tell, waiting } = orders;
        if let Some(release) = release {
            self.owe(parent, release, errands);
        }
        if let Some(tell) = tell {
            errands.tell(&tell);
        }
        match self.standing() {
            Some(Standing::Adopting { voluntary }) if adopt => {
                errands.ask_adoption(&self.identity, !voluntary);
            }
            Some(Standing::Suspect) => errands.want_home(&self.identity),
            Some(Standing::Adopting { .. } | Standing::Confirmed | Standing::Broken) | None => {}
        }
        match waiting {
            Some(Waiting::GoOn | Waiting::Fail) => errands.look_again(),
            None => {}
        }
        Ok(fate)
    }

    /// The same, of a step that no peer can spoil and that depends on the session with the home.
    fn decide(
        &mut self,
        errands: &impl Errands,
        step: impl FnOnce(&mut Entry, HomeSession) -> Orders,
    ) -> Fate {
        let home = errands.session_with(self.identity.id.home);
        match self.step(errands, |gc| Ok::<_, Infallible>(step(gc, home))) {
            Ok(fate) => fate,
            Err(never) => match never {},
        }
    }

    /// The same, of a step that keeps the entry.
    fn carry_out(
        &mut self,
        errands: &impl Errands,
        step: impl FnOnce(&mut Entry, HomeSession) -> Orders,
    ) {
        let fate = self.decide(errands, step);
        debug_assert_eq!(fate, Fate::Kept, "something keeps it");
    }

    /// A former parent is owed its release only when no call is under way through it.
    fn owe(&mut self, parent_before: Option<NodeId>, release: Release, errands: &impl Errands) {
        let parent = self.parent();
        match &mut self.subject {
            Subject::Elsewhere { relayed_calls: 1.., former }
                if parent_before == Some(release.to) && parent != parent_before =>
            {
                former.push(release);
            }
            Subject::Elsewhere { .. } | Subject::Object(_) => errands.owe(release),
        }
    }

    fn parent(&self) -> Option<NodeId> {
        match &self.gc {
            Entry::Bridge(bridge) => bridge.parent().map(|parent| parent.peer),
            Entry::Home(_) => None,
        }
    }

    fn standing(&self) -> Option<Standing> {
        match &self.gc {
            Entry::Bridge(bridge) => Some(bridge.standing()),
            Entry::Home(_) => None,
        }
    }
}

/// Compares in constant time: how much of a guess is right is not told.
fn same_key(a: &Key, b: &Key) -> bool {
    u128::from_ne_bytes(*a) ^ u128::from_ne_bytes(*b) == 0
}
