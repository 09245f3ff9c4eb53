//! Nodes that reach each other by a transport of the test's own.

mod support;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rmi::transport::{BoxFuture, Endpoint, InProcess, Listener, Transport, Wire};
use rmi::{ErrorKind, Node, Result, remote};
use support::{Drops, Token, dialling, lookup, until_empty};

#[remote]
trait Door {
    async fn knock(&self) -> Result<u64>;
    async fn keep(&self, other: DoorRef) -> Result<()>;
    async fn kept(&self) -> Result<DoorRef>;
}

#[derive(Default)]
struct Hall(
    parking_lot::Mutex<Option<DoorRef>>,
    #[allow(dead_code, reason = "its drop counts")] Option<Token>,
);

impl Door for Hall {
    async fn knock(&self) -> Result<u64> {
        Ok(1)
    }
    async fn keep(&self, other: DoorRef) -> Result<()> {
        *self.0.lock() = Some(other);
        Ok(())
    }
    async fn kept(&self) -> Result<DoorRef> {
        self.0.lock().take().ok_or_else(|| rmi::Error::application("nothing is kept"))
    }
}

/// `here://name`: within this process, and counted.
#[derive(Clone, Default)]
struct Here(Arc<AtomicUsize>);

fn in_process(endpoint: &Endpoint) -> Endpoint {
    let text = endpoint.to_string().replacen("here://", "inproc://", 1);
    text.parse().expect("an endpoint")
}

impl Transport for Here {
    fn scheme(&self) -> &'static str {
        "here"
    }
    fn dial<'a>(&'a self, to: &'a Endpoint) -> BoxFuture<'a, io::Result<Box<dyn Wire>>> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move { InProcess.dial(&in_process(to)).await })
    }
    fn listen<'a>(&'a self, at: &'a Endpoint) -> BoxFuture<'a, io::Result<Box<dyn Listener>>> {
        Box::pin(async move {
            let listener = InProcess.listen(&in_process(at)).await?;
            Ok(Box::new(HereListener(listener)) as Box<dyn Listener>)
        })
    }
}

struct HereListener(Box<dyn Listener>);

impl Listener for HereListener {
    fn endpoint(&self) -> Endpoint {
        let text = self.0.endpoint().to_string().replacen("inproc://", "here://", 1);
        text.parse().expect("an endpoint")
    }
    fn accept(&mut self) -> BoxFuture<'_, io::Result<Box<dyn Wire>>> {
        self.0.accept()
    }
}

#[tokio::test]
async fn a_transport_of_ones_own_is_dialled_by_its_scheme() {
    let (transport, drops) = (Here::default(), Drops::default());
    let dialled = Arc::clone(&transport.0);
    let home = Node::builder().transport(transport.clone()).listen("here://auto");
    let home = home.start().await.unwrap();
    assert_eq!(home.endpoint().unwrap().scheme(), "here");
    let hall = Hall(Default::default(), Some(drops.token()));
    home.bind("hall", &home.export::<DoorRef, _, _>(hall)).unwrap();
    let middle = Node::builder().transport(transport).listen("inproc://auto").start().await;
    let middle = middle.unwrap();
    let door: DoorRef = lookup(&middle, &home, "hall").await;
    assert_eq!(door.knock().await.unwrap(), 1);
    assert_eq!(dialled.load(Ordering::SeqCst), 1);

    // One who has not got that transport calls through whoever has.
    let away = dialling().await;
    middle.bind("shelf", &middle.export::<DoorRef, _, _>(Hall::default())).unwrap();
    let shelf: DoorRef = lookup(&away, &middle, "shelf").await;
    middle
        .lookup::<DoorRef>(format!("{}/shelf", middle.endpoint().unwrap()))
        .await
        .unwrap()
        .keep(door)
        .await
        .unwrap();
    let there = shelf.kept().await.unwrap();
    assert_eq!(there.knock().await.unwrap(), 1);
    assert_eq!(away.stats().calls_sent, 3, "a lookup, and two calls");
    drop((there, shelf));
    middle.unbind("shelf");
    home.unbind("hall");
    drops.reach(1).await;
    until_empty(&[&home, &middle, &away]).await;
}

#[tokio::test]
async fn a_scheme_that_nobody_knows_is_unreachable() {
    let node = dialling().await;
    let error = node.lookup::<DoorRef>("here://there/hall").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
    assert!(error.to_string().contains("unknown scheme \"here\""), "{error}");
    let error = Node::builder().listen("here://there").start().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
    assert!(error.to_string().contains("unknown scheme \"here\""), "{error}");
}
