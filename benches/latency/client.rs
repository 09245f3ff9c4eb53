//! Node A: the one that calls.

use rmi::Node;

use crate::Outcome;
use crate::args::Config;
use crate::interface::{Pinger, PingerRef, Resident};

/// What the rows are measured with.
pub(crate) struct Client {
    pub(crate) node: Node,
    /// The object on B.
    pub(crate) s: PingerRef,
    /// The reference that is passed, to an object here or, with three nodes, on C.
    pub(crate) r: PingerRef,
}

impl Client {
    /// `server` and `third` are where B and C listen.
    pub(crate) async fn start(config: &Config, server: &str, third: Option<&str>) -> Outcome<Self> {
        let node = config.builder().name("client").start().await?;
        let s: PingerRef = node.lookup(format!("{server}/s")).await?;
        let r = match third {
            None => node.export(Resident::default()),
            Some(endpoint) => node.lookup(format!("{endpoint}/s")).await?,
        };
        // B's reference is what keeps `p` alive.
        s.register(node.export(Resident::default())).await?;
        Ok(Self { node, s, r })
    }
}
