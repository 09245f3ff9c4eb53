//! A holder's bridge: received, passed on, adopted, given up and dropped at once.

use std::sync::Arc;

use rmi_gc::{ExportIndex, HomeSession, Millis, ObjectId};
use rmi_transport::sync::explore::{explore, must_fail};
use rmi_transport::sync::{AtomicBool, Ordering};
use shuttle::thread::JoinHandle;

use super::fixtures::*;
use super::notes::{Notes, Slow};
use crate::map::shard_of;
use crate::reference::Identity;
use crate::table::Table;

/// A node with a bridge for an object of `PEER`, or one of `OTHER` that came by `PEER`.
#[derive(Clone)]
struct Holder {
    table: Arc<Table>,
    notes: Arc<Notes>,
    identity: Arc<Identity>,
}

impl Holder {
    /// There is one local handle.
    fn of(identity: Arc<Identity>, home: HomeSession) -> Self {
        let holder = Self { table: table(), notes: Notes::new(home), identity };
        holder.receive();
        holder
    }

    fn id(&self) -> ObjectId {
        self.identity.id
    }

    fn receive(&self) {
        let Self { table, notes, identity } = self;
        let identity = Arc::clone(identity);
        let received = table.received(PEER, THEIRS, identity.depth, identity, &**notes);
        received.expect("the peer may send it");
    }

    fn drop_one(&self) {
        assert!(self.table.handle_dropped(self.id(), &*self.notes).is_none(), "it is elsewhere");
    }

    /// A thread that does something to the same bridge.
    fn spawn<T: Send + 'static>(
        &self,
        run: impl FnOnce(Self) -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let holder = self.clone();
        spawn(move || run(holder))
    }

    /// Nothing is left, and so much is owed to the parent.
    fn has_gone(&self, received: u32) {
        nothing_is_left(&self.table);
        assert_eq!(self.notes.owed(PEER, THEIRS), received, "S3");
    }
}

#[test]
fn a_last_drop_against_a_reference_that_comes_again_owes_what_was_received() {
    explore(SCHEDULES, || {
        let holder = Holder::of(identity(PEER, 17), HomeSession::Exists);
        let dropping = holder.spawn(|holder| holder.drop_one());
        let receiving = holder.spawn(|holder| {
            holder.receive();
            assert!(holder.table.route(holder.id()).is_some(), "its handle keeps it");
            holder.drop_one();
        });
        [dropping, receiving].into_iter().for_each(join);
        holder.has_gone(2);
    });
}

#[test]
fn a_receipt_that_is_counted_later_than_it_is_looked_up_is_noticed() {
    must_fail(|| {
        let holder = Holder::of(identity(PEER, 17), HomeSession::Exists);
        let dropping = holder.spawn(|holder| holder.drop_one());
        let receiving = holder.spawn(|holder| {
            // Known already, so that a handle is all that it takes; but it may go in between.
            if holder.table.identity(holder.id()).is_some() {
                holder.table.acquire(holder.id()).expect("it was there");
                holder.drop_one();
            }
        });
        [dropping, receiving].into_iter().for_each(join);
    });
}

#[test]
fn an_adoption_that_is_answered_while_the_last_handle_goes_is_released_all_the_same() {
    explore(SCHEDULES, || {
        let holder = Holder::of(identity(OTHER, 5), HomeSession::Exists);
        holder.table.adoption_wanted(holder.id(), &*holder.notes);
        let dropping = holder.spawn(|holder| holder.drop_one());
        let answering = holder.spawn(|holder| {
            let adopted = holder.table.adopted(holder.id(), ExportIndex(5), &*holder.notes);
            // As the session does.
            u32::from(!adopted.expect("it was asked for"))
        });
        join(dropping);
        let owed_by_session = join(answering);
        holder.has_gone(1);
        assert_eq!(holder.notes.owed(OTHER, ExportIndex(5)) + owed_by_session, 1, "S3, at home");
    });
}

#[test]
fn a_reference_passed_on_while_the_parent_is_given_up_is_counted_or_refused() {
    explore(SCHEDULES, || {
        let holder = Holder::of(identity(OTHER, 5), HomeSession::Absent);
        let passing = holder.spawn(|holder| {
            let child = rmi_gc::NodeId(9);
            let sent = holder.table.sent(holder.id(), child);
            if let Ok((rmi_gc::Sent::Described { index, .. }, _)) = sent {
                assert!(holder.table.callee(index, child).is_some(), "the child may call");
                let freed = holder.table.released(index, child, 1, &*holder.notes);
                assert!(freed.expect("it has one").is_none());
            }
            holder.drop_one();
        });
        let losing = holder.spawn(|holder| {
            holder.table.connection_lost(PEER, &*holder.notes);
            holder.table.session_given_up(PEER, Millis(1), &*holder.notes);
        });
        let expiring = holder.spawn(|holder| {
            let _ = holder.table.expire(Millis(u64::MAX), &*holder.notes);
        });
        [passing, losing, expiring].into_iter().for_each(join);
        let _ = holder.table.expire(Millis(u64::MAX), &*holder.notes);
        nothing_is_left(&holder.table);
        assert!(holder.notes.owed(PEER, THEIRS) <= 1, "to nobody, once it is given up");
    });
}

#[test]
fn a_child_given_up_against_its_release_and_the_last_drop_leaves_nothing() {
    explore(SCHEDULES, || {
        let holder = Holder::of(identity(PEER, 17), HomeSession::Exists);
        let child = rmi_gc::NodeId(9);
        let (sent, _) = holder.table.sent(holder.id(), child).expect("it is confirmed");
        let rmi_gc::Sent::Described { index, .. } = sent else { panic!("{sent:?}") };
        let dropping = holder.spawn(|holder| holder.drop_one());
        // The last word of the child, and the loss of its session, by two threads.
        let releasing = holder.spawn(move |holder| {
            let _ = holder.table.released(index, child, 1, &*holder.notes);
        });
        let losing = holder.spawn(move |holder| {
            holder.table.session_given_up(child, Millis(1), &*holder.notes);
        });
        [dropping, releasing, losing].into_iter().for_each(join);
        let _ = holder.table.expire(Millis(1), &*holder.notes);
        holder.has_gone(1);
    });
}

/// A handle of `one` is dropped under a lock that is held until that of `other` has been.
fn drop_while_another_is_dropped(one: Arc<Identity>, other: Arc<Identity>) {
    let holder = Holder::of(one, HomeSession::Exists);
    let other = Holder { identity: other, ..holder.clone() };
    other.receive();
    let is_through = Arc::new(AtomicBool::new(false));
    let awaited = Arc::clone(&is_through);
    let slow = holder.spawn(move |holder| {
        let slow = Slow(|| awaited.load(Ordering::Acquire));
        assert!(holder.table.handle_dropped(holder.id(), &slow).is_none());
    });
    let quick = other.spawn(move |other| {
        other.drop_one();
        is_through.store(true, Ordering::Release);
    });
    [slow, quick].into_iter().for_each(join);
    nothing_is_left(&holder.table);
}

/// Two objects whose entries are in one shard, or in two.
fn pair(in_one_shard: bool) -> [Arc<Identity>; 2] {
    let of = |index| identity(PEER, index);
    let first = of(1);
    let same = |index: &u64| (shard_of(&of(*index).id) == shard_of(&first.id)) == in_one_shard;
    let second = (2..).find(same).map(of).expect("there is one");
    [first, second]
}

#[test]
fn references_in_two_shards_never_wait_for_each_other() {
    explore(SCHEDULES, || {
        let [one, other] = pair(false);
        drop_while_another_is_dropped(one, other);
    });
}

#[test]
fn references_that_wait_for_each_other_are_noticed() {
    must_fail(|| {
        let [one, other] = pair(true);
        drop_while_another_is_dropped(one, other);
    });
}
