//! What a node holds for others is bounded, and callers wait or are told.

mod support;

use std::sync::{Arc, Mutex, mpsc};

use rmi::{ErrorKind, Executed, Limits, Node, Result, remote};
use support::{Drops, dialling, lookup, until, until_empty};
use tokio::sync::Notify;

#[remote]
trait Sink {
    /// Blocks the thread that reads from the session until the test lets it go on.
    async fn block(&self) -> Result<()>;
    async fn swallow(&self, text: &str) -> Result<usize>;
    async fn hang(&self) -> Result<()>;
}

struct Drain {
    blocked: Arc<Notify>,
    unblock: Mutex<mpsc::Receiver<()>>,
    hanging: Drops,
}

impl Sink for Drain {
    async fn block(&self) -> Result<()> {
        self.blocked.notify_one();
        let _ = self.unblock.lock().unwrap().recv();
        Ok(())
    }
    async fn swallow(&self, text: &str) -> Result<usize> {
        Ok(text.len())
    }
    async fn hang(&self) -> Result<()> {
        let _ended = self.hanging.token();
        std::future::pending().await
    }
}

struct Basin {
    home: Node,
    blocked: Arc<Notify>,
    unblock: mpsc::Sender<()>,
    hanging: Drops,
}

async fn basin(limits: Limits) -> Basin {
    let (unblock, receiver) = mpsc::channel();
    let (blocked, hanging) = (Arc::new(Notify::new()), Drops::default());
    let drain = Drain {
        blocked: Arc::clone(&blocked),
        unblock: Mutex::new(receiver),
        hanging: hanging.clone(),
    };
    let home = Node::builder().listen("tcp://127.0.0.1:0").limits(limits).start().await.unwrap();
    home.bind("sink", &home.export::<SinkRef, _, _>(drain)).unwrap();
    Basin { home, blocked, unblock, hanging }
}

#[test]
fn callers_wait_while_the_peer_does_not_read_and_all_finish_when_it_does() {
    let (here, there) = (support::runtime(), support::runtime());
    let basin = there.block_on(there.spawn(basin(Limits::default()))).unwrap();
    here.block_on(async {
        let limits = Limits { bytes_buffered_max: 256 << 10, ..Limits::default() };
        let away = Node::builder().limits(limits).start().await.unwrap();
        let sink: SinkRef = lookup(&away, &basin.home, "sink").await;
        let blocking = {
            let sink = sink.clone();
            tokio::spawn(async move { sink.block().await })
        };
        basin.blocked.notified().await;
        let before = away.stats().bytes_sent;
        let calls = (0..200).map(|_| {
            let sink = sink.clone();
            tokio::spawn(async move { sink.swallow(&"x".repeat(100_000)).await })
        });
        let calls: Vec<_> = calls.collect();
        // What the socket takes by itself depends on the machine; 20 MB it does not.
        until("the first bytes are on their way", || away.stats().bytes_sent > before).await;
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert!(away.stats().bytes_sent - before < 16 << 20, "nobody waited");
        basin.unblock.send(()).unwrap();
        blocking.await.unwrap().unwrap();
        for call in calls {
            assert_eq!(call.await.unwrap().unwrap(), 100_000);
        }
        drop(sink);
        basin.home.unbind("sink");
        until_empty(&[&basin.home, &away]).await;
    });
}

#[tokio::test]
async fn a_call_beyond_the_limit_is_told_so_and_did_not_run() {
    let basin = basin(Limits { calls_in_progress_max: 3, ..Limits::default() }).await;
    let away = dialling().await;
    let sink: SinkRef = lookup(&away, &basin.home, "sink").await;
    let hang = || {
        let sink = sink.clone();
        tokio::spawn(async move { sink.hang().await })
    };
    let running = [hang(), hang(), hang()];
    let received = || basin.home.stats().calls_received;
    until("three calls have arrived", || received() >= 4).await;
    let error = sink.hang().await.unwrap_err();
    assert_eq!((error.kind(), error.executed()), (ErrorKind::LimitReached, Executed::No));
    assert!(error.to_string().contains("calls_in_progress_max is 3"), "{error}");
    assert!(error.is_retryable());
    for call in running {
        call.abort();
    }
    basin.hanging.reach(3).await;
    assert_eq!(sink.swallow("ab").await.unwrap(), 2);
    drop(sink);
    basin.home.unbind("sink");
    until_empty(&[&basin.home, &away]).await;
}

#[tokio::test]
async fn a_session_beyond_the_limit_is_refused_until_another_has_ended() {
    let basin = basin(Limits { sessions_max: 1, ..Limits::default() }).await;
    let (first, second) = (dialling().await, dialling().await);
    let sink: SinkRef = lookup(&first, &basin.home, "sink").await;
    let uri = format!("{}/sink", basin.home.endpoint().unwrap());
    let error = second.lookup::<SinkRef>(&uri).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitReached, "{error}");
    drop(sink);
    first.shutdown().await;
    until("the first session has ended", || basin.home.stats().sessions == 0).await;
    drop(second.lookup::<SinkRef>(&uri).await.unwrap());
    basin.home.unbind("sink");
    until_empty(&[&basin.home, &first, &second]).await;
}

#[tokio::test]
async fn a_limit_that_no_peer_could_live_with_is_refused_at_the_start() {
    let limits = Limits { frame_bytes_max: 100, ..Limits::default() };
    let error = Node::builder().limits(limits).start().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitReached);
    assert!(error.to_string().contains("frame_bytes_max"), "{error}");
}
