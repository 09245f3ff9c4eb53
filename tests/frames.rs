//! How many frames an operation takes: references add none.

mod support;

use std::sync::OnceLock;

use rmi::gc::BridgeInit;
use rmi::{Node, Result, remote, synchronized};
use support::{lookup, until_empty};

#[remote]
trait Table {
    async fn register(&self, p: TableRef) -> Result<()>;
    async fn ping(&self) -> Result<()>;
    async fn ping_with(&self, r: TableRef) -> Result<()>;
    async fn ping_back(&self, r: TableRef) -> Result<TableRef>;
    async fn ping_pong(&self) -> Result<()>;
    async fn ping_pong_with(&self, r: TableRef) -> Result<()>;
    async fn ping2(&self, r: TableRef) -> Result<()>;
}

#[derive(Default)]
struct Row(OnceLock<TableRef>);

impl Table for Row {
    async fn register(&self, p: TableRef) -> Result<()> {
        self.0.set(p).map_err(|_| rmi::Error::application("registered before"))
    }
    async fn ping(&self) -> Result<()> {
        Ok(())
    }
    async fn ping_with(&self, _r: TableRef) -> Result<()> {
        Ok(())
    }
    async fn ping_back(&self, r: TableRef) -> Result<TableRef> {
        Ok(r)
    }
    async fn ping_pong(&self) -> Result<()> {
        self.0.get().expect("registered").ping().await
    }
    async fn ping_pong_with(&self, r: TableRef) -> Result<()> {
        self.0.get().expect("registered").ping_with(r).await
    }
    async fn ping2(&self, r: TableRef) -> Result<()> {
        r.ping_with(r.clone()).await
    }
}

struct Setting {
    client: Node,
    server: Node,
    s: TableRef,
    r: TableRef,
}

impl Setting {
    async fn new(bridges: BridgeInit) -> Self {
        let client = Node::builder().bridges(bridges).start().await.unwrap();
        let server = Node::builder().listen("tcp://127.0.0.1:0").bridges(bridges);
        let server = server.start().await.unwrap();
        server.bind("s", &server.export::<TableRef, _, _>(Row::default())).unwrap();
        let s: TableRef = lookup(&client, &server, "s").await;
        let p: TableRef = client.export(Row::default());
        s.register(p).await.unwrap();
        let r: TableRef = client.export(Row::default());
        Self { client, server, s, r }
    }

    /// Frames, seen from the client, of each of a hundred operations: the median, as a machine
    /// that stalls may send one that was due by time.
    async fn frames(&self, operation: impl AsyncFn() -> Result<()>) -> u64 {
        operation().await.unwrap();
        let mut counts = Vec::new();
        for _ in 0..100 {
            let before = self.client.stats();
            operation().await.unwrap();
            let after = self.client.stats();
            let sent = after.frames_sent - before.frames_sent;
            counts.push(sent + after.frames_received - before.frames_received);
        }
        counts.sort_unstable();
        counts[50]
    }

    async fn end(self) {
        drop((self.s, self.r));
        self.server.unbind("s");
        until_empty(&[&self.client, &self.server]).await;
    }
}

#[tokio::test]
async fn references_add_no_frame_to_any_row_of_the_table() {
    let at = Setting::new(BridgeInit::Lazy).await;
    assert_eq!(at.frames(async || at.s.ping().await).await, 2, "ping()");
    assert_eq!(at.frames(async || at.s.ping_with(at.r.clone()).await).await, 2, "ping(ref)");
    let back = async || at.s.ping_back(at.r.clone()).await.map(drop);
    assert_eq!(at.frames(back).await, 2, "ref ping(ref)");
    assert_eq!(at.frames(async || at.s.ping_pong().await).await, 4, "pingPong()");
    let pong = async || at.s.ping_pong_with(at.r.clone()).await;
    assert_eq!(at.frames(pong).await, 4, "pingPong(ref)");
    assert_eq!(at.frames(async || at.s.ping2(at.r.clone()).await).await, 4, "ping2(ref)");
    let block = async || synchronized(&at.s, async {}).await;
    assert!(at.frames(block).await <= 3, "synchronized(r)");
    let fresh = async || at.s.ping_with(at.client.export(Row::default())).await;
    assert_eq!(at.frames(fresh).await, 2, "ping(fresh)");
    at.end().await;
}

#[tokio::test]
async fn an_eager_bridge_costs_a_round_trip_when_it_is_first_passed_on() {
    let at = Setting::new(BridgeInit::Eager).await;
    assert_eq!(at.frames(async || at.s.ping().await).await, 2, "ping()");
    assert_eq!(at.frames(async || at.s.ping_with(at.r.clone()).await).await, 2, "ping(ref)");
    assert_eq!(at.frames(async || at.s.ping_pong().await).await, 4, "pingPong()");
    let pong = async || at.s.ping_pong_with(at.r.clone()).await;
    assert_eq!(at.frames(pong).await, 6, "pingPong(ref)");
    at.end().await;
}

#[tokio::test]
async fn an_idle_session_sends_only_heartbeats_however_many_references_it_holds() {
    let at = Setting::new(BridgeInit::Lazy).await;
    let held: Vec<TableRef> = (0..1_000).map(|_| at.client.export(Row::default())).collect();
    for r in &held {
        at.s.ping_with(r.clone()).await.unwrap();
    }
    let settled = || at.server.gc().snapshot().owed_releases == 0;
    support::until("the last release is on its way", settled).await;
    support::until("the last acknowledgement has come", || {
        at.server.gc().snapshot().remembered == at.server.gc().snapshot().bridges.len()
    })
    .await;
    let other_frames = |node: &Node| {
        let stats = node.stats();
        stats.frames_sent - stats.heartbeats_sent
    };
    let before = (other_frames(&at.client), other_frames(&at.server));
    let beats = || at.client.stats().heartbeats_sent.min(at.server.stats().heartbeats_sent);
    let beats_before = beats();
    support::until("both have sent heartbeats", || beats() >= beats_before + 2).await;
    assert_eq!((other_frames(&at.client), other_frames(&at.server)), before);
    drop(held);
    at.end().await;
}
