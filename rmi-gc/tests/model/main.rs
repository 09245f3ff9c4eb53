//! Every interleaving of small worlds, over the shipped types.
//!
//! `MODEL_BOUND=n` adds `n` to the number of references sent in each world.

mod actions;
mod faults;
mod invariants;
mod space;
mod witnesses;
#[path = "../world/mod.rs"]
mod world;

use std::time::Instant;

use faults::Fault;
use space::{Model, Setup};
use stateright::{Checker, Model as _};

/// A release build takes worlds that are one reference larger.
const LARGER: u8 = if cfg!(debug_assertions) { 0 } else { 1 };

/// Explores all of a world, prints what it saw, and fails on any property that does not hold.
#[expect(clippy::disallowed_methods, reason = "a test may say how long it took")]
fn check(name: &str, setup: Setup) {
    let bound: u8 = std::env::var("MODEL_BOUND").map_or(0, |bound| {
        bound.parse().expect("MODEL_BOUND is a number of references to send beyond the default")
    });
    let setup = Setup { sends: setup.sends + LARGER + bound, ..setup };
    let begun = Instant::now();
    let checker = Model::new(setup).checker().threads(2).spawn_bfs().join();
    let found = checker.discoveries();
    let sought = checker.model().properties();
    let failed: Vec<_> = sought
        .iter()
        .filter(|property| {
            let always = matches!(property.expectation, stateright::Expectation::Always);
            found.contains_key(property.name) == always
        })
        .map(|property| property.name)
        .collect();
    println!(
        "{name}: {setup:?}\n  {} states, {} of them distinct, depth {}, {:.1} s: {}",
        checker.state_count(),
        checker.unique_state_count(),
        checker.max_depth(),
        begun.elapsed().as_secs_f64(),
        if failed.is_empty() { "all properties hold" } else { "FAILED" },
    );
    for name in &failed {
        let path = found.get(name).map(|path| path.clone().into_actions());
        println!("  {name}: {path:#?}");
    }
    assert!(failed.is_empty(), "{name}: {failed:?}");
}

#[test]
fn one_object_is_passed_around() {
    check("passing", Setup { sends: 3, ..Setup::default() });
}

#[test]
fn frames_carry_a_reference_twice() {
    check("twice", Setup { sends: 3, copies: 2, ..Setup::default() });
}

#[test]
fn frames_are_begun_and_rolled_back() {
    check("roll-back", Setup { sends: 3, drafts: true, roll_backs: 1, ..Setup::default() });
}

#[test]
fn one_object_is_passed_among_four_nodes() {
    check("four nodes", Setup { nodes: 4, sends: 2, ..Setup::default() });
}

#[test]
fn two_objects_are_never_confused() {
    check("two objects", Setup { sends: 2, objects: 2, ..Setup::default() });
}

#[test]
fn given_up_sessions_leave_nothing_behind() {
    check("give-up", Setup { sends: 2, give_ups: 1, ..Setup::default() });
}

#[test]
fn sessions_are_given_up_under_begun_frames() {
    check("begun, given up", Setup { sends: 2, drafts: true, give_ups: 1, ..Setup::default() });
}

#[test]
fn sessions_are_given_up_one_after_another() {
    check("two give-ups", Setup { sends: 2, give_ups: 2, ..Setup::default() });
}

#[test]
fn four_nodes_give_up_a_session() {
    // The largest of the worlds: the next one takes as long as all others together.
    let sends = 2 - LARGER;
    check("four, give-up", Setup { nodes: 4, sends, give_ups: 1, ..Setup::default() });
}

#[test]
fn the_model_catches_planted_faults() {
    let passing = Setup { sends: 3, ..Setup::default() };
    let drafting = Setup { drafts: true, roll_backs: 1, ..passing };
    for (fault, setup) in [
        (Fault::AcknowledgedEarly, passing),
        (Fault::AcknowledgementSampledLate, drafting),
        (Fault::ReleasesBeforeReferences, drafting),
        (Fault::NotTakenBack, drafting),
        (Fault::Overtaking, passing),
        (Fault::DeliveredTwice, passing),
        (Fault::Lost, passing),
    ] {
        let setup = Setup { fault: Some(fault), ..setup };
        let checker = Model::new(setup).checker().threads(2).spawn_bfs().join();
        let caught: Vec<_> = checker
            .model()
            .properties()
            .iter()
            .filter(|property| matches!(property.expectation, stateright::Expectation::Always))
            .filter_map(|property| {
                checker.discovery(property.name).map(|path| (property.name, path))
            })
            .collect();
        for (name, path) in &caught {
            println!("{fault:?}: {name}, after {} steps", path.clone().into_actions().len());
        }
        assert!(!caught.is_empty(), "{fault:?} was not caught");
    }
}
