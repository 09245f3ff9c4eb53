//! Means with their 95 % confidence intervals: criterion's.

use std::fs;
use std::path::Path;

use criterion::{Criterion, SamplingMode};
use serde::Deserialize;

use super::{Effort, Pass};
use crate::Outcome;
use crate::cluster::{Cluster, Subject};

/// The mean time of an operation, and the ends of its 95 % confidence interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Estimate {
    pub(crate) mean_us: f64,
    pub(crate) low_us: f64,
    pub(crate) high_us: f64,
}

impl Estimate {
    /// Half of the interval's width: it is not quite symmetric, as the bootstrap has it.
    pub(crate) fn half_width_us(&self) -> f64 {
        (self.high_us - self.low_us) / 2.0
    }
}

/// What criterion has written about a benchmark; ns.
#[derive(Deserialize)]
struct Written {
    mean: WrittenMean,
}

#[derive(Deserialize)]
struct WrittenMean {
    confidence_interval: WrittenInterval,
    point_estimate: f64,
}

#[derive(Deserialize)]
struct WrittenInterval {
    confidence_level: f64,
    lower_bound: f64,
    upper_bound: f64,
}

/// Measures row after row; criterion keeps its files in `folder`, under `group`.
pub(crate) fn measure(
    cluster: &Cluster,
    subjects: &[Subject],
    effort: &Effort,
    folder: &Path,
    group: &str,
) -> Outcome<Vec<Estimate>> {
    let mut criterion = Criterion::default()
        .without_plots()
        .output_directory(folder)
        .warm_up_time(effort.warm_up)
        .measurement_time(effort.measurement)
        .sample_size(effort.samples)
        .nresamples(effort.resamples)
        .confidence_level(0.95);
    let mut benches = criterion.benchmark_group(group);
    // Samples of equal length weigh equally in the mean; those of the linear mode do not.
    benches.sampling_mode(SamplingMode::Flat);
    for &subject in subjects {
        benches.bench_function(subject.slug(), |bencher| {
            bencher.iter_custom(|count| {
                // Criterion takes no errors. A panic unwinds past the servers, which end.
                cluster.run(subject, count, Pass::Whole).expect("the server answers")
            });
        });
    }
    benches.finish();
    subjects.iter().map(|subject| read(&folder.join(group).join(subject.slug()))).collect()
}

fn read(bench: &Path) -> Outcome<Estimate> {
    let file = bench.join("new").join("estimates.json");
    let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    let Written { mean } = serde_json::from_str(&text)?;
    let interval = mean.confidence_interval;
    if interval.confidence_level != 0.95 {
        return Err(format!("{}: not a 95 % interval", file.display()).into());
    }
    Ok(Estimate {
        mean_us: mean.point_estimate / 1e3,
        low_us: interval.lower_bound / 1e3,
        high_us: interval.upper_bound / 1e3,
    })
}
