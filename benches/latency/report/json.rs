//! The rows as a JSON list, for programs.

use serde::Serialize;

use super::{Measured, Report};
use crate::Outcome;

#[derive(Serialize)]
struct Line<'a> {
    row: &'static str,
    config: &'a str,
    mean_us: f64,
    /// Half of the width of the mean's 95 % confidence interval.
    ci95_us: f64,
    p50_us: f64,
    p99_us: f64,
    /// Null for raw ping-pongs, which have no frames.
    frames_per_op: Option<f64>,
    bytes_per_op: f64,
    ratio_to_ping: Option<f64>,
    /// The ends of the ratio's 95 % confidence interval.
    ratio_ci95: Option<[f64; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    karmi: Option<Karmi>,
}

/// The historic recipe's figures.
#[derive(Serialize)]
struct Karmi {
    calls_per_round: u64,
    mean_us: f64,
    deviation_us: f64,
    untrimmed_mean_us: f64,
    untrimmed_deviation_us: f64,
}

pub(crate) fn render(report: &Report) -> Outcome<String> {
    let lines: Vec<Line<'_>> = report.measured.iter().map(|one| line(report, one)).collect();
    Ok(serde_json::to_string_pretty(&lines)? + "\n")
}

fn line<'a>(report: &'a Report, one: &Measured) -> Line<'a> {
    let ratio = report.ratio_to_ping(one.subject);
    let raw_bytes = f64::from(report.raw_sizes.request) + f64::from(report.raw_sizes.answer);
    Line {
        row: one.subject.name(),
        config: &report.config,
        mean_us: one.estimate.mean_us,
        ci95_us: one.estimate.half_width_us(),
        p50_us: one.percentiles.p50_us,
        p99_us: one.percentiles.p99_us,
        frames_per_op: one.wire.map(|wire| wire.frames),
        bytes_per_op: one.wire.map_or(raw_bytes, |wire| wire.bytes),
        ratio_to_ping: ratio.map(|ratio| ratio.value),
        ratio_ci95: ratio.map(|ratio| [ratio.low, ratio.high]),
        karmi: one.karmi.as_ref().map(|rounds| Karmi {
            calls_per_round: rounds.calls_per_round,
            mean_us: rounds.trimmed.0,
            deviation_us: rounds.trimmed.1,
            untrimmed_mean_us: rounds.untrimmed.0,
            untrimmed_deviation_us: rounds.untrimmed.1,
        }),
    }
}
