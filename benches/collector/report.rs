//! What was measured, as Markdown and as JSON.

use std::fmt;

use serde::Serialize;

use crate::handoffs::Row;
use crate::million::Million;

#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) handoffs: Vec<Row>,
    pub(crate) million: Million,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| topology | policy | bridges | hand-offs/s | 95 % | extra frames | references | releases | adoptions | \
             path news | descriptions asked | collector bytes |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|---|---|---|---|---|---|")?;
        for row in &self.handoffs {
            writeln!(
                f,
                "| {} | {} | {} | {:.0} | {:.0}–{:.0} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {:.1} |",
                row.topology,
                row.policy,
                row.bridges,
                row.per_second,
                row.per_second_low,
                row.per_second_high,
                row.extra_frames,
                row.references,
                row.releases,
                row.adoptions,
                row.path_news,
                row.descriptions_asked,
                row.collector_bytes,
            )?;
        }
        let Million { references, .. } = &self.million;
        let of = &self.million;
        writeln!(f, "\n| {references} references | at the holder | at the home |\n|---|---|---|")?;
        writeln!(f, "| bytes each, allocated | {:.0} | {:.0} |", of.holder_bytes, of.home_bytes)?;
        writeln!(
            f,
            "| bytes each, resident | {:.0} | {:.0} |",
            of.holder_resident, of.home_resident
        )?;
        writeln!(
            f,
            "| dropped, and released, per second | {:.2} M | {:.2} M |",
            of.dropped_per_second / 1e6,
            of.released_per_second / 1e6
        )?;
        write!(
            f,
            "| bytes on the wire for each release | {:.2}, in {} frames | |",
            of.wire_bytes_per_release, of.frames
        )
    }
}
