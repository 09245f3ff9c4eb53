//! Runs a test under one schedule after the other.
//!
//! The seed is the same every time, so that a run repeats; `SCHEDULE_SEED` takes another, and
//! `SCHEDULES` says how many are tried of each kind, in every test. A failure prints the schedule
//! that it came about in, and `SCHEDULE=…` replays that one alone.

mod wire;

use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::str::FromStr;

use shuttle::scheduler::{PctScheduler, RandomScheduler, ReplayScheduler, Scheduler};
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};

pub use self::wire::wires;

const SEED: u64 = 0x5eed;
/// Under so many schedules at most, a planted fault has to show.
const SCHEDULES_PLANTED: usize = 2_000;
/// One that takes longer goes round in circles.
const STEPS_MAX: usize = 200_000;
/// How many times the schedules of the second kind take the processor from a thread that could go
/// on. Most faults take one or two.
const PREEMPTIONS: usize = 3;

/// Runs `test` under so many random schedules, and as many of PCT (Burckhardt et al., ASPLOS 2010),
/// which preempt rarely and so find orders that uniformly random ones hardly ever do.
///
/// # Panics
///
/// If it fails under one of them, a deadlock included.
pub fn explore(schedules: usize, test: impl Fn() + Clone + Send + Sync + 'static) {
    if let Ok(schedule) = env::var("SCHEDULE") {
        return run(ReplayScheduler::new_from_encoded(&schedule), Print::Schedule, test);
    }
    let (seed, schedules) = (number("SCHEDULE_SEED", SEED), number("SCHEDULES", schedules));
    let random = RandomScheduler::new_from_seed(seed, schedules);
    run(random, Print::Schedule, test.clone());
    run(PctScheduler::new_from_seed(seed, PREEMPTIONS, schedules), Print::Schedule, test);
}

/// A test of the tests: `faulty` must be found to be so.
///
/// # Panics
///
/// If no schedule shows it.
pub fn must_fail(faulty: impl Fn() + Clone + Send + Sync + 'static) {
    let random = RandomScheduler::new_from_seed(SEED, SCHEDULES_PLANTED);
    let found = catch_unwind(AssertUnwindSafe(|| run(random, Print::Nothing, faulty))).is_err();
    assert!(found, "the planted fault was not found under {SCHEDULES_PLANTED} schedules");
}

enum Print {
    Schedule,
    Nothing,
}

fn run(scheduler: impl Scheduler + 'static, print: Print, test: impl Fn() + Send + Sync + 'static) {
    let mut config = Config::new();
    config.max_steps = MaxSteps::FailAfter(STEPS_MAX);
    // Whole frames are encoded on these stacks, with debug assertions.
    config.stack_size = 1 << 18;
    config.failure_persistence = match print {
        Print::Schedule => FailurePersistence::Print,
        Print::Nothing => FailurePersistence::None,
    };
    Runner::new(scheduler, config).run(test);
}

fn number<N: FromStr>(name: &str, otherwise: N) -> N {
    env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}
