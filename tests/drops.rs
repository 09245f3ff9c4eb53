//! References that are let go where user code runs in the middle of ours: in encoders and decoders,
//! in destructors, in wakers, on threads that end. With debug assertions every lock of ours is
//! checked on the way: the order in which they are taken, and that none is held over such code.

mod support;

use std::cell::RefCell;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use parking_lot::Mutex;
use rmi::{Node, Result, remote};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use support::{Drops, Token, dialling, listening, lookup, until, until_empty};

#[remote]
trait Item {
    async fn number(&self) -> Result<u32>;
}

struct Thing(#[allow(dead_code, reason = "its drop counts")] Token);

impl Item for Thing {
    async fn number(&self) -> Result<u32> {
        Ok(7)
    }
}

/// Lets go of what it holds while it is encoded.
#[derive(Default)]
struct LetsGo(Mutex<Vec<ItemRef>>);

impl LetsGo {
    fn of(items: impl IntoIterator<Item = ItemRef>) -> Self {
        Self(Mutex::new(items.into_iter().collect()))
    }

    fn let_go(&self) {
        let items = std::mem::take(&mut *self.0.lock());
        drop(items);
    }
}

impl Serialize for LetsGo {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.let_go();
        serializer.serialize_unit()
    }
}

/// Lets go of what a payload holds while it is decoded.
impl<'de> Deserialize<'de> for LetsGo {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        <()>::deserialize(deserializer)?;
        Ok(Self::default())
    }
}

/// Is encoded as a reference, and let go as soon as it is decoded.
struct Fleeting(Option<ItemRef>);

impl Serialize for Fleeting {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Fleeting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        drop(Option::<ItemRef>::deserialize(deserializer)?);
        Ok(Self(None))
    }
}

/// Holds references for others.
#[remote]
trait Keeper {
    async fn make(&self) -> Result<ItemRef>;
    async fn keep(&self, item: ItemRef) -> Result<()>;
    async fn take(&self, value: LetsGo) -> Result<()>;
    /// Gives up all that is kept while the answer is encoded.
    async fn give_up(&self) -> Result<LetsGo>;
    async fn glance(&self, value: Fleeting) -> Result<()>;
}

struct Shelf {
    node: Node,
    drops: Drops,
    kept: Mutex<Vec<ItemRef>>,
}

impl Keeper for Shelf {
    async fn make(&self) -> Result<ItemRef> {
        Ok(self.node.export(Thing(self.drops.token())))
    }
    async fn keep(&self, item: ItemRef) -> Result<()> {
        self.kept.lock().push(item);
        Ok(())
    }
    async fn take(&self, _: LetsGo) -> Result<()> {
        Ok(())
    }
    async fn give_up(&self) -> Result<LetsGo> {
        Ok(LetsGo::of(std::mem::take(&mut *self.kept.lock())))
    }
    async fn glance(&self, _: Fleeting) -> Result<()> {
        Ok(())
    }
}

/// Two nodes, and the shelf that one has at the other. Both count their objects' drops together.
struct Two {
    home: Node,
    here: Node,
    shelf: KeeperRef,
    drops: Drops,
}

impl Two {
    async fn new() -> Self {
        let (home, here, drops) = (listening().await, dialling().await, Drops::default());
        let (node, kept) = (home.clone(), Mutex::default());
        let shelf: KeeperRef = home.export(Shelf { node, drops: drops.clone(), kept });
        home.bind("shelf", &shelf).expect("it is a name");
        let shelf = lookup(&here, &home, "shelf").await;
        Self { home, here, shelf, drops }
    }

    /// An object here, to which there is this one reference.
    fn near(&self) -> ItemRef {
        self.here.export(Thing(self.drops.token()))
    }

    /// One at home, to which this is the only reference.
    async fn far(&self) -> ItemRef {
        self.shelf.make().await.expect("it is one more")
    }

    /// So many were dropped, and nothing is shared any more.
    async fn end(self, drops: usize) {
        self.drops.reach(drops).await;
        let Self { home, here, shelf, .. } = self;
        home.unbind("shelf");
        drop(shelf);
        until_empty(&[&home, &here]).await;
    }
}

#[tokio::test]
async fn references_may_be_dropped_in_an_encoder() {
    let two = Two::new().await;
    let arguments = LetsGo::of([two.far().await, two.near()]);
    two.shelf.take(arguments).await.expect("it encodes");
    // And while an answer is encoded, by the task that reads what has come.
    two.shelf.keep(two.near()).await.expect("it is kept");
    two.shelf.keep(two.far().await).await.expect("it is kept");
    two.shelf.give_up().await.expect("it encodes");
    two.end(4).await;
}

#[tokio::test]
async fn references_may_be_dropped_in_a_decoder() {
    let two = Two::new().await;
    two.shelf.glance(Fleeting(Some(two.near()))).await.expect("it decodes");
    two.shelf.glance(Fleeting(Some(two.far().await))).await.expect("it decodes");
    two.end(2).await;
}

/// Holds a reference until it is dropped.
struct Link {
    _next: Option<ItemRef>,
    _token: Token,
}

impl Item for Link {
    async fn number(&self) -> Result<u32> {
        Ok(8)
    }
}

#[tokio::test]
async fn references_may_be_dropped_in_the_destructor_of_another_object() {
    let two = Two::new().await;
    let mut next = None;
    // Here and at home in turns, each the only holder of the next.
    for _ in 0..4 {
        let far = two.far().await;
        two.shelf.keep(far.clone()).await.expect("it is kept");
        for _next in [next.take(), Some(far)] {
            let link = Link { _next, _token: two.drops.token() };
            next = Some(two.here.export::<ItemRef, _, _>(link));
            two.shelf.keep(next.clone().expect("it was set")).await.expect("it is kept");
        }
    }
    two.shelf.give_up().await.expect("it encodes");
    drop(next);
    two.end(12).await;
}

/// Uses its node while it is dropped: every lock of ours is taken on the way.
struct Busy {
    node: Node,
    holds: Option<ItemRef>,
    seen: Arc<Mutex<Vec<u64>>>,
    token: Option<Token>,
}

impl Item for Busy {
    async fn number(&self) -> Result<u32> {
        Ok(9)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let one_more = Thing(self.token.take().expect("it is dropped once"));
        let one_more: ItemRef = self.node.export(one_more);
        self.node.bind("last words", &one_more).expect("it is a name");
        assert_eq!(self.node.gc().who_holds(&one_more).names, ["last words"]);
        drop((one_more, self.holds.take()));
        self.node.unbind("last words");
        let snapshot = self.node.gc().snapshot();
        self.seen.lock().push(self.node.stats().frames_sent + snapshot.exports.len() as u64);
    }
}

#[tokio::test]
async fn an_object_may_use_its_node_and_drop_references_in_its_own_destructor() {
    let two = Two::new().await;
    let seen = Arc::new(Mutex::default());
    for holder_is_far in [false, true] {
        let (node, holds) = (two.here.clone(), Some(two.far().await));
        let busy = Busy { node, holds, seen: Arc::clone(&seen), token: Some(two.drops.token()) };
        let busy: ItemRef = two.here.export(busy);
        if holder_is_far {
            two.shelf.keep(busy.clone()).await.expect("it is kept");
        }
        drop(busy);
        two.shelf.give_up().await.expect("it encodes");
    }
    until("both had their last words", || seen.lock().len() == 2).await;
    two.end(4).await;
}

#[tokio::test]
async fn references_may_be_dropped_by_a_thread_outside_any_runtime_also_as_it_ends() {
    thread_local! {
        static LAST: RefCell<Vec<ItemRef>> = const { RefCell::new(Vec::new()) };
    }
    let two = Two::new().await;
    let (now, at_the_end) = ([two.far().await, two.near()], [two.far().await, two.near()]);
    let thread = std::thread::spawn(move || {
        LAST.with_borrow_mut(|last| last.extend(at_the_end));
        drop(now);
    });
    thread.join().expect("no drop panics");
    two.end(4).await;
}

/// Lets go of what it holds when it is woken, or dropped.
struct Wakes(Mutex<Vec<ItemRef>>);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        let items = std::mem::take(&mut *self.0.lock());
        drop(items);
    }
}

#[tokio::test]
async fn references_may_be_dropped_by_whoever_is_woken() {
    let two = Two::new().await;
    let far = two.far().await;
    let wakes = Arc::new(Wakes(Mutex::new(vec![far.clone(), two.near()])));
    {
        let mut call = pin!(far.number());
        let waker = Waker::from(Arc::clone(&wakes));
        let polled = call.as_mut().poll(&mut Context::from_waker(&waker));
        assert!(matches!(polled, Poll::Pending), "the answer has to come first");
        until("the answer wakes it", || wakes.0.lock().is_empty()).await;
        assert_eq!(call.await.expect("it is there"), 7);
    }
    drop(far);
    two.end(2).await;
}
