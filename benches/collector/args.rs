//! The command line.

use std::path::PathBuf;

use clap::Parser;

/// Measures hand-offs and a million references; `docs/BENCHMARKS.md` explains it.
#[derive(Parser)]
pub(crate) struct Args {
    /// All of it in less than 40 seconds, with wider intervals and fewer references.
    #[arg(long)]
    quick: bool,
    /// Writes what was measured as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// `cargo bench` says so; without it this is a smoke test, as with criterion's own main.
    #[arg(long, hide = true)]
    bench: bool,
    /// Set in the process that this one starts.
    #[arg(long, hide = true)]
    pub(crate) serve_home: bool,
}

/// How much is measured.
pub(crate) struct Effort {
    pub(crate) rounds: usize,
    /// Operations in a round.
    pub(crate) operations: u64,
    /// Held at once, and released.
    pub(crate) references: usize,
}

impl Args {
    pub(crate) fn effort(&self) -> Effort {
        match (self.bench, self.quick) {
            (false, _) => Effort { rounds: 2, operations: 1, references: 1_000 },
            (true, true) => Effort { rounds: 8, operations: 50, references: 100_000 },
            (true, false) => Effort { rounds: 30, operations: 300, references: 1_000_000 },
        }
    }
}
