//! Ratios: all rows in turn, many times over.
//!
//! A machine that others use is faster now and slower then, for seconds at a time. Rows that are
//! measured one after the other meet different machines, and their ratio says nothing. Here each
//! round has a slice of every row, a ratio is between slices of one round, and the result is the
//! median of the rounds.

use super::{Effort, Pass, count_for};
use crate::Outcome;
use crate::cluster::{Cluster, Subject};
use crate::median::Median;
use crate::report::Measured;

/// Operations of a slice, however short it is to be.
const OPERATIONS_MIN: u64 = 8;
const OPERATIONS_MAX: u64 = 100_000;

/// The mean times of an operation, by subject and round.
pub(crate) struct Rounds(Vec<(Subject, Vec<f64>)>);

impl Rounds {
    pub(crate) fn new(slices: Vec<(Subject, Vec<f64>)>) -> Self {
        Self(slices)
    }

    fn of(&self, subject: Subject) -> Option<&[f64]> {
        let (_, rounds) = self.0.iter().find(|(known, _)| *known == subject)?;
        Some(rounds)
    }

    /// The median over the rounds of `subject` by `base`.
    pub(crate) fn ratio(&self, subject: Subject, base: Subject) -> Option<Median> {
        let pairs = self.of(subject)?.iter().zip(self.of(base)?);
        Median::of(pairs.map(|(subject, base)| subject / base).collect())
    }

    /// How much slower the last third of the rounds was than the first: what the machine did
    /// meanwhile.
    pub(crate) fn drift(&self, subject: Subject) -> Option<f64> {
        let rounds = self.of(subject)?;
        let third = rounds.len() / 3;
        let first = Median::of(rounds.iter().take(third).copied().collect())?;
        let last = Median::of(rounds.iter().rev().take(third).copied().collect())?;
        Some(last.value / first.value)
    }
}

pub(crate) fn measure(
    cluster: &Cluster,
    measured: &[Measured],
    effort: &Effort,
) -> Outcome<Rounds> {
    let counts: Vec<u64> = measured
        .iter()
        .map(|one| count_for(effort.slice, one.percentiles.p50_us, OPERATIONS_MIN, OPERATIONS_MAX))
        .collect();
    let mut slices: Vec<(Subject, Vec<f64>)> =
        measured.iter().map(|one| (one.subject, Vec::new())).collect();
    for round in 0..effort.rounds {
        for index in order(round, slices.len()) {
            let (Some((subject, rounds)), Some(&count)) =
                (slices.get_mut(index), counts.get(index))
            else {
                continue;
            };
            let took = cluster.run(*subject, count, Pass::Whole)?;
            rounds.push(took.as_secs_f64() * 1e6 / count as f64);
        }
    }
    Ok(Rounds::new(slices))
}

/// Each round begins with another row, and every other one goes backwards: no row has always
/// the same neighbours, or stands always at the same distance from `ping()`.
pub(crate) fn order(round: usize, count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).map(|place| (place + round / 2) % count).collect();
    if round % 2 == 1 {
        order.reverse();
    }
    order
}
