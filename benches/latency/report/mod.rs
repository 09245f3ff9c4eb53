//! What was measured, and the ways to tell it.

pub(crate) mod json;
pub(crate) mod machine;
pub(crate) mod plot;
pub(crate) mod table;

use self::machine::Machine;
use crate::cluster::Subject;
use crate::measure::estimates::Estimate;
use crate::measure::interleaved;
use crate::measure::percentiles::Percentiles;
use crate::measure::wire::OnTheWire;
use crate::median::Median;
use crate::raw::Sizes;
use crate::recipe;
use crate::rows::Row;

/// All about one row, or one raw ping-pong.
pub(crate) struct Measured {
    pub(crate) subject: Subject,
    pub(crate) estimate: Estimate,
    pub(crate) percentiles: Percentiles,
    /// `None` where no node counts: raw ping-pongs.
    pub(crate) wire: Option<OnTheWire>,
    /// The historic recipe, if it was asked for.
    pub(crate) karmi: Option<recipe::Rounds>,
}

/// All about a run.
pub(crate) struct Report {
    pub(crate) config: String,
    pub(crate) machine: Machine,
    pub(crate) effort: &'static str,
    pub(crate) recipe_note: String,
    pub(crate) raw_sizes: Sizes,
    pub(crate) measured: Vec<Measured>,
    pub(crate) rounds: interleaved::Rounds,
}

impl Report {
    pub(crate) fn ratio_to_ping(&self, subject: Subject) -> Option<Median> {
        self.rounds.ratio(subject, Subject::Row(Row::Ping))
    }
}
