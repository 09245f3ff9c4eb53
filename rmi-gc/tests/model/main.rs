//! Every interleaving of small worlds, over the shipped types.
//!
//! `MODEL_BOUND=n` adds `n` to the number of references sent in each world, and takes more chains with two faults.

mod actions;
mod faults;
mod invariants;
mod mutants;
mod space;
mod watch;
mod witnesses;
#[path = "../world/mod.rs"]
mod world;
mod worlds;

use std::time::Instant;

use space::{Budget, Model, Setup};
use stateright::{Checker, Expectation, Model as _};

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
    let (bound, verdict) = (setup.to_string(), if failed.is_empty() { "holds" } else { "FAILS" });
    println!(
        "{name:<30} {bound:<64} {:>8} states {:>9} steps depth {:>2} {:>6.1} s  {verdict}",
        checker.unique_state_count(),
        checker.state_count(),
        checker.max_depth(),
        begun.elapsed().as_secs_f64(),
    );
    for name in &failed {
        let path = found.get(name).map(|path| path.clone().into_actions());
        println!("  {name}: {path:#?}");
    }
    assert!(failed.is_empty(), "{name}: {failed:?}");
}
