//! The rows of the table: one function each, which is one operation.

use std::time::Duration;

use rmi::Result;

use crate::Outcome;
use crate::client::Client;
use crate::interface::{Pinger, PingerRef, Resident};
use crate::measure::{Pass, repeat};

/// A row; the first seven are the historic ones, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Row {
    Ping,
    PingPong,
    PingRef,
    RefPingRef,
    PingPongRef,
    Ping2Ref,
    Synchronized,
    PingFresh,
}

impl Row {
    pub(crate) const ALL: [Row; 8] = [
        Row::Ping,
        Row::PingPong,
        Row::PingRef,
        Row::RefPingRef,
        Row::PingPongRef,
        Row::Ping2Ref,
        Row::Synchronized,
        Row::PingFresh,
    ];

    /// As the table has it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Row::Ping => "void ping()",
            Row::PingPong => "void pingPong()",
            Row::PingRef => "void ping(ref)",
            Row::RefPingRef => "ref ping(ref)",
            Row::PingPongRef => "void pingPong(ref)",
            Row::Ping2Ref => "void ping2(ref)",
            Row::Synchronized => "synchronized(r)",
            Row::PingFresh => "ping(fresh)",
        }
    }

    /// As a folder of criterion's results has it.
    pub(crate) fn slug(self) -> &'static str {
        match self {
            Row::Ping => "ping",
            Row::PingPong => "ping_pong",
            Row::PingRef => "ping_ref",
            Row::RefPingRef => "ref_ping_ref",
            Row::PingPongRef => "ping_pong_ref",
            Row::Ping2Ref => "ping2_ref",
            Row::Synchronized => "synchronized",
            Row::PingFresh => "ping_fresh",
        }
    }

    /// Does the operation `count` times; the choice of the row is outside the timed loop.
    pub(crate) async fn repeat(
        self,
        client: &Client,
        count: u64,
        pass: Pass<'_>,
    ) -> Outcome<Duration> {
        match self {
            Row::Ping => repeat(count, pass, async || ping(client).await).await,
            Row::PingPong => repeat(count, pass, async || ping_pong(client).await).await,
            Row::PingRef => repeat(count, pass, async || ping_ref(client).await).await,
            Row::RefPingRef => repeat(count, pass, async || ref_ping_ref(client).await).await,
            Row::PingPongRef => repeat(count, pass, async || ping_pong_ref(client).await).await,
            Row::Ping2Ref => repeat(count, pass, async || ping2_ref(client).await).await,
            Row::Synchronized => repeat(count, pass, async || synchronized(client).await).await,
            Row::PingFresh => repeat(count, pass, async || ping_fresh(client).await).await,
        }
    }
}

async fn ping(client: &Client) -> Result<()> {
    client.s.ping().await
}

async fn ping_pong(client: &Client) -> Result<()> {
    client.s.ping_pong().await
}

async fn ping_ref(client: &Client) -> Result<()> {
    client.s.ping_ref(client.r.clone()).await
}

async fn ref_ping_ref(client: &Client) -> Result<()> {
    client.s.ref_ping_ref(client.r.clone()).await.map(drop)
}

async fn ping_pong_ref(client: &Client) -> Result<()> {
    client.s.ping_pong_ref(client.r.clone()).await
}

async fn ping2_ref(client: &Client) -> Result<()> {
    client.s.ping2_ref(client.r.clone()).await
}

async fn synchronized(client: &Client) -> Result<()> {
    rmi::synchronized(&client.s, async {}).await
}

/// The object is exported, passed, and dropped again once the server has released it.
async fn ping_fresh(client: &Client) -> Result<()> {
    let fresh: PingerRef = client.node.export(Resident::default());
    client.s.ping_ref(fresh).await
}
