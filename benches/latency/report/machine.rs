//! Where and when a run took place.

use std::fs;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

const SECONDS_PER_DAY: u64 = 86_400;

pub(crate) struct Machine {
    cpu: String,
    cores: usize,
    kernel: String,
    rustc: String,
    /// Seconds since 1970.
    started: u64,
    load_at_start: String,
}

impl Machine {
    pub(crate) fn here() -> Self {
        let unknown = || "unknown".to_owned();
        Self {
            cpu: cpu().unwrap_or_else(unknown),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            kernel: read("/proc/sys/kernel/osrelease").unwrap_or_else(unknown),
            rustc: rustc().unwrap_or_else(|| "rustc unknown".to_owned()),
            started: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs()),
            load_at_start: load(),
        }
    }

    /// Two lines. The load at the start and now is there to be distrusted by: on a machine that
    /// does something else the absolute times mean little.
    pub(crate) fn lines(&self) -> String {
        let Self { cpu, cores, kernel, rustc, started, load_at_start } = self;
        let now = load();
        let date = date(*started);
        format!(
            "{cpu}, {cores} cores, Linux {kernel}, {rustc}\n\
             {date}, load average {load_at_start} before and {now} after"
        )
    }
}

fn cpu() -> Option<String> {
    let text = read("/proc/cpuinfo")?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn rustc() -> Option<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.split(" (").next()?.trim().to_owned())
}

/// Of the last minute.
fn load() -> String {
    let text = read("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or_default().to_owned()
}

fn read(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

/// `2024-02-29 12:00 UTC`. The algorithm is Howard Hinnant's `civil_from_days`.
pub(crate) fn date(seconds: u64) -> String {
    let (days, second) = (seconds / SECONDS_PER_DAY + 719_468, seconds % SECONDS_PER_DAY);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute) = (second / 3_600, second / 60 % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}
