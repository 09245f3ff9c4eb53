//! Percentiles of operations that are timed one by one.

use std::time::Duration;

use hdrhistogram::Histogram;

use super::estimates::Estimate;
use super::{Effort, Pass, count_for};
use crate::Outcome;
use crate::cluster::{Cluster, Subject};

/// At least so many, or there is no telling the slowest hundredth.
const OPERATIONS_MIN: u64 = 2_000;
const OPERATIONS_MAX: u64 = 200_000;
/// Operations between two looks at how long it takes.
const CHUNK: u64 = 250;
/// How many times as long as planned it may take before that minimum is given up: a machine that
/// slows down meanwhile is not to stop the run.
const PATIENCE: u32 = 3;

/// What takes longer is recorded as this.
const LONGEST_NS: u64 = 60_000_000_000;
const DIGITS: u8 = 3;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Percentiles {
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
}

pub(crate) fn measure(
    cluster: &Cluster,
    subject: Subject,
    estimate: &Estimate,
    effort: &Effort,
) -> Outcome<Percentiles> {
    let count = count_for(effort.percentiles, estimate.mean_us, OPERATIONS_MIN, OPERATIONS_MAX);
    let mut histogram = Histogram::new_with_max(LONGEST_NS, DIGITS)?;
    let mut took = Duration::ZERO;
    while histogram.len() < count && took < effort.percentiles * PATIENCE {
        took += cluster.run(subject, CHUNK, Pass::Each(&mut histogram))?;
    }
    let at = |quantile| histogram.value_at_quantile(quantile) as f64 / 1e3;
    Ok(Percentiles { p50_us: at(0.50), p99_us: at(0.99) })
}
