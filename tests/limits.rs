//! What a node holds for others is bounded, and callers wait or are told.

mod support;

use std::sync::{Arc, Mutex, mpsc};

use rmi::{ErrorKind, Executed, Limits, Node, Result, remote};
use rmi_transport::{Body, Description, Goodbye, Outcome, Reference};
use support::attacker::{self, Attacker, failure, frame, outcome};
use support::{Drops, PATIENCE, dialling, lookup, until, until_empty};
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

/// A node on a transport that holds 256 KiB by itself, and little more for who does not read.
async fn brimming() -> Node {
    let limits = Limits { bytes_buffered_max: 64 << 10, ..Limits::default() };
    let node = support::impatient().listen("inproc://auto").limits(limits).start().await.unwrap();
    node.bind("itself", &node.export::<CupRef, _, _>(Saucer)).unwrap();
    node
}

#[remote]
trait Cup {
    async fn drink(&self) -> Result<()>;
}

struct Saucer;

impl Cup for Saucer {
    async fn drink(&self) -> Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn calls_of_a_peer_that_does_not_read_its_answers_are_turned_down_until_it_does() {
    let node = brimming().await;
    let mut attacker = Attacker::connect(&node).await;
    // A name that nobody bound: the answer repeats it.
    let unknown = attacker::lookup(&"x".repeat(250));
    let calls = 4_000;
    for _ in 0..calls {
        attacker.send(&unknown).await;
    }
    until("all have arrived", || node.stats().calls_received == calls).await;
    let mut turned_down = 0;
    for _ in 0..calls {
        let failure = failure(&attacker.answer(1).await);
        turned_down += u64::from(failure.message.contains("bytes_buffered_max is 65536"));
    }
    assert!((1..calls).contains(&turned_down), "{turned_down} were turned down");
    let (answer, _) = attacker.lookup("itself").await;
    assert_eq!(outcome(&answer), Outcome::Ok);
    attacker.leaves().await;
    node.unbind("itself");
    until_empty(&[&node]).await;
}

#[tokio::test]
async fn a_peer_that_calls_on_and_never_reads_is_sent_away() {
    let node = brimming().await;
    let attacker = Attacker::connect(&node).await;
    until("the session has begun", || node.stats().sessions == 1).await;
    let unknown = attacker::lookup(&"x".repeat(250));
    let flood = async {
        while node.stats().sessions == 1 {
            attacker.send(&unknown).await;
        }
    };
    tokio::time::timeout(PATIENCE, flood).await.expect("it is not sent away");
    let sent = node.stats().bytes_sent;
    assert!(sent < 2 << 20, "{sent} bytes were kept for it");
    node.unbind("itself");
    until_empty(&[&node]).await;
}

#[tokio::test]
async fn a_peer_that_describes_more_references_than_may_be_remembered_is_sent_away() {
    let basin = basin(Limits { references_max: 1_000, ..Limits::default() }).await;
    let attacker = Attacker::connect(&basin.home).await;
    for first in [1, 501, 1_001] {
        let mut many = frame(Body::Control);
        many.references.extend((first..first + 500).map(|index| {
            Reference::Described(Box::new(Description {
                index,
                home: None,
                object: index,
                key: [0; 16],
                interfaces: Default::default(),
                endpoints: Vec::new(),
                depth: 0,
            }))
        }));
        attacker.send(&many).await;
    }
    attacker.ends_sent_away(Goodbye::LimitReached, "references_max is 1000").await;
    basin.home.unbind("sink");
    until_empty(&[&basin.home]).await;
}

#[tokio::test]
async fn a_limit_that_no_peer_could_live_with_is_refused_at_the_start() {
    let limits = Limits { frame_bytes_max: 100, ..Limits::default() };
    let error = Node::builder().limits(limits).start().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitReached);
    assert!(error.to_string().contains("frame_bytes_max"), "{error}");
}
