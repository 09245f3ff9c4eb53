//! Hand-offs: how many in a second, and what each of them sends.

use std::time::Instant;

use rmi::Stats;
use rmi::gc::{BridgeInit, Policy};
use serde::Serialize;

use crate::Outcome;
use crate::args::Effort;
use crate::median::Median;
use crate::topology::{Cluster, Topology};

/// One line of the table; all figures are for one hand-off.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) topology: &'static str,
    pub(crate) policy: String,
    pub(crate) bridges: String,
    /// Median over the rounds, with its 95 % confidence interval.
    pub(crate) per_second: f64,
    pub(crate) per_second_low: f64,
    pub(crate) per_second_high: f64,
    /// Frames beyond a request and an answer for each call of the operation.
    pub(crate) extra_frames: f64,
    pub(crate) references: f64,
    pub(crate) releases: f64,
    pub(crate) adoptions: f64,
    pub(crate) path_news: f64,
    pub(crate) descriptions_asked: f64,
    /// Bytes of references, releases and notices.
    pub(crate) collector_bytes: f64,
}

pub(crate) fn measure(effort: &Effort) -> Outcome<Vec<Row>> {
    let mut rows = Vec::new();
    for topology in Topology::ALL {
        for policy in [Policy::Adopting, Policy::Hierarchical, Policy::Listing] {
            for bridges in [BridgeInit::Lazy, BridgeInit::Eager] {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
                rows.push(runtime.block_on(row(topology, policy, bridges, effort))?);
            }
        }
    }
    Ok(rows)
}

async fn row(
    topology: Topology,
    policy: Policy,
    bridges: BridgeInit,
    effort: &Effort,
) -> Outcome<Row> {
    let cluster = Cluster::start(topology, policy, bridges).await?;
    // Whoever has to meet has met.
    cluster.operate().await?;
    cluster.rest().await;
    let handoffs = topology.handoffs() as f64;
    let operations = (effort.operations as f64 * 2.0 / (1.0 + handoffs)).ceil().max(1.0);
    let before = Total::of(&cluster.stats());
    let mut rates = Vec::new();
    for _ in 0..effort.rounds {
        let begun = Instant::now();
        for _ in 0..operations as u64 {
            cluster.operate().await?;
        }
        rates.push(operations * handoffs / begun.elapsed().as_secs_f64());
        cluster.rest().await;
    }
    let sent = Total::of(&cluster.stats()).since(&before);
    let each = |count: u64| count as f64 / (effort.rounds as f64 * operations * handoffs);
    let rate = Median::of(rates).ok_or("no rounds")?;
    cluster.stop().await;
    Ok(Row {
        topology: topology.name(),
        policy: format!("{policy:?}"),
        bridges: format!("{bridges:?}"),
        per_second: rate.value,
        per_second_low: rate.low,
        per_second_high: rate.high,
        extra_frames: each(sent.frames.saturating_sub(2 * sent.calls + sent.heartbeats)),
        references: each(sent.references),
        releases: each(sent.releases),
        adoptions: each(sent.adoptions),
        path_news: each(sent.path_news),
        descriptions_asked: each(sent.descriptions),
        collector_bytes: each(sent.bytes),
    })
}

/// What all nodes have sent.
#[derive(Default)]
struct Total {
    calls: u64,
    frames: u64,
    heartbeats: u64,
    references: u64,
    releases: u64,
    adoptions: u64,
    path_news: u64,
    descriptions: u64,
    bytes: u64,
}

impl Total {
    fn of(nodes: &[Stats]) -> Self {
        let mut total = Total::default();
        for stats in nodes {
            let gc = &stats.collector;
            total.calls += stats.calls_sent;
            total.frames += stats.frames_sent;
            total.heartbeats += stats.heartbeats_sent;
            total.references +=
                gc.references_described + gc.references_known + gc.references_returned;
            total.releases += gc.releases_sent;
            total.adoptions += gc.adopts_sent;
            total.path_news += gc.path_news_sent;
            total.descriptions += gc.descriptions_asked;
            total.bytes += gc.bytes_sent;
        }
        total
    }

    fn since(&self, before: &Total) -> Total {
        Total {
            calls: self.calls - before.calls,
            frames: self.frames - before.frames,
            heartbeats: self.heartbeats - before.heartbeats,
            references: self.references - before.references,
            releases: self.releases - before.releases,
            adoptions: self.adoptions - before.adoptions,
            path_news: self.path_news - before.path_news,
            descriptions: self.descriptions - before.descriptions,
            bytes: self.bytes - before.bytes,
        }
    }
}
