//! Frames and bytes of an operation, as the nodes count them.

use rmi::Stats;

use super::Pass;
use crate::Outcome;
use crate::cluster::{Cluster, Subject};
use crate::median::Median;
use crate::rows::Row;

/// Windows of operations. What is owed to a peer goes out alone if no frame has taken it along
/// within a few milliseconds, as happens once in a while on a machine that stalls; the median of
/// the windows is what an operation costs when that did not happen.
const WINDOWS: usize = 11;
const OPERATIONS: u64 = 200;

/// Per operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OnTheWire {
    pub(crate) frames: f64,
    pub(crate) bytes: f64,
    /// What the client sent and received of those bytes.
    sent: f64,
    received: f64,
}

impl OnTheWire {
    pub(crate) fn request_bytes(&self) -> u32 {
        self.sent.round() as u32
    }

    pub(crate) fn answer_bytes(&self) -> u32 {
        self.received.round() as u32
    }
}

pub(crate) fn measure(cluster: &mut Cluster, row: Row) -> Outcome<OnTheWire> {
    cluster.run(Subject::Row(row), OPERATIONS, Pass::Whole)?;
    let mut windows = Vec::new();
    let mut before = Totals::now(cluster)?;
    for _ in 0..WINDOWS {
        cluster.run(Subject::Row(row), OPERATIONS, Pass::Whole)?;
        let after = Totals::now(cluster)?;
        windows.push(after.since(&before));
        before = after;
    }
    let median = |of: fn(&Totals) -> u64| {
        let values = windows.iter().map(|window| of(window) as f64 / OPERATIONS as f64).collect();
        Median::of(values).map_or(f64::NAN, |median| median.value)
    };
    Ok(OnTheWire {
        frames: median(|window| window.frames),
        bytes: median(|window| window.bytes),
        sent: median(|window| window.sent),
        received: median(|window| window.received),
    })
}

struct Totals {
    frames: u64,
    bytes: u64,
    sent: u64,
    received: u64,
}

impl Totals {
    /// Between two nodes the client sees every frame. Among three it does not, but every frame
    /// is sent by one of them.
    fn now(cluster: &mut Cluster) -> Outcome<Self> {
        let client = cluster.client_stats();
        let servers = cluster.server_stats()?;
        let (sent, received) = (client.bytes_sent, client.bytes_received);
        if servers.len() == 1 {
            let frames = client.frames_sent + client.frames_received;
            return Ok(Self { frames, bytes: sent + received, sent, received });
        }
        let total = |of: fn(&Stats) -> u64| of(&client) + servers.iter().map(of).sum::<u64>();
        let (frames, bytes) = (total(|node| node.frames_sent), total(|node| node.bytes_sent));
        Ok(Self { frames, bytes, sent, received })
    }

    fn since(&self, before: &Self) -> Self {
        Self {
            frames: self.frames - before.frames,
            bytes: self.bytes - before.bytes,
            sent: self.sent - before.sent,
            received: self.received - before.received,
        }
    }
}
