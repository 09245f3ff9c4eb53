//! The historic recipe: how the historic table was measured, as far as is known.

use std::time::Duration;

use crate::Outcome;
use crate::statistics::mean_and_deviation;

/// Tries until a round is long enough.
const TRIES_MAX: usize = 10;
const DISCARDED: usize = 3;

/// How long and how often; [`Recipe::historic`] unless in a hurry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recipe {
    /// A round takes at least this long.
    pub(crate) round: Duration,
    pub(crate) rounds: usize,
}

impl Recipe {
    pub(crate) fn historic() -> Self {
        Self { round: Duration::from_millis(500), rounds: 10 }
    }

    /// A tenth as long: the spread of such rounds is not comparable with the historic one.
    pub(crate) fn scaled_down() -> Self {
        Self { round: Duration::from_millis(50), rounds: 8 }
    }

    pub(crate) fn about(&self) -> String {
        let scaled = if self.round < Self::historic().round { " (scaled down)" } else { "" };
        let (rounds, seconds) = (self.rounds, self.round.as_secs_f64());
        format!(
            "{rounds} rounds of at least {seconds} s{scaled}, the {DISCARDED} slowest discarded"
        )
    }
}

/// The outcome, µs per call.
#[derive(Clone, Debug)]
pub(crate) struct Rounds {
    pub(crate) calls_per_round: u64,
    /// Mean and standard deviation of the rounds' means without the slowest.
    pub(crate) trimmed: (f64, f64),
    pub(crate) untrimmed: (f64, f64),
}

/// Calibrates, then times the rounds. `run` makes so many calls, and says how long that took.
pub(crate) fn measure(
    recipe: &Recipe,
    mut run: impl FnMut(u64) -> Outcome<Duration>,
) -> Outcome<Rounds> {
    let calls_per_round = calibrate(recipe.round, &mut run)?;
    let mut means = Vec::new();
    for _ in 0..recipe.rounds {
        means.push(run(calls_per_round)?.as_secs_f64() * 1e6 / calls_per_round as f64);
    }
    Ok(evaluate(calls_per_round, means))
}

/// Ten times as many calls while a round is shorter than a tenth of `round`, then as many as
/// should take 1.1 times as long as asked for.
pub(crate) fn calibrate(
    round: Duration,
    mut run: impl FnMut(u64) -> Outcome<Duration>,
) -> Outcome<u64> {
    let mut calls = 1;
    for _ in 0..TRIES_MAX {
        let took = run(calls)?;
        if took >= round {
            break;
        }
        if took < round / 10 {
            calls *= 10;
        } else {
            let wanted = round.as_secs_f64() * 1.1 / took.as_secs_f64();
            calls = (calls as f64 * wanted).ceil() as u64;
        }
    }
    Ok(calls)
}

pub(crate) fn evaluate(calls_per_round: u64, mut means: Vec<f64>) -> Rounds {
    let untrimmed = mean_and_deviation(&means);
    means.sort_by(f64::total_cmp);
    means.truncate(means.len().saturating_sub(DISCARDED).max(1));
    Rounds { calls_per_round, trimmed: mean_and_deviation(&means), untrimmed }
}
