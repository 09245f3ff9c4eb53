//! Errands that are only noted.

use std::sync::Arc;

use rmi_gc::{ExportIndex, HomeSession, NodeId, ObjectId, Release, Tell};
use rmi_transport::sync::Mutex;
use shuttle::thread;

use crate::reference::Identity;
use crate::table::Errands;

/// What entries asked for, as the sessions of a node would have it.
pub(super) struct Notes {
    home: HomeSession,
    owed: Mutex<Vec<Release>>,
}

impl Notes {
    pub(super) fn new(home: HomeSession) -> Arc<Self> {
        Arc::new(Self { home, owed: Mutex::default() })
    }

    /// References that are owed to `peer` under `index`, merged.
    pub(super) fn owed(&self, peer: NodeId, index: ExportIndex) -> u32 {
        let owed = self.owed.lock();
        let to_it = owed.iter().filter(|owed| (owed.to, owed.index) == (peer, index));
        to_it.map(|owed| owed.count).sum()
    }
}

impl Errands for Notes {
    fn session_with(&self, _: NodeId) -> HomeSession {
        self.home
    }

    fn owe(&self, release: Release) {
        self.owed.lock().push(release);
    }

    fn ask_adoption(&self, _: &Arc<Identity>, _: bool) {}

    fn tell(&self, _: &Tell) {}

    fn look_again(&self) {}

    fn want_home(&self, _: &Arc<Identity>) {}

    fn came_by_others(&self, _: ObjectId) {}
}

/// Errands that take as long as it takes another thread to be through: what is asked of them is
/// asked under the lock of the entry.
pub(super) struct Slow<F>(pub(super) F);

impl<F: Fn() -> bool> Errands for Slow<F> {
    fn session_with(&self, _: NodeId) -> HomeSession {
        HomeSession::Absent
    }

    fn owe(&self, _: Release) {
        while !(self.0)() {
            thread::yield_now();
        }
    }

    fn ask_adoption(&self, _: &Arc<Identity>, _: bool) {}

    fn tell(&self, _: &Tell) {}

    fn look_again(&self) {}

    fn want_home(&self, _: &Arc<Identity>) {}

    fn came_by_others(&self, _: ObjectId) {}
}
