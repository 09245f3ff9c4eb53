//! Objects whose drops are counted, and threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rmi_gc::{ExportIndex, NodeId, ObjectId, Policy};
use rmi_transport::sync::Mutex;
use shuttle::thread::{self, JoinHandle};

use crate::interface::{BoxFuture, Interface, InterfaceInfo, Interfaces, Method, Skeleton};
use crate::marshal::{Arguments, Reply};
use crate::reaper;
use crate::reference::{Identity, Key, Untyped};
use crate::surroundings::Surroundings;
use crate::table::{Freed, Table};

/// Of a table, which take a few microseconds each.
pub(super) const SCHEDULES: usize = 10_000;

pub(super) const OWN: NodeId = NodeId(1);
pub(super) const PEER: NodeId = NodeId(2);
pub(super) const OTHER: NodeId = NodeId(3);
pub(super) const KEY: Key = [7; 16];

/// An object that can be exported, and that may hold references; how many of its kind were dropped
/// is counted.
pub(super) struct Object {
    drops: Drops,
    holds: Mutex<Vec<Untyped>>,
}

impl Drop for Object {
    fn drop(&mut self) {
        self.drops.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Object {
    fn holding(drops: &Drops, holds: Vec<Untyped>) -> Arc<Self> {
        Arc::new(Self { drops: drops.clone(), holds: Mutex::new(holds) })
    }
}

impl Interface for Object {
    const NAME: &'static str = "Object";

    fn types() -> &'static str {
        ""
    }

    fn methods() -> Vec<Method> {
        vec![HOLD, LET_GO]
    }
}

/// Takes a reference and keeps it.
pub(super) const HOLD: Method = Method::new("Object", "hold", "(Object)");
/// Takes a reference and lets go of it, and of all that is held.
pub(super) const LET_GO: Method = Method::new("Object", "let_go", "(Object)");

struct Served(Arc<Object>);

impl Skeleton for Served {
    fn interface(&self) -> InterfaceInfo {
        InterfaceInfo::of::<Object>()
    }

    fn handle(&self, method: u32, arguments: Arguments) -> Option<BoxFuture<'static, Reply>> {
        let object = Arc::clone(&self.0);
        Some(Box::pin(async move {
            let argument: Untyped = match arguments.decode() {
                Ok(argument) => argument,
                Err(error) => return Reply::failed(error),
            };
            let mut held = Vec::new();
            if method == HOLD.id {
                object.holds.lock().push(argument);
            } else {
                std::mem::swap(&mut held, &mut object.holds.lock());
                held.push(argument);
            }
            drop(held);
            Reply::of::<(), ()>(Ok(()))
        }))
    }

    fn fingerprint(&self, method: u32) -> Option<u32> {
        Object::methods().iter().find(|known| known.id == method).map(|known| known.fingerprint)
    }
}

/// Counts the objects that were dropped.
#[derive(Clone, Default)]
pub(super) struct Drops(Arc<AtomicUsize>);

impl Drops {
    pub(super) fn object(&self) -> Arc<Object> {
        Object::holding(self, Vec::new())
    }

    pub(super) fn interfaces(&self) -> Interfaces {
        interfaces_of(&self.object())
    }

    /// An object that holds references until it is dropped.
    pub(super) fn holding(&self, holds: Vec<Untyped>) -> Interfaces {
        interfaces_of(&Object::holding(self, holds))
    }

    pub(super) fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

pub(super) fn interfaces_of(object: &Arc<Object>) -> Interfaces {
    let mut interfaces = Interfaces::new();
    interfaces.add(Arc::clone(object), Served(Arc::clone(object)));
    interfaces
}

pub(super) fn table() -> Arc<Table> {
    Arc::new(Table::new(OWN, Policy::Adopting, 4, &Surroundings::seeded(1)))
}

/// What describes an object of `home`.
pub(super) fn identity(home: NodeId, index: u64) -> Arc<Identity> {
    Arc::new(Identity {
        id: ObjectId { home, index: rmi_gc::ObjectIndex(index) },
        key: KEY,
        interfaces: Default::default(),
        depth: if home == PEER { 1 } else { 2 },
        endpoints: Arc::new([]),
    })
}

/// As whoever frees something does.
pub(super) fn let_go(freed: Freed) {
    reaper::reap(freed);
}

pub(super) fn nothing_is_left(table: &Table) {
    let (exports, bridges) = table.snapshot();
    assert!(exports.is_empty() && bridges.is_empty(), "{exports:?} {bridges:?}");
    assert_eq!(table.indices(), 0, "an index leads nowhere");
}

pub(super) fn spawn<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    thread::spawn(run)
}

pub(super) fn join<T>(thread: JoinHandle<T>) -> T {
    thread.join().expect("it does not panic")
}

/// The index under which the parent knows the bridges of these tests.
pub(super) const THEIRS: ExportIndex = ExportIndex(17);
