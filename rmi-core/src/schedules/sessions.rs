//! References between two nodes, on whose threads anything may happen at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rmi_transport::sync::explore::explore;
use shuttle::future::block_on;
use shuttle::thread::JoinHandle;
use tokio::time::Instant;

use super::fixtures::{Drops, HOLD, LET_GO, join, spawn};
use super::nodes::{Nodes, between_nodes};
use crate::reference::Untyped;

/// Of whole nodes, which take a millisecond each.
const SCHEDULES: usize = 1_000;
/// The home, and the node that holds references to its object.
const HOME: usize = 0;
const HOLDER: usize = 1;

/// An object that is bound at the home, and its first reference at the holder.
fn bound_and_held(nodes: &Nodes, drops: &Drops) -> Untyped {
    let object = nodes.export(HOME, drops.interfaces());
    nodes.inner(HOME).names.bind("object", object).expect("it is a name");
    nodes.look_up(HOLDER, "object").expect("it is bound")
}

/// One that only the holder holds.
fn held(nodes: &Nodes, drops: &Drops) -> Untyped {
    let held = bound_and_held(nodes, drops);
    unbind(nodes);
    held
}

fn unbind(nodes: &Nodes) {
    drop(nodes.inner(HOME).names.unbind("object"));
}

/// A thread of one of the nodes.
fn thread<T: Send + 'static>(
    nodes: &Nodes,
    run: impl FnOnce(&Nodes) -> T + Send + 'static,
) -> JoinHandle<T> {
    let nodes = nodes.clone();
    spawn(move || run(&nodes))
}

#[test]
fn a_last_drop_that_crosses_a_frame_with_the_object_again_loses_neither() {
    explore(SCHEDULES, || {
        between_nodes(|nodes| {
            let drops = Drops::default();
            let held = bound_and_held(nodes, &drops);
            let dropping = spawn(move || drop(held));
            let again = nodes.look_up(HOLDER, "object").expect("it is bound");
            unbind(nodes);
            join(dropping);
            assert_eq!(drops.count(), 0, "it is held");
            Nodes::call(&again, &LET_GO, &again).expect("it is there");
            drop(again);
            nodes.until_empty();
            assert_eq!(drops.count(), 1);
        });
    });
}

#[test]
fn calls_and_drops_over_a_connection_that_is_lost_and_replaced_release_what_they_took() {
    explore(SCHEDULES, || {
        between_nodes(|nodes| {
            let drops = Drops::default();
            let held = held(nodes, &drops);
            let (called, dropped) = (held.clone(), held);
            let calling = spawn(move || Nodes::call(&called, &LET_GO, &called));
            let dropping = spawn(move || drop(dropped));
            let losing = thread(nodes, |nodes| nodes.cut(HOLDER));
            let mending = thread(nodes, |nodes| while nodes.reconnect() {});
            nodes.cut(HOME);
            join(calling).expect("a lost connection is only a slow call");
            [dropping, losing].into_iter().for_each(join);
            nodes.until_empty();
            nodes.give_up(HOME);
            join(mending);
            assert_eq!(drops.count(), 1);
        });
    });
}

/// The clock moves while the last handles go, so that the driver is looking for what is owed.
#[test]
fn what_is_owed_while_the_driver_looks_is_not_overlooked() {
    explore(SCHEDULES, || {
        between_nodes(|nodes| {
            let drops = Drops::default();
            let both = [held(nodes, &drops), held(nodes, &drops)];
            let gone = Arc::new(AtomicUsize::new(0));
            let dropping = both.map(|reference| {
                let gone = Arc::clone(&gone);
                spawn(move || {
                    drop(reference);
                    gone.fetch_add(1, Ordering::Relaxed);
                })
            });
            nodes.until("both handles are gone", || gone.load(Ordering::Relaxed) == 2);
            let begun = Instant::now();
            nodes.until_empty();
            // Sooner or later a heartbeat would take it along.
            assert!(begun.elapsed() < Duration::from_secs(1), "it was overlooked");
            dropping.into_iter().for_each(join);
            assert_eq!(drops.count(), 2);
        });
    });
}

/// Scenario 16: the last word of a holder, and the end of its session, by two threads.
#[test]
fn a_last_drop_against_the_end_of_the_session_drops_once_and_leaves_nothing() {
    explore(SCHEDULES, || {
        between_nodes(|nodes| {
            let drops = Drops::default();
            let held = held(nodes, &drops);
            let dropping = spawn(move || drop(held));
            let ends = [HOME, HOLDER].map(|at| thread(nodes, move |nodes| nodes.give_up(at)));
            ends.into_iter().for_each(join);
            join(dropping);
            nodes.until("the estate is over, and the object dropped", || drops.count() > 0);
            nodes.until_empty();
            assert_eq!(drops.count(), 1);
        });
    });
}

#[test]
fn passing_on_against_the_end_of_the_session_leaves_nothing_counted() {
    explore(SCHEDULES, || {
        between_nodes(|nodes| {
            let drops = Drops::default();
            let held = held(nodes, &drops);
            let own = nodes.export(HOLDER, drops.interfaces());
            // It arrives and is held, or it never left, or nobody knows.
            let passing = spawn(move || {
                let _ = Nodes::call(&held, &HOLD, &own);
            });
            let ending = thread(nodes, |nodes| nodes.give_up(HOME));
            nodes.until("the lease and both estates are over", || drops.count() == 2);
            [passing, ending].into_iter().for_each(join);
            nodes.until_empty();
        });
    });
}

/// Scenario 28: what an object holds is let go in its destructor, by whichever thread dropped it.
#[test]
fn objects_that_hold_each_others_references_fall_one_after_the_other() {
    explore(SCHEDULES, || {
        between_nodes(|nodes| {
            let drops = Drops::default();
            // At the holder, at home, and at the holder again: each holds the next.
            let last = nodes.export(HOLDER, drops.interfaces());
            let middle = held(nodes, &drops);
            Nodes::call(&middle, &HOLD, &last).expect("it is there");
            drop(last);
            let first = nodes.export(HOLDER, drops.holding(vec![middle]));
            let again = first.clone();
            let dropping = [first, again].map(|reference| spawn(move || drop(reference)));
            dropping.into_iter().for_each(join);
            nodes.until_empty();
            assert_eq!(drops.count(), 3);
        });
    });
}

/// Scenario 33.
#[test]
fn two_nodes_that_shut_down_while_a_handler_drops_the_last_reference_come_to_an_end() {
    explore(SCHEDULES, || {
        between_nodes(|nodes| {
            let drops = Drops::default();
            let held = held(nodes, &drops);
            let own = nodes.export(HOLDER, drops.interfaces());
            let _ = Nodes::call(&held, &HOLD, &own);
            // Its handler lets go of both, if it comes to run.
            let calling = spawn(move || {
                let _ = Nodes::call(&held, &LET_GO, &own);
            });
            let ending = [HOME, HOLDER]
                .map(|at| thread(nodes, move |nodes| block_on(nodes.inner(at).shut_down())));
            nodes.until("both are down", || [HOME, HOLDER].iter().all(|at| nodes.is_down(*at)));
            ending.into_iter().for_each(join);
            join(calling);
            nodes.until("both objects are dropped", || drops.count() == 2);
            nodes.until_empty();
        });
    });
}

#[test]
fn the_abrupt_ends_of_two_nodes_against_a_last_drop_leave_nothing() {
    explore(SCHEDULES, || {
        between_nodes(|nodes| {
            let drops = Drops::default();
            let held = held(nodes, &drops);
            let ending =
                [HOME, HOLDER].map(|at| thread(nodes, move |nodes| nodes.inner(at).let_go()));
            let dropping = spawn(move || drop(held));
            ending.into_iter().for_each(join);
            join(dropping);
            nodes.until_empty();
            assert_eq!(drops.count(), 1);
        });
    });
}
