//! The end of a node: what runs may finish, and nothing begins any more.

mod support;

use std::sync::{Arc, Mutex, mpsc};

use rmi::{ErrorKind, Node, Result, enter, remote, synchronized};
use rmi_transport::{Endpoint, transport_for};
use support::attacker::Attacker;
use support::{PATIENCE, dialling, listening, lookup, until, until_empty};
use tokio::sync::Notify;

#[remote]
trait Desk {
    async fn number(&self) -> Result<u32>;
    /// Blocks the thread that reads from the session until the test lets it go on.
    async fn block(&self) -> Result<u32>;
    /// Enters the monitor of `of`.
    async fn inside(&self, of: DeskRef) -> Result<u32>;
}

struct Clerk {
    blocked: Arc<Notify>,
    unblock: Mutex<mpsc::Receiver<()>>,
}

impl Desk for Clerk {
    async fn number(&self) -> Result<u32> {
        Ok(1)
    }
    async fn block(&self) -> Result<u32> {
        self.blocked.notify_one();
        let _ = self.unblock.lock().unwrap().recv();
        Ok(2)
    }
    async fn inside(&self, of: DeskRef) -> Result<u32> {
        synchronized(&of, async { 3 }).await
    }
}

struct Office {
    home: Node,
    blocked: Arc<Notify>,
    unblock: mpsc::Sender<()>,
}

async fn office() -> Office {
    let (unblock, receiver) = mpsc::channel();
    let blocked = Arc::new(Notify::new());
    let clerk = Clerk { blocked: Arc::clone(&blocked), unblock: Mutex::new(receiver) };
    let home = listening().await;
    home.bind("desk", &home.export::<DeskRef, _, _>(clerk)).unwrap();
    Office { home, blocked, unblock }
}

/// Waits until `node` turns down what is new.
async fn until_it_shuts_down(node: &Node) {
    let turned_down = async {
        while node.lookup::<DeskRef>("inproc://nobody/desk").await.unwrap_err().kind()
            != ErrorKind::ShutDown
        {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, turned_down).await.expect("it shuts down");
}

#[test]
fn a_handler_in_its_first_poll_finishes_before_the_node_goes() {
    let here = support::runtime();
    // One thread for the handler to block, one to shut down on.
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let there = builder.worker_threads(2).enable_all().build().unwrap();
    let office = there.block_on(there.spawn(office())).unwrap();
    here.block_on(async {
        let away = dialling().await;
        let desk: DeskRef = lookup(&away, &office.home, "desk").await;
        let call = tokio::spawn(async move { desk.block().await });
        office.blocked.notified().await;
        let home = office.home.clone();
        let shutdown = there.spawn(async move { home.shutdown().await });
        until_it_shuts_down(&office.home).await;
        for _ in 0..1_000 {
            tokio::task::yield_now().await;
        }
        assert!(!shutdown.is_finished(), "it did not wait");
        office.unblock.send(()).unwrap();
        shutdown.await.unwrap();
        assert_eq!(call.await.unwrap().unwrap(), 2);
        until_empty(&[&office.home, &away]).await;
    });
}

#[tokio::test]
async fn a_monitor_is_left_while_its_home_shuts_down_and_who_waits_gets_in() {
    let (Office { home, .. }, away) = (office().await, dialling().await);
    let desk: DeskRef = lookup(&away, &home, "desk").await;
    let guard = enter(&desk).await.unwrap();
    let before = home.stats().calls_received;
    let waiting = {
        let desk = desk.clone();
        tokio::spawn(async move { desk.inside(desk.clone()).await })
    };
    until("the home was asked", || home.stats().calls_received > before).await;
    let shutdown = {
        let home = home.clone();
        tokio::spawn(async move { home.shutdown().await })
    };
    until_it_shuts_down(&home).await;
    assert_eq!(desk.number().await.unwrap_err().kind(), ErrorKind::ShutDown);
    drop(guard);
    assert_eq!(waiting.await.unwrap().unwrap(), 3);
    shutdown.await.unwrap();
    drop(desk);
    until_empty(&[&home, &away]).await;
}

#[tokio::test]
async fn a_session_that_was_on_its_way_when_the_node_went_does_not_begin() {
    let at: Endpoint = "tcp://127.0.0.1:0".parse().unwrap();
    let mut listener = transport_for(&at).listen(&at).await.unwrap();
    let uri = format!("{}/desk", listener.endpoint());
    let node = dialling().await;
    let asked = {
        let node = node.clone();
        tokio::spawn(async move { node.lookup::<DeskRef>(uri).await })
    };
    let wire = listener.accept().await.unwrap();
    node.shutdown().await;
    let mut peer = Attacker::welcome(wire).await;
    while peer.next().await.is_some() {}
    let error = asked.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ShutDown, "{error}");
    assert_eq!(node.stats().sessions, 0);
    until_empty(&[&node]).await;
}

#[tokio::test]
async fn calls_of_a_node_that_was_shut_down_say_so() {
    let (Office { home, .. }, away) = (office().await, dialling().await);
    let desk: DeskRef = lookup(&away, &home, "desk").await;
    away.shutdown().await;
    let error = desk.number().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ShutDown, "{error}");
    drop(desk);
    home.unbind("desk");
    until_empty(&[&home, &away]).await;
}
