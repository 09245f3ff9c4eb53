//! The table as text.

use super::{Measured, Report};
use crate::cluster::Subject;
use crate::historic::{COLUMNS, Figure};
use crate::median::Median;
use crate::raw::Kind;
use crate::rows::Row;

/// Ratios that the design sets a target for, beside those to `ping()`.
const OTHER_RATIOS: [(Subject, Subject); 5] = [
    (Subject::Row(Row::Ping), Subject::Raw(Kind::Tokio)),
    (Subject::Row(Row::Ping), Subject::Raw(Kind::Blocking)),
    (Subject::Row(Row::Ping), Subject::Raw(Kind::Spin)),
    (Subject::Row(Row::PingPongRef), Subject::Row(Row::PingPong)),
    (Subject::Row(Row::Ping2Ref), Subject::Row(Row::PingPong)),
];

pub(crate) fn render(report: &Report) -> String {
    let recipe = if report.measured.iter().any(|one| one.karmi.is_some()) {
        format!("Historic recipe: {}\n{}\n", report.recipe_note, align(&recipe_cells(report)))
    } else {
        String::new()
    };
    format!(
        "{recipe}Other ratios, from the same rounds\n{ratios}\n\
         {config}\n{machine}\nmeasured for {effort}; {drift}\n\
         µs for one operation; ± is half of the 95 % confidence interval of the mean; ratios are \
         medians of interleaved\nrounds with their 95 % interval; historic columns as printed in \
         KaRMI's ticket 147, then their ratios in that order\n{table}",
        ratios = align(&other_ratios(report)),
        config = report.config,
        machine = report.machine.lines(),
        effort = report.effort,
        drift = drift(report),
        table = align(&table_cells(report)),
    )
}

fn drift(report: &Report) -> String {
    match report.rounds.drift(Subject::Row(Row::Ping)) {
        Some(drift) => format!("ping() in the last third of the rounds by the first: {drift:.2}"),
        None => "too few rounds to tell drift".to_owned(),
    }
}

fn table_cells(report: &Report) -> Vec<Vec<String>> {
    let ours = ["", "mean", "±", "p50", "p99", "frames", "bytes", "/ ping()", "95 %"];
    let mut header: Vec<String> = ours.map(str::to_owned).to_vec();
    header.extend(COLUMNS.iter().map(|column| column.name.to_owned()));
    header.push("historic / ping()".to_owned());
    let lines = report.measured.iter().map(|one| line(report, one));
    std::iter::once(header).chain(lines).collect()
}

fn line(report: &Report, one: &Measured) -> Vec<String> {
    let raw_bytes = report.raw_sizes.request + report.raw_sizes.answer;
    let ratio = report.ratio_to_ping(one.subject);
    let mut cells = vec![
        one.subject.name().to_owned(),
        format!("{:.3}", one.estimate.mean_us),
        format!("{:.3}", one.estimate.half_width_us()),
        format!("{:.1}", one.percentiles.p50_us),
        format!("{:.1}", one.percentiles.p99_us),
        one.wire.map_or_else(nothing, |wire| per_operation(wire.frames)),
        one.wire.map_or_else(|| raw_bytes.to_string(), |wire| per_operation(wire.bytes)),
        ratio.map_or_else(nothing, |ratio| format!("{:.3}", ratio.value)),
        ratio.map_or_else(nothing, interval),
    ];
    if let Subject::Row(row) = one.subject {
        cells.extend(COLUMNS.iter().map(|column| column.figure(row).map_or_else(nothing, figure)));
        let ratios = COLUMNS.iter().map(|column| {
            column.ratio_to_ping(row).map_or_else(nothing, |ratio| format!("{ratio:.2}"))
        });
        cells.push(align_words(ratios));
    }
    cells
}

fn nothing() -> String {
    "–".to_owned()
}

/// Whole numbers without decimals: a count that comes out exactly is to look exact.
fn per_operation(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value}") } else { format!("{value:.2}") }
}

fn interval(median: Median) -> String {
    format!("{:.3}–{:.3}", median.low, median.high)
}

fn figure(figure: Figure) -> String {
    match figure.plus_minus_us {
        Some(plus_minus) => format!("{:.3} ± {plus_minus:7.3}", figure.mean_us),
        None => format!("{:.3}", figure.mean_us),
    }
}

fn align_words(words: impl Iterator<Item = String>) -> String {
    words.map(|word| format!("{word:>5}")).collect::<Vec<_>>().join(" ")
}

fn other_ratios(report: &Report) -> Vec<Vec<String>> {
    let line = |&(subject, base): &(Subject, Subject)| {
        let ratio = report.rounds.ratio(subject, base)?;
        let name = format!("{} / {}", subject.name(), base.name());
        Some(vec![name, format!("{:.3}", ratio.value), interval(ratio)])
    };
    let header = ["", "ratio", "95 %"].map(str::to_owned).to_vec();
    std::iter::once(header).chain(OTHER_RATIOS.iter().filter_map(line)).collect()
}

fn recipe_cells(report: &Report) -> Vec<Vec<String>> {
    let header = ["", "mean", "± deviation", "untrimmed", "± deviation", "calls a round"];
    let lines = report.measured.iter().filter_map(|one| {
        let rounds = one.karmi.as_ref()?;
        let mut cells = vec![one.subject.name().to_owned()];
        for (mean, deviation) in [rounds.trimmed, rounds.untrimmed] {
            cells.extend([format!("{mean:.3}"), format!("{deviation:.3}")]);
        }
        cells.push(rounds.calls_per_round.to_string());
        Some(cells)
    });
    std::iter::once(header.map(str::to_owned).to_vec()).chain(lines).collect()
}

/// The first column to the left, all others to the right.
pub(crate) fn align(lines: &[Vec<String>]) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            let cells = lines.iter().filter_map(|line| line.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        })
        .collect();
    let mut text = String::new();
    for line in lines {
        let cells = line.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
            if column == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}
