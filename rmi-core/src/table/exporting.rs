//! Objects come in here, each under one identity however often it is exported.

use std::sync::Arc;

use rmi_gc::{Entry, Home, ObjectId, ObjectIndex};
use smallvec::SmallVec;

use super::{Cell, Subject, Table};
use crate::interface::{Exported, Interfaces};
use crate::reaper::Deferral;
use crate::reference::{Identity, Key};

impl Table {
    /// Exports an object, with one local handle; an `Arc` that is exported already gains the
    /// interfaces that it did not have.
    pub(crate) fn export(&self, interfaces: Interfaces, key: Key) -> Arc<Identity> {
        let address = interfaces.address();
        // What the object was exported as before is dropped behind the locks.
        let _deferral = Deferral::begin();
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
}
