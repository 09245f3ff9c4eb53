//! Checks of the parts that only compute. A bench has no test harness, so the smoke test runs
//! them: `cargo test --benches`.

use std::time::Duration;

use crate::historic::COLUMNS;
use crate::measure::interleaved::order;
use crate::median::Median;
use crate::recipe;
use crate::report::machine::date;
use crate::report::table::align;
use crate::rows::Row;

pub(crate) fn run() {
    the_median_lies_within_its_interval();
    the_three_slowest_rounds_are_discarded();
    calibration_ends_at_rounds_that_are_long_enough();
    every_round_has_each_row_once();
    columns_are_aligned();
    a_historic_ratio_is_within_its_column();
    dates_are_those_of_the_calendar();
}

fn the_median_lies_within_its_interval() {
    let values = (1..=50).rev().map(f64::from).collect();
    assert_eq!(Median::of(values), Some(Median { value: 25.5, low: 19.0, high: 32.0 }));
    assert_eq!(Median::of(vec![7.0]), Some(Median { value: 7.0, low: 7.0, high: 7.0 }));
    assert_eq!(Median::of(Vec::new()), None);
}

fn the_three_slowest_rounds_are_discarded() {
    let rounds = recipe::evaluate(10, vec![90.0, 1.0, 3.0, 80.0, 70.0]);
    assert_eq!(rounds.trimmed, (2.0, 1.0));
    assert_eq!(rounds.untrimmed.0, 48.8);
}

fn calibration_ends_at_rounds_that_are_long_enough() {
    let per_call = Duration::from_micros(30);
    let round = Duration::from_millis(500);
    let calls = recipe::calibrate(round, |calls| Ok(per_call.mul_f64(calls as f64)));
    let calls = calls.expect("no run fails");
    assert!((16_667..20_000).contains(&calls), "{calls}");
}

fn every_round_has_each_row_once() {
    assert_eq!(order(0, 4), [0, 1, 2, 3]);
    assert_eq!(order(1, 4), [3, 2, 1, 0]);
    assert_eq!(order(2, 4), [1, 2, 3, 0]);
    assert_eq!(order(3, 4), [0, 3, 2, 1]);
}

fn columns_are_aligned() {
    let lines = [vec!["", "mean", "±"], vec!["ping()", "9.5", "12.25"], vec!["raw", "100.0"]];
    let lines = lines.map(|line| line.into_iter().map(str::to_owned).collect());
    let want = "        mean      ±\nping()    9.5  12.25\nraw     100.0\n";
    assert_eq!(align(&lines), want.replace("        mean", "         mean"));
}

fn a_historic_ratio_is_within_its_column() {
    let ratios = COLUMNS.map(|column| column.ratio_to_ping(Row::PingRef));
    let rounded = ratios.map(|ratio| ratio.map(|ratio| format!("{ratio:.2}")));
    assert_eq!(rounded.map(Option::unwrap_or_default), ["2.57", "2.54", "1.64", "3.69"]);
}

fn dates_are_those_of_the_calendar() {
    assert_eq!(date(0), "1970-01-01 00:00 UTC");
    assert_eq!(date(1_709_208_000), "2024-02-29 12:00 UTC");
}
