//! The model itself is tested by planted faults: each must break a property.

use std::panic::{catch_unwind, resume_unwind};
use std::time::Instant;

use rmi_gc::Mutant;
use stateright::{Checker, HasDiscoveries, Model as _};

use crate::faults::Fault;
use crate::space::{Budget, Model, Setup};
use crate::world::{A, D};
use crate::worlds::sends;

#[test]
fn faults_in_the_joints_are_caught() {
    for fault in [
        Fault::AcknowledgedEarly,
        Fault::AcknowledgementSampledLate,
        Fault::ReleasesBeforeReferences,
        Fault::NotTakenBack,
        Fault::Overtaking,
        Fault::DeliveredTwice,
        Fault::Lost,
        Fault::CountedLate,
        Fault::GraceTooShort,
        Fault::RerootNotSent,
        Fault::RerootNotPassedOn,
        Fault::AdoptedWithoutKey,
        Fault::SameIncarnation,
        Fault::LateFramesTaken,
    ] {
        let setup = Setup { fault: Some(fault), ..world_of_fault(fault) };
        is_caught(&format!("{fault:?}"), setup);
    }
}

#[test]
fn faults_in_the_collector_are_caught() {
    for mutant in [
        Mutant::OrphanForwards,
        Mutant::IndexReused,
        Mutant::NoPin,
        Mutant::PinsGoAtOnce,
        Mutant::StaleParent,
        Mutant::TwoParents,
        Mutant::OrphanTakesAnyParent,
        Mutant::HomeLossNotTold,
        Mutant::AdoptionNotRetried,
        Mutant::LateAdoptionKept,
        Mutant::OldParentNotReleased,
        Mutant::NoEstate,
    ] {
        let setup = Setup { mutant: Some(mutant), ..world_of_mutant(mutant) };
        is_caught(&format!("{mutant:?}"), setup);
    }
}

/// Where the fault shows.
fn world_of_fault(fault: Fault) -> Setup {
    let begun = Setup { drafts: true, ..with(Budget { roll_backs: 1, ..sends(3) }) };
    match fault {
        Fault::AcknowledgedEarly | Fault::Overtaking | Fault::DeliveredTwice | Fault::Lost => {
            with(sends(3))
        }
        Fault::AcknowledgementSampledLate
        | Fault::ReleasesBeforeReferences
        | Fault::NotTakenBack
        | Fault::CountedLate => begun,
        Fault::GraceTooShort => with(Budget { crashes: 1, ..sends(2) }),
        Fault::RerootNotSent => with(Budget { give_ups: 1, ..sends(3) }),
        Fault::RerootNotPassedOn => chain(Budget { give_ups: 2, ..sends(0) }),
        Fault::AdoptedWithoutKey => {
            Setup { nodes: 4, thief: Some(D), ..with(Budget { guesses: 1, ..sends(1) }) }
        }
        Fault::SameIncarnation | Fault::LateFramesTaken => {
            let budget = Budget { crashes: 1, restarts: 1, ..sends(2) };
            Setup { home_crashes: true, ..with(budget) }
        }
    }
}

/// Where the mutant shows.
fn world_of_mutant(mutant: Mutant) -> Setup {
    match mutant {
        Mutant::TwoParents => with(sends(3)),
        Mutant::NoPin => Setup { nodes: 3, ..chain(sends(1)) },
        Mutant::PinsGoAtOnce => Setup { nodes: 3, ..chain(Budget { give_ups: 1, ..sends(1) }) },
        Mutant::IndexReused => Setup { homes: &[A, A], ..with(sends(4)) },
        Mutant::OldParentNotReleased => Setup { idle: true, ..with(sends(3)) },
        Mutant::NoEstate => with(Budget { crashes: 1, ..sends(2) }),
        Mutant::OrphanTakesAnyParent => chain(Budget { give_ups: 1, ..sends(1) }),
        Mutant::OrphanForwards
        | Mutant::StaleParent
        | Mutant::HomeLossNotTold
        | Mutant::AdoptionNotRetried
        | Mutant::LateAdoptionKept => with(Budget { give_ups: 1, ..sends(3) }),
    }
}

fn with(budget: Budget) -> Setup {
    Setup { budget, ..Setup::default() }
}

fn chain(budget: Budget) -> Setup {
    Setup { nodes: 4, chain: true, ..with(budget) }
}

/// One thread explores, so that the way to a failure is a shortest one, and the same each time.
///
/// In a debug build an assertion of the code itself may be sooner than the properties: that is a catch as well.
#[expect(clippy::disallowed_methods, reason = "a test may say how long it took")]
fn is_caught(name: &str, setup: Setup) {
    let begun = Instant::now();
    let explore = || {
        let stop = HasDiscoveries::AnyFailures;
        Model::new(setup).checker().threads(1).finish_when(stop).spawn_bfs().join()
    };
    let checker = match catch_unwind(explore) {
        Ok(checker) => checker,
        Err(_) if cfg!(debug_assertions) => {
            println!("{name:<27} an assertion of the code");
            return;
        }
        // Nothing asserts in a release build.
        Err(panic) => resume_unwind(panic),
    };
    let mut caught: Vec<_> = checker
        .discoveries()
        .into_iter()
        .map(|(property, path)| (path.into_actions().len(), property))
        .collect();
    caught.sort();
    assert!(!caught.is_empty(), "{name} was not caught");
    println!(
        "{name:<27} {:>7} states {:>5.1} s  {}",
        checker.unique_state_count(),
        begun.elapsed().as_secs_f64(),
        caught
            .iter()
            .map(|(steps, property)| format!("{property}, after {steps} steps"))
            .collect::<Vec<_>>()
            .join("; "),
    );
}
