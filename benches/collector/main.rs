//! What the collector costs: hand-offs by policy and topology, and a million references.
//!
//! `cargo bench --bench collector -- --quick`; `docs/BENCHMARKS.md` says what each figure means.

mod args;
mod handoffs;
mod interface;
#[path = "../latency/median.rs"]
mod median;
mod million;
mod report;
mod topology;

use std::error::Error;

use clap::Parser;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

use self::args::Args;
use self::report::Report;

/// Counts what is allocated, in each process for itself.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<std::alloc::System> = &INSTRUMENTED_SYSTEM;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let args = Args::parse();
    if args.serve_home {
        return million::serve();
    }
    let effort = args.effort();
    let report = Report {
        handoffs: handoffs::measure(&effort)?,
        million: million::measure(effort.references)?,
    };
    println!("{report}");
    if let Some(file) = &args.json {
        std::fs::write(file, serde_json::to_string_pretty(&report)?)?;
    }
    Ok(())
}
