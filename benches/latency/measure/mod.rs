//! The passes over the rows; each kind of figure has one of its own.

pub(crate) mod estimates;
pub(crate) mod interleaved;
pub(crate) mod percentiles;
pub(crate) mod wire;

use std::error::Error;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::Outcome;
use crate::recipe::Recipe;

/// What is timed of a run of operations.
pub(crate) enum Pass<'a> {
    /// All of it, with two looks at the clock.
    Whole,
    /// Each operation, in nanoseconds.
    Each(&'a mut Histogram<u64>),
}

/// Does `operation` so many times, one after the other.
pub(crate) async fn repeat<E: Into<Box<dyn Error>>>(
    count: u64,
    pass: Pass<'_>,
    mut operation: impl AsyncFnMut() -> Result<(), E>,
) -> Outcome<Duration> {
    let start = Instant::now();
    match pass {
        Pass::Whole => {
            for _ in 0..count {
                operation().await.map_err(Into::into)?;
            }
        }
        Pass::Each(histogram) => {
            for _ in 0..count {
                let start = Instant::now();
                operation().await.map_err(Into::into)?;
                let nanoseconds = start.elapsed().as_nanos();
                histogram.saturating_record(u64::try_from(nanoseconds).unwrap_or(u64::MAX));
            }
        }
    }
    Ok(start.elapsed())
}

/// How much is measured.
pub(crate) struct Effort {
    pub(crate) warm_up: Duration,
    pub(crate) measurement: Duration,
    pub(crate) samples: usize,
    pub(crate) resamples: usize,
    /// How long operations of a row are timed one by one.
    pub(crate) percentiles: Duration,
    pub(crate) rounds: usize,
    /// How long a row lasts within a round.
    pub(crate) slice: Duration,
    pub(crate) recipe: Recipe,
    about: &'static str,
}

impl Effort {
    pub(crate) fn full() -> Self {
        Self {
            warm_up: Duration::from_secs(1),
            measurement: Duration::from_secs(5),
            samples: 100,
            resamples: 100_000,
            percentiles: Duration::from_secs(2),
            rounds: 100,
            slice: Duration::from_millis(20),
            recipe: Recipe::historic(),
            about: "two to three minutes",
        }
    }

    pub(crate) fn quick() -> Self {
        Self {
            warm_up: Duration::from_millis(100),
            measurement: Duration::from_millis(600),
            samples: 40,
            resamples: 10_000,
            percentiles: Duration::from_millis(200),
            rounds: 40,
            slice: Duration::from_millis(10),
            recipe: Recipe::scaled_down(),
            about: "less than 40 seconds (--quick)",
        }
    }

    pub(crate) fn about(&self) -> &'static str {
        self.about
    }
}

/// How many operations of `mean_us` each fill `time`, within bounds that keep them meaningful.
pub(crate) fn count_for(time: Duration, mean_us: f64, least: u64, most: u64) -> u64 {
    // A float saturates when it is cast, so that a mean of 0 gives `most`.
    ((time.as_secs_f64() * 1e6 / mean_us) as u64).clamp(least, most)
}
