//! What a node counts: plain numbers that only grow, but for those that say "now".

use std::sync::atomic::{AtomicU64, Ordering};

use rmi_gc::NodeId;
use serde::{Deserialize, Serialize};

/// A node's counters since it started.
///
/// Taking them costs a few atomic loads for each session; subtract two to measure what lies
/// between.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Connections that were lost while their session went on.
    pub connections_lost: u64,
    /// Frames sent only so that the peer hears from us.
    pub heartbeats_sent: u64,
    /// What the collector sent and received.
    pub collector: CollectorStats,
    /// The same for each peer that there is a session with, in the order of their incarnations.
    pub peers: Vec<PeerStats>,
}

/// What went between a node and one peer since their session began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PeerStats {
    /// The peer's incarnation.
    pub peer: NodeId,
    /// Frames written, of every kind.
    pub frames_sent: u64,
    /// Frames read, of every kind.
    pub frames_received: u64,
    /// Bytes of the frames written.
    pub bytes_sent: u64,
    /// Bytes of the frames read.
    pub bytes_received: u64,
    /// What the collector sent to it and received from it.
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
    /// Homes asked to count this node as a holder (`gc.md`, rule 7).
    pub adopts_sent: u64,
    /// Holders that asked to be counted.
    pub adopts_received: u64,
    /// Holders told that they are counted.
    pub adopted_sent: u64,
    /// Homes that have counted this node.
    pub adopted_received: u64,
    /// Holders told that the object is gone.
    pub gone_sent: u64,
    /// Homes that said so.
    pub gone_received: u64,
    /// News of the way to a home, told to children: `Reroot`, `Confirm`, `Leaving`.
    pub path_news_sent: u64,
    /// The same, told by parents.
    pub path_news_received: u64,
    /// Bytes of all tables of references, notices and releases that were sent.
    pub bytes_sent: u64,
    /// References that were taken back because their frame never left.
    pub rolled_back: u64,
    /// Frames that carried nothing but notices, releases or an acknowledgement, heartbeats included.
    pub frames_sent: u64,
    /// Descriptions asked for by `BridgeInit::Eager`: one round trip each.
    pub descriptions_asked: u64,
}

macro_rules! counters {
    ($($name:ident),* $(,)?) => {
        /// The counters behind [`Stats`], of a session, or of all those that have ended; relaxed,
        /// as no other memory depends on them.
        #[derive(Default)]
        pub(crate) struct Counters { $(pub(crate) $name: Counter),* }

        impl Counters {
            /// Adds what another one has counted, which counts no more.
            pub(crate) fn absorb(&self, other: &Self) {
                $(self.$name.add(other.$name.read());)*
            }
        }
    };
}

counters! {
    calls_sent, calls_received, calls_relayed, frames_sent, frames_received, bytes_sent,
    bytes_received, bytes_read, connections_lost, heartbeats_sent, references_described,
    references_known, references_returned, references_received, releases_sent, releases_received,
    adopts_sent, adopts_received, adopted_sent, adopted_received, gone_sent, gone_received,
    path_news_sent, path_news_received, collector_bytes_sent, rolled_back, control_frames_sent,
    descriptions_asked,
}

#[derive(Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> u64 {
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
            connections_lost: self.connections_lost.read(),
            heartbeats_sent: self.heartbeats_sent.read(),
            collector: self.collector(),
            peers: Vec::new(),
        }
    }

    pub(crate) fn of_peer(&self, peer: NodeId) -> PeerStats {
        PeerStats {
            peer,
            frames_sent: self.frames_sent.read(),
            frames_received: self.frames_received.read(),
            bytes_sent: self.bytes_sent.read(),
            bytes_received: self.bytes_received.read(),
            collector: self.collector(),
        }
    }

    fn collector(&self) -> CollectorStats {
        CollectorStats {
            references_described: self.references_described.read(),
            references_known: self.references_known.read(),
            references_returned: self.references_returned.read(),
            references_received: self.references_received.read(),
            releases_sent: self.releases_sent.read(),
            releases_received: self.releases_received.read(),
            adopts_sent: self.adopts_sent.read(),
            adopts_received: self.adopts_received.read(),
            adopted_sent: self.adopted_sent.read(),
            adopted_received: self.adopted_received.read(),
            gone_sent: self.gone_sent.read(),
            gone_received: self.gone_received.read(),
            path_news_sent: self.path_news_sent.read(),
            path_news_received: self.path_news_received.read(),
            bytes_sent: self.collector_bytes_sent.read(),
            rolled_back: self.rolled_back.read(),
            frames_sent: self.control_frames_sent.read(),
            descriptions_asked: self.descriptions_asked.read(),
        }
    }
}
