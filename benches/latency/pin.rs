//! On which cores client and servers run.

use clap::ValueEnum;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::Outcome;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Pin {
    One,
    Two,
    None,
}

/// Which end of the calls a thread is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Client,
    Server,
}

impl Pin {
    /// Pins the calling thread, and all that it starts from then on.
    pub(crate) fn apply(self, end: End) -> Outcome<()> {
        let place = match (self, end) {
            (Pin::None, _) => return Ok(()),
            (Pin::One, _) | (Pin::Two, End::Client) => 0,
            (Pin::Two, End::Server) => 1,
        };
        let allowed = sched_getaffinity(None)?;
        let core = (0..CpuSet::MAX_CPU)
            .filter(|&core| allowed.is_set(core))
            .nth(place)
            .ok_or("--pin two needs two cores")?;
        let mut only = CpuSet::new();
        only.set(core);
        Ok(sched_setaffinity(None, &only)?)
    }
}
