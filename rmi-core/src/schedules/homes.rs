//! The entry of an object at its home: passed on, dropped, released and exported at once.

use std::sync::Arc;

use rmi_gc::{ExportIndex, HomeSession, NodeId, ObjectId};
use rmi_transport::sync::explore::{explore, must_fail};
use rmi_transport::sync::{AtomicUsize, Ordering};
use shuttle::thread::{JoinHandle, yield_now};

use super::fixtures::*;
use super::notes::Notes;
use crate::table::Table;

/// A node with an object that is exported, with one local handle.
#[derive(Clone)]
struct Home {
    table: Arc<Table>,
    notes: Arc<Notes>,
    drops: Drops,
    id: ObjectId,
}

impl Home {
    fn new() -> Self {
        let (table, notes, drops) = (table(), Notes::new(HomeSession::Absent), Drops::default());
        let id = table.export(drops.interfaces(), KEY).id;
        Self { table, notes, drops, id }
    }

    fn index(&self) -> ExportIndex {
        self.id.index.into()
    }

    fn drop_one(&self) {
        let_go(self.table.handle_dropped(self.id, &*self.notes));
    }

    /// `peer` releases what it has, which it had until now.
    fn release_one(&self, peer: NodeId) {
        assert_eq!(self.drops.count(), 0, "the peer holds one");
        assert!(self.table.callee(self.index(), peer).is_some(), "it was given it");
        let_go(self.table.released(self.index(), peer, 1, &*self.notes).expect("it has one"));
    }

    /// A thread that does something to the same object.
    fn spawn(&self, run: impl FnOnce(Self) + Send + 'static) -> JoinHandle<()> {
        let home = self.clone();
        spawn(move || run(home))
    }

    fn has_gone(&self) {
        assert_eq!(self.drops.count(), 1, "dropped once");
        nothing_is_left(&self.table);
    }
}

/// What a test of these tests has the sender do wrong.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    /// It looks whether the entry is there, and counts later, without a handle of its own.
    LooksFirst,
    /// It drops its handle before it counts.
    DropsFirst,
}

/// One thread passes a reference on twice and drops it, another drops one, and the peer releases
/// what it was sent as soon as it comes.
fn pass_drop_and_release(fault: Option<Fault>) {
    let home = Home::new();
    if fault != Some(Fault::LooksFirst) {
        home.table.acquire(home.id).expect("it is there");
    }
    let sent = Arc::new(AtomicUsize::new(0));
    let arrived = Arc::clone(&sent);
    let sending = home.spawn(move |home| send_two(&home, &sent, fault));
    let dropping = home.spawn(|home| home.drop_one());
    let releasing = home.spawn(move |home| {
        for nth in 1..=2 {
            while arrived.load(Ordering::Acquire) < nth {
                yield_now();
            }
            if arrived.load(Ordering::Acquire) != NOTHING_TO_SEND {
                home.release_one(PEER);
            }
        }
    });
    [sending, dropping, releasing].into_iter().for_each(join);
    home.has_gone();
}

const NOTHING_TO_SEND: usize = usize::MAX;

fn send_two(home: &Home, sent: &AtomicUsize, fault: Option<Fault>) {
    match fault {
        Some(Fault::DropsFirst) => home.drop_one(),
        Some(Fault::LooksFirst) if home.table.identity(home.id).is_none() => {
            // The other thread was quicker; for once it was right to look.
            return sent.store(NOTHING_TO_SEND, Ordering::Release);
        }
        Some(Fault::LooksFirst) | None => {}
    }
    for _ in 0..2 {
        home.table.sent(home.id, PEER).expect("the message's own handle keeps it");
        sent.fetch_add(1, Ordering::AcqRel);
    }
    if fault.is_none() {
        home.drop_one();
    }
}

#[test]
fn passing_dropping_and_releasing_free_an_object_once() {
    explore(SCHEDULES, || pass_drop_and_release(None));
}

#[test]
fn looking_up_and_counting_in_two_steps_is_noticed() {
    must_fail(|| pass_drop_and_release(Some(Fault::LooksFirst)));
}

#[test]
fn dropping_a_messages_handle_before_it_is_counted_is_noticed() {
    must_fail(|| pass_drop_and_release(Some(Fault::DropsFirst)));
}

#[test]
fn an_object_that_two_threads_export_and_drop_at_once_is_one_and_goes_once() {
    explore(SCHEDULES, || {
        let home = Home::new();
        home.drop_one();
        let object = home.drops.object();
        let exporting = || {
            let object = Arc::clone(&object);
            home.spawn(move |home| {
                let interfaces = interfaces_of(&object);
                drop(object);
                let id = home.table.export(interfaces, KEY).id;
                assert!(home.table.exported(id).is_some(), "its handle keeps it");
                let_go(home.table.handle_dropped(id, &*home.notes));
            })
        };
        let threads = [exporting(), exporting()];
        drop(object);
        threads.into_iter().for_each(join);
        assert_eq!(home.drops.count(), 2, "each object once");
        nothing_is_left(&home.table);
    });
}

#[test]
fn a_reference_that_comes_home_keeps_what_others_release() {
    explore(SCHEDULES, || {
        let home = Home::new();
        for peer in [PEER, OTHER] {
            home.table.sent(home.id, peer).expect("it is at home");
        }
        home.drop_one();
        let returning = home.spawn(|home| {
            home.table.received_own(PEER, home.index()).expect("the peer was given it");
            home.release_one(PEER);
            assert!(home.table.exported(home.id).is_some(), "it has come home");
            home.drop_one();
        });
        let releasing = home.spawn(|home| home.release_one(OTHER));
        [returning, releasing].into_iter().for_each(join);
        home.has_gone();
    });
}

#[test]
fn a_holder_is_counted_at_its_adoption_or_told_that_the_object_is_gone() {
    explore(SCHEDULES, || {
        let home = Home::new();
        let adopting = home.spawn(|home| {
            if home.table.adopts(PEER, home.id.index, &KEY).is_ok() {
                home.release_one(PEER);
            }
        });
        let dropping = home.spawn(|home| home.drop_one());
        [adopting, dropping].into_iter().for_each(join);
        home.has_gone();
    });
}
