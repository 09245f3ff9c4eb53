//! What a node counts: plain numbers that only grow, but for those that say "now".

use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

/// A node's counters since it started.
///
/// Taking them costs a few atomic loads; subtract two to measure what lies between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Stats {
    /// Calls that this node's references made over a session, one-way ones included.
    pub calls_sent: u64,
    /// Calls that arrived, one-way and relayed ones included.
    pub calls_received: u64,
    /// Calls that this node carried for others (`gc.md`, rule 11).
    pub calls_relayed: u64,
    /// Frames written, of every kind.
    pub frames_sent: u64,
    /// Frames read, of every kind.
    pub frames_received: u64,
    /// Bytes of the frames written, envelope included; hand-shakes are not counted.
    pub bytes_sent: u64,
    /// Bytes of the frames read.
    pub bytes_received: u64,
    /// Sessions that are open now.
    pub sessions: u64,
    /// Calls of ours that wait for their answer now, given-up ones included.
    pub calls_waiting: u64,
    /// Handlers that run as tasks now, for other nodes.
    pub handlers_running: u64,
    /// What the collector sent and received.
    pub collector: CollectorStats,
}

/// The collector's messages by kind. All but `frames_sent` rode on frames that went out anyway.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CollectorStats {
    /// References sent with a description of their object.
    pub references_described: u64,
    /// References sent by an index that the receiver knew.
    pub references_known: u64,
    /// References sent to their home, or to the node that they came from: not counted there.
    pub references_returned: u64,
    /// References received, of every kind.
    pub references_received: u64,
    /// Releases sent; each may stand for many references.
    pub releases_sent: u64,
    /// Releases received.
    pub releases_received: u64,
    /// References that were taken back because their frame never left.
    pub rolled_back: u64,
    /// Frames that carried nothing but releases or an acknowledgement.
    pub frames_sent: u64,
    /// Descriptions asked for by `BridgeInit::Eager`: one round trip each.
    pub descriptions_asked: u64,
}

macro_rules! counters {
    ($($name:ident),* $(,)?) => {
        /// The counters behind [`Stats`]; relaxed, as no other memory depends on them.
        #[derive(Default)]
        pub(crate) struct Counters { $(pub(crate) $name: Counter),* }
    };
}

counters! {
    calls_sent, calls_received, calls_relayed, frames_sent, frames_received, bytes_sent,
    bytes_received, references_described, references_known, references_returned,
    references_received, releases_sent, releases_received, rolled_back, control_frames_sent,
    descriptions_asked,
}

#[derive(Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    fn read(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Counters {
    /// All but what is there now, which the sessions know.
    pub(crate) fn read(&self) -> Stats {
        Stats {
            calls_sent: self.calls_sent.read(),
            calls_received: self.calls_received.read(),
            calls_relayed: self.calls_relayed.read(),
            frames_sent: self.frames_sent.read(),
            frames_received: self.frames_received.read(),
            bytes_sent: self.bytes_sent.read(),
            bytes_received: self.bytes_received.read(),
            sessions: 0,
            calls_waiting: 0,
            handlers_running: 0,
            collector: CollectorStats {
                references_described: self.references_described.read(),
                references_known: self.references_known.read(),
                references_returned: self.references_returned.read(),
                references_received: self.references_received.read(),
                releases_sent: self.releases_sent.read(),
                releases_received: self.releases_received.read(),
                rolled_back: self.rolled_back.read(),
                frames_sent: self.control_frames_sent.read(),
                descriptions_asked: self.descriptions_asked.read(),
            },
        }
    }
}
