//! What entries of the table ask for, brought to the sessions that it concerns.

use std::sync::Arc;

use rmi_gc::{HomeSession, NodeId, ObjectId, Release, Tell};
use rmi_transport::sync::{Mutex, Notify};

use super::Sessions;
use crate::reference::Identity;
use crate::table::Errands;

/// What the node's keeper is to do, and who waits for entries.
#[derive(Default)]
pub(crate) struct Wanted {
    homes: Mutex<Vec<Arc<Identity>>>,
    /// Bridges that came by others than their home, and that nobody may have called yet.
    by_others: Mutex<Vec<ObjectId>>,
    /// Told when a home is wanted.
    pub(crate) home: Notify,
    /// Told when sends that wait for an entry may go on, or fail.
    pub(crate) settled: Notify,
    /// Tells those who wait, behind all locks.
    pub(crate) look_again: Notify,
}

impl Wanted {
    /// Homes that a session is wanted with: each of them may be named several times.
    pub(crate) fn take_homes(&self) -> Vec<Arc<Identity>> {
        std::mem::take(&mut self.homes.lock())
    }

    /// Bridges that came by others since this was asked last.
    pub(crate) fn take_by_others(&self) -> Vec<ObjectId> {
        std::mem::take(&mut self.by_others.lock())
    }

    /// They are to be looked at another time.
    pub(crate) fn put_back(&self, ids: impl IntoIterator<Item = ObjectId>) {
        self.by_others.lock().extend(ids);
    }
}

impl Errands for Sessions {
    fn session_with(&self, home: NodeId) -> HomeSession {
        match self.with(home, |session| session.is_open()) {
            Some(true) => HomeSession::Exists,
            Some(false) | None => HomeSession::Absent,
        }
    }

    fn owe(&self, release: Release) {
        self.with(release.to, |session| session.owe(release.index, release.count));
    }

    fn ask_adoption(&self, identity: &Arc<Identity>, at_once: bool) {
        let ask = |ledger: &mut rmi_gc::Ledger<Arc<Identity>>| {
            ledger.ask_adoption(identity.id, Arc::clone(identity));
        };
        self.with(identity.id.home, |session| {
            if at_once { session.note_urgently(ask) } else { session.note(ask) }
        });
    }

    fn tell(&self, tell: &Tell) {
        for child in &tell.children {
            self.with(*child, |session| {
                session.note_urgently(|ledger| ledger.tell(tell.index, tell.news));
            });
        }
    }

    fn look_again(&self) {
        // Those who wait are woken by the keeper: their wakers are foreign code.
        self.wanted.settled.notify_one();
    }

    fn want_home(&self, identity: &Arc<Identity>) {
        self.wanted.homes.lock().push(Arc::clone(identity));
        self.wanted.home.notify_one();
    }

    fn came_by_others(&self, id: ObjectId) {
        self.wanted.by_others.lock().push(id);
    }
}
