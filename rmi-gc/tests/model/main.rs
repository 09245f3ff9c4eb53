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

use std::panic::{catch_unwind, resume_unwind};
use std::time::Instant;

use faults::Fault;
use rmi_gc::{Mutant, Policy};
use space::{Budget, Model, Setup};
use stateright::{Checker, Expectation, HasDiscoveries, Model as _};
use world::{C, D};

/// A release build takes worlds that are one reference larger, and the large chains.
const LARGER: u8 = if cfg!(debug_assertions) { 0 } else { 1 };

fn bound() -> u8 {
    std::env::var("MODEL_BOUND").map_or(0, |bound| {
        bound.parse().expect("MODEL_BOUND is a number of references to send beyond the default")
    })
}

fn enlarged(setup: Setup) -> Setup {
    // A chain is large as it is.
    let larger = if setup.chain { 0 } else { LARGER + bound() };
    let budget = Budget { sends: setup.budget.sends + larger, ..setup.budget };
    Setup { budget, ..setup }
}

/// Whether the worlds are large enough for each rule to be at work in them.
fn every_rule_fits(setup: &Setup) -> bool {
    setup.chain || LARGER + bound() > 0
}

/// Explores all of a world, prints what it saw, and fails on any property that does not hold.
#[expect(clippy::disallowed_methods, reason = "a test may say how long it took")]
fn check(name: &str, setup: Setup) {
    let setup = enlarged(setup);
    let begun = Instant::now();
    let checker = Model::new(setup).checker().threads(2).spawn_bfs().join();
    let found = checker.discoveries();
    let sought = checker.model().properties();
    let failed: Vec<_> = sought
        .iter()
        .filter(|property| {
            let always = matches!(property.expectation, Expectation::Always);
            let demanded = always || every_rule_fits(&setup);
            demanded && found.contains_key(property.name) == always
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

/// As many references sent, and nothing that goes wrong.
fn sends(sends: u8) -> Budget {
    Budget { sends, ..Budget::default() }
}

#[test]
fn one_object_is_passed_around() {
    check("passing", Setup { budget: sends(3), ..Setup::default() });
}

#[test]
fn frames_carry_a_reference_twice() {
    check("twice", Setup { budget: sends(3), copies: 2, ..Setup::default() });
}

#[test]
fn frames_are_begun_and_rolled_back() {
    let budget = Budget { roll_backs: 1, ..sends(3) };
    check("roll-back", Setup { budget, drafts: true, ..Setup::default() });
}

#[test]
fn one_object_is_passed_among_four_nodes() {
    check("four nodes", Setup { budget: sends(2), nodes: 4, ..Setup::default() });
}

#[test]
fn two_objects_are_never_confused() {
    check("two objects", Setup { budget: sends(2), objects: 2, ..Setup::default() });
}

#[test]
fn a_session_is_given_up() {
    check("give-up", Setup { budget: Budget { give_ups: 1, ..sends(2) }, ..Setup::default() });
}

#[test]
fn sessions_are_given_up_one_after_another() {
    check("two give-ups", Setup { budget: Budget { give_ups: 2, ..sends(1) }, ..Setup::default() });
}

#[test]
fn sessions_are_given_up_under_begun_frames() {
    let budget = Budget { give_ups: 1, ..sends(1) };
    check("begun, given up", Setup { budget, drafts: true, ..Setup::default() });
}

#[test]
fn connections_are_lost() {
    check("cut", Setup { budget: Budget { cuts: 1, ..sends(1) }, ..Setup::default() });
    check("two cuts", Setup { budget: Budget { cuts: 2, ..sends(1) }, ..Setup::default() });
}

#[test]
fn four_nodes_give_up_a_session() {
    let budget = Budget { give_ups: 1, ..sends(1) };
    check("four, give-up", Setup { nodes: 4, budget, ..Setup::default() });
}

#[test]
fn a_chain_breaks() {
    let chain = Setup { nodes: 4, chain: true, ..Setup::default() };
    for (name, budget) in [
        ("chain, two crashes", Budget { crashes: 2, ..sends(0) }),
        ("chain, crash, leave", Budget { crashes: 1, leaves: 1, ..sends(0) }),
    ] {
        check(name, Setup { budget, ..chain });
    }
    if LARGER + bound() == 0 {
        return;
    }
    for (name, budget) in [
        ("chain, give-up", Budget { give_ups: 1, ..sends(0) }),
        ("chain, cut", Budget { cuts: 1, ..sends(0) }),
    ] {
        check(name, Setup { budget, ..chain });
    }
    let keeper = Setup { keeper: Some(D), ..chain };
    check(
        "chain, crash, give-up, keeper",
        Setup { budget: Budget { crashes: 1, give_ups: 1, ..sends(0) }, ..keeper },
    );
    if bound() == 0 {
        return;
    }
    for (name, budget) in [
        ("chain, crash, give-up", Budget { crashes: 1, give_ups: 1, ..sends(0) }),
        ("chain, crash, cut", Budget { crashes: 1, cuts: 1, ..sends(0) }),
        ("chain, sleep, give-up", Budget { sleeps: 1, give_ups: 1, ..sends(0) }),
        ("chain, two give-ups", Budget { give_ups: 2, ..sends(0) }),
    ] {
        check(name, Setup { budget, ..chain });
    }
}

#[test]
fn a_node_crashes() {
    check("crash", Setup { budget: Budget { crashes: 1, ..sends(2) }, ..Setup::default() });
    let budget = Budget { crashes: 1, give_ups: 1, ..sends(1) };
    check("crash, give-up", Setup { budget, ..Setup::default() });
    check(
        "crash, cut",
        Setup { budget: Budget { cuts: 1, give_ups: 0, ..budget }, ..Setup::default() },
    );
}

#[test]
fn two_of_four_nodes_crash() {
    let budget = Budget { crashes: 2, ..sends(1) };
    check("four, two crashes", Setup { nodes: 4, budget, ..Setup::default() });
}

#[test]
fn the_home_crashes() {
    let budget = Budget { crashes: 1, ..sends(2) };
    check("home crash", Setup { budget, home_crashes: true, ..Setup::default() });
}

#[test]
fn a_node_leaves() {
    let budget = Budget { crashes: 1, leaves: 1, ..sends(1) };
    check("leave", Setup { budget, ..Setup::default() });
}

#[test]
fn a_node_oversleeps() {
    let budget = Budget { sleeps: 1, ..sends(1) };
    check("oversleep", Setup { budget, ..Setup::default() });
}

#[test]
fn a_depth_bound_holds_references_back() {
    let setup = Setup { policy: Policy::Adopting, depth_max: 2, nodes: 4, ..Setup::default() };
    check("depth 2", Setup { budget: sends(2), ..setup });
}

#[test]
fn holders_are_adopted() {
    let setup = Setup { policy: Policy::Adopting, idle: true, ..Setup::default() };
    check("adopting", Setup { budget: sends(2), ..setup });
    let keeps = Setup { keeper: Some(C), ..setup };
    check("adopting, keeper", Setup { budget: sends(2), ..keeps });
    let budget = Budget { give_ups: 1, ..sends(1) };
    check("adopting, give-up, keeper", Setup { budget, ..keeps });
}

#[test]
fn holders_are_listed_at_receipt() {
    check("listing", Setup { budget: sends(2), policy: Policy::Listing, ..Setup::default() });
}

#[test]
fn the_model_catches_planted_faults_and_mutants() {
    let setup = |budget| Setup { budget, ..Setup::default() };
    let passing = setup(sends(3));
    let drafting = Setup { drafts: true, ..setup(Budget { roll_backs: 1, ..sends(3) }) };
    let given_up = setup(Budget { give_ups: 1, ..sends(3) });
    let crash = setup(Budget { crashes: 1, ..sends(2) });
    let chain = Setup { nodes: 4, chain: true, ..setup(Budget { give_ups: 2, ..sends(0) }) };
    let two_objects = Setup { objects: 2, ..setup(sends(4)) };
    for (fault, setup) in [
        (Fault::AcknowledgedEarly, passing),
        (Fault::AcknowledgementSampledLate, drafting),
        (Fault::ReleasesBeforeReferences, drafting),
        (Fault::NotTakenBack, drafting),
        (Fault::CountedLate, drafting),
        (Fault::Overtaking, passing),
        (Fault::DeliveredTwice, passing),
        (Fault::Lost, passing),
        (Fault::GraceTooShort, crash),
        (Fault::RerootNotSent, given_up),
        (Fault::RerootNotPassedOn, chain),
    ] {
        catches(&format!("{fault:?}"), Setup { fault: Some(fault), ..setup });
    }
    for (mutant, setup) in [
        (Mutant::NoEstate, crash),
        (Mutant::OrphanForwards, given_up),
        (Mutant::IndexReused, two_objects),
        (Mutant::PinsGoAtOnce, given_up),
        (Mutant::StaleParent, given_up),
        (Mutant::TwoParents, passing),
        (
            Mutant::OrphanTakesAnyParent,
            Setup { budget: Budget { give_ups: 1, ..sends(1) }, ..chain },
        ),
        (Mutant::HomeLossNotTold, given_up),
        (Mutant::AdoptionNotRetried, given_up),
        (Mutant::LateAdoptionKept, given_up),
        (Mutant::OldParentNotReleased, Setup { idle: true, ..passing }),
    ] {
        catches(&format!("{mutant:?}"), Setup { mutant: Some(mutant), ..setup });
    }
}

/// In a debug build an assertion of the code itself may be sooner than the properties: that is a
/// catch as well. One thread explores then, as others would go on without the one that panicked.
fn catches(name: &str, setup: Setup) {
    let threads = if cfg!(debug_assertions) { 1 } else { 2 };
    let explore = || {
        let stop = HasDiscoveries::AnyFailures;
        Model::new(setup).checker().threads(threads).finish_when(stop).spawn_bfs().join()
    };
    let checker = match catch_unwind(explore) {
        Ok(checker) => checker,
        Err(_) if cfg!(debug_assertions) => {
            println!("{name}: an assertion of the code");
            return;
        }
        // Nothing asserts in a release build.
        Err(panic) => resume_unwind(panic),
    };
    let caught: Vec<_> = checker
        .discoveries()
        .into_iter()
        .map(|(property, path)| format!("{property}, after {} steps", path.into_actions().len()))
        .collect();
    println!("{name}: {caught:?}, {} distinct states", checker.unique_state_count());
    assert!(!caught.is_empty(), "{name} was not caught");
}
