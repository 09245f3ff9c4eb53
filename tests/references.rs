//! References as values: passed, returned, stored, forwarded, sent home; counted and collected.

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use rmi::gc::State;
use rmi::{AnyRef, ErrorKind, Node, RemoteRef, Result, Weak, remote};
use serde::{Deserialize, Serialize};
use support::{Drops, Token, dialling, listening, lookup, until, until_empty};

/// Something to refer to.
#[remote]
trait Item {
    async fn number(&self) -> Result<u32>;
    /// Calls `next` with a reference to itself, so deep as told.
    async fn with(&self, other: ItemRef) -> Result<u32>;
}

#[remote]
trait Label {
    async fn text(&self) -> Result<String>;
}

struct Thing {
    number: u32,
    _token: Token,
}

impl Item for Thing {
    async fn number(&self) -> Result<u32> {
        Ok(self.number)
    }
    async fn with(&self, other: ItemRef) -> Result<u32> {
        Ok(self.number + other.number().await?)
    }
}

impl Label for Thing {
    async fn text(&self) -> Result<String> {
        Ok(format!("thing {}", self.number))
    }
}

#[derive(Serialize, Deserialize)]
enum Parcel {
    Empty,
    Item(ItemRef),
    Nested { inside: Vec<Option<ItemRef>>, by_name: BTreeMap<String, ItemRef> },
}

#[derive(Debug, Serialize, Deserialize)]
enum Refusal {
    TakeItBack(ItemRef),
    Call(String),
}

impl From<rmi::Error> for Refusal {
    fn from(error: rmi::Error) -> Self {
        Refusal::Call(error.to_string())
    }
}

/// A shelf of references.
#[remote]
trait Shelf {
    async fn touch(&self, item: ItemRef) -> Result<u32>;
    async fn count(&self, items: Vec<ItemRef>) -> Result<usize>;
    async fn put(&self, item: ItemRef) -> Result<()>;
    async fn take(&self) -> Result<Option<ItemRef>>;
    async fn same(&self, item: ItemRef) -> Result<ItemRef>;
    async fn comes_home(&self, item: ItemRef) -> Result<bool>;
    async fn unpack(&self, parcels: Vec<Option<Parcel>>) -> Result<(u32, Vec<Option<Parcel>>)>;
    async fn refuse(&self, item: ItemRef) -> std::result::Result<(), Refusal>;
    async fn pass_on(&self, item: ItemRef, to: ShelfRef) -> Result<()>;
    async fn any(&self, item: AnyRef) -> Result<AnyRef>;
    async fn make(&self, number: u32) -> Result<ItemRef>;
}

struct Shelves {
    node: Node,
    stored: Mutex<Vec<ItemRef>>,
    drops: Drops,
}

impl Shelf for Shelves {
    async fn touch(&self, item: ItemRef) -> Result<u32> {
        item.number().await
    }
    async fn count(&self, items: Vec<ItemRef>) -> Result<usize> {
        Ok(items.len())
    }
    async fn put(&self, item: ItemRef) -> Result<()> {
        self.stored.lock().push(item);
        Ok(())
    }
    async fn take(&self) -> Result<Option<ItemRef>> {
        Ok(self.stored.lock().pop())
    }
    async fn same(&self, item: ItemRef) -> Result<ItemRef> {
        Ok(item)
    }
    async fn comes_home(&self, item: ItemRef) -> Result<bool> {
        Ok(item.is_local())
    }
    async fn unpack(&self, parcels: Vec<Option<Parcel>>) -> Result<(u32, Vec<Option<Parcel>>)> {
        let mut sum = 0;
        for parcel in parcels.iter().flatten() {
            match parcel {
                Parcel::Empty => {}
                Parcel::Item(item) => sum += item.number().await?,
                Parcel::Nested { inside, by_name } => {
                    for item in inside.iter().flatten().chain(by_name.values()) {
                        sum += item.number().await?;
                    }
                }
            }
        }
        Ok((sum, parcels))
    }
    async fn refuse(&self, item: ItemRef) -> std::result::Result<(), Refusal> {
        Err(Refusal::TakeItBack(item))
    }
    async fn pass_on(&self, item: ItemRef, to: ShelfRef) -> Result<()> {
        to.put(item).await
    }
    async fn any(&self, item: AnyRef) -> Result<AnyRef> {
        Ok(item)
    }
    async fn make(&self, number: u32) -> Result<ItemRef> {
        Ok(self.node.export(Thing { number, _token: self.drops.token() }))
    }
}

fn thing(node: &Node, number: u32, drops: &Drops) -> ItemRef {
    node.export(Thing { number, _token: drops.token() })
}

fn shelve(node: &Node) -> ShelfRef {
    let shelf = Shelves { node: node.clone(), stored: Mutex::default(), drops: Drops::default() };
    let shelf: ShelfRef = node.export(shelf);
    node.bind("shelf", &shelf).unwrap();
    shelf
}

/// A node without a listener, and the shelf of another that has one.
async fn pair() -> (Node, Node, ShelfRef) {
    let (own, other) = (dialling().await, listening().await);
    drop(shelve(&other));
    let shelf = lookup(&own, &other, "shelf").await;
    (own, other, shelf)
}

async fn part(own: Node, other: Node, shelf: ShelfRef) {
    drop(shelf);
    other.unbind("shelf");
    until_empty(&[&own, &other]).await;
}

#[tokio::test]
async fn a_passed_reference_calls_back_a_node_without_a_listener() {
    let (own, other, shelf) = pair().await;
    let drops = Drops::default();
    let item = thing(&own, 7, &drops);
    assert_eq!(shelf.touch(item.clone()).await.unwrap(), 7);
    drop(item);
    drops.reach(1).await;
    part(own, other, shelf).await;
}

#[tokio::test]
async fn a_stored_reference_keeps_its_object_alive_until_it_is_let_go() {
    let (own, other, shelf) = pair().await;
    let drops = Drops::default();
    let item = thing(&own, 7, &drops);
    shelf.put(item.clone()).await.unwrap();
    let weak = Weak::new(&item);
    drop(item);
    let back = shelf.take().await.unwrap().unwrap();
    assert!(back.is_local() && weak.upgrade().is_some());
    assert_eq!(back.number().await.unwrap(), 7);
    assert_eq!(drops.count(), 0);
    drop(back);
    drops.reach(1).await;
    assert!(weak.upgrade().is_none());
    part(own, other, shelf).await;
}

#[tokio::test]
async fn a_result_that_nobody_else_holds_reaches_the_caller_alive() {
    let (own, other, shelf) = pair().await;
    let made = shelf.make(9).await.unwrap();
    assert_eq!(made.number().await.unwrap(), 9);
    drop(made);
    part(own, other, shelf).await;
}

#[tokio::test]
async fn a_reference_that_comes_home_is_the_object_itself_however_often() {
    let (own, other, shelf) = pair().await;
    let drops = Drops::default();
    let mut item = thing(&own, 3, &drops);
    for round in 0..10_000 {
        item = shelf.same(item).await.unwrap();
        assert!(item.is_local(), "round {round}");
        if round % 1_000 == 0 {
            let snapshot = own.gc().snapshot();
            assert_eq!((snapshot.exports.len(), snapshot.bridges.len()), (1, 1), "{snapshot}");
        }
    }
    assert!(!shelf.comes_home(item.clone()).await.unwrap());
    drop(item);
    drops.reach(1).await;
    part(own, other, shelf).await;
}

#[tokio::test]
async fn one_object_sent_100_000_times_is_one_entry_on_each_side() {
    let (own, other, shelf) = pair().await;
    let drops = Drops::default();
    let item = thing(&own, 3, &drops);
    shelf.put(item.clone()).await.unwrap();
    for batch in 0..1_000 {
        let items = vec![item.clone(); 100];
        assert_eq!(shelf.count(items).await.unwrap(), 100, "batch {batch}");
    }
    let (here, there) = (own.gc().snapshot(), other.gc().snapshot());
    assert_eq!((here.exports.len(), there.bridges.len()), (1, 1), "{here}\n{there}");
    drop(item);
    drop(shelf.take().await.unwrap());
    drops.reach(1).await;
    part(own, other, shelf).await;
}

#[tokio::test]
async fn references_three_levels_deep_arrive_usable_and_come_back() {
    let (own, other, shelf) = pair().await;
    let drops = Drops::default();
    let items: Vec<ItemRef> = (1..=4).map(|number| thing(&own, number, &drops)).collect();
    let parcels = vec![
        None,
        Some(Parcel::Empty),
        Some(Parcel::Item(items[0].clone())),
        Some(Parcel::Nested {
            inside: vec![None, Some(items[1].clone()), Some(items[2].clone())],
            by_name: BTreeMap::from([("last".to_owned(), items[3].clone())]),
        }),
    ];
    let (sum, parcels) = shelf.unpack(parcels).await.unwrap();
    assert_eq!(sum, 1 + 2 + 3 + 4);
    let Some(Some(Parcel::Nested { inside, .. })) = parcels.last() else { panic!("not the same") };
    assert_eq!(inside[1].as_ref(), Some(&items[1]));
    drop((items, parcels));
    drops.reach(4).await;
    part(own, other, shelf).await;
}

#[tokio::test]
async fn a_reference_in_an_error_arrives_usable_and_is_released_with_it() {
    let (own, other, shelf) = pair().await;
    let made = shelf.make(5).await.unwrap();
    let Err(Refusal::TakeItBack(item)) = shelf.refuse(made.clone()).await else {
        panic!("it was not refused")
    };
    assert_eq!(item, made);
    assert_eq!(item.number().await.unwrap(), 5);
    drop(made);
    assert_eq!(item.number().await.unwrap(), 5);
    drop(item);
    part(own, other, shelf).await;
}

#[tokio::test]
async fn one_arc_under_two_interfaces_is_one_object() {
    let (own, other, shelf) = pair().await;
    let drops = Drops::default();
    let object = Arc::new(Thing { number: 8, _token: drops.token() });
    let item: ItemRef = own.export(Arc::clone(&object));
    let label: LabelRef = own.export(object);
    assert_eq!(item.id(), label.id());
    let any = shelf.any(AnyRef::from(&item)).await.unwrap();
    assert_eq!(any.cast::<LabelRef>().unwrap().text().await.unwrap(), "thing 8");
    assert_eq!(any.cast::<ShelfRef>().unwrap_err().kind(), ErrorKind::WrongInterface);
    assert_eq!(any, AnyRef::from(&label));
    drop((item, label, any));
    drops.reach(1).await;
    part(own, other, shelf).await;
}

#[tokio::test]
async fn a_lookup_of_another_interface_is_refused_and_leaves_nothing() {
    let (own, other, shelf) = pair().await;
    let endpoint = other.endpoint().unwrap().clone();
    let error = own.lookup::<ItemRef>(format!("{endpoint}/shelf")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongInterface, "{error}");
    let error = own.lookup::<ItemRef>(format!("{endpoint}/nothing")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSuchName, "{error}");
    part(own, other, shelf).await;
}

#[tokio::test]
async fn a_reference_outlives_the_interest_of_the_node_that_passed_it_on() {
    let (home, middle, last) = (listening().await, listening().await, listening().await);
    let drops = Drops::default();
    home.bind("item", &thing(&home, 6, &drops)).unwrap();
    drop(shelve(&last));
    let shelf: ShelfRef = lookup(&middle, &last, "shelf").await;
    let item: ItemRef = lookup(&middle, &home, "item").await;
    home.unbind("item");

    shelf.put(item.clone()).await.unwrap();
    drop(item);
    let zombies = || {
        let bridges = middle.gc().snapshot().bridges;
        bridges.iter().filter(|bridge| bridge.state == State::Zombie).count()
    };
    until("the middle node's bridge is a zombie", || zombies() == 1).await;
    let before = middle.stats().calls_received;
    let at_last: ShelfRef = lookup(&last, &last, "shelf").await;
    let item = at_last.take().await.unwrap().unwrap();
    assert_eq!(item.number().await.unwrap(), 6);
    assert_eq!(middle.stats().calls_received, before, "the call went through the middle");
    assert_eq!(drops.count(), 0);
    drop(item);
    drops.reach(1).await;
    drop((shelf, at_last));
    last.unbind("shelf");
    until_empty(&[&home, &middle, &last]).await;
}

#[tokio::test]
async fn a_home_that_cannot_be_dialled_is_called_through_the_node_between() {
    let (home, middle, last) = (dialling().await, listening().await, listening().await);
    let drops = Drops::default();
    drop((shelve(&middle), shelve(&last)));
    let at_middle: ShelfRef = lookup(&home, &middle, "shelf").await;
    let at_last: ShelfRef = lookup(&middle, &last, "shelf").await;
    let item = thing(&home, 4, &drops);
    at_middle.put(item.clone()).await.unwrap();
    let own: ShelfRef = lookup(&middle, &middle, "shelf").await;
    let at_the_middle = own.take().await.unwrap().unwrap();
    at_last.put(at_the_middle.clone()).await.unwrap();
    drop(at_the_middle);

    let stored: ShelfRef = lookup(&last, &last, "shelf").await;
    let far = stored.take().await.unwrap().unwrap();
    assert_eq!(far.number().await.unwrap(), 4);
    // A reference in a relayed call, and its way back through the relay.
    let other = thing(&last, 30, &drops);
    assert_eq!(far.with(other.clone()).await.unwrap(), 34);
    assert!(middle.stats().calls_relayed >= 2);
    let relaying = middle.gc().snapshot().bridges.iter().any(|b| b.state == State::Relaying);
    assert!(relaying, "{}", middle.gc().snapshot());

    drop((item, far, other));
    drops.reach(2).await;
    drop((at_middle, at_last, own, stored));
    middle.unbind("shelf");
    last.unbind("shelf");
    until_empty(&[&home, &middle, &last]).await;
}

#[tokio::test]
async fn a_reference_known_from_another_node_goes_home_by_its_key() {
    let (home, middle, last) = (listening().await, listening().await, listening().await);
    let drops = Drops::default();
    drop((shelve(&home), shelve(&last)));
    home.bind("item", &thing(&home, 2, &drops)).unwrap();
    let item: ItemRef = lookup(&middle, &home, "item").await;
    home.unbind("item");
    let at_last: ShelfRef = lookup(&middle, &last, "shelf").await;
    at_last.put(item).await.unwrap();
    let stored: ShelfRef = lookup(&last, &last, "shelf").await;
    let at_home: ShelfRef = lookup(&last, &home, "shelf").await;
    let item = stored.take().await.unwrap().unwrap();
    assert!(at_home.comes_home(item).await.unwrap(), "it did not come home");
    drops.reach(1).await;
    drop((at_last, stored, at_home));
    home.unbind("shelf");
    last.unbind("shelf");
    until_empty(&[&home, &middle, &last]).await;
}

#[tokio::test]
async fn a_reference_dropped_on_a_plain_thread_or_in_a_panic_is_released() {
    let (own, other, shelf) = pair().await;
    let made = shelf.make(1).await.unwrap();
    std::thread::spawn(move || drop(made)).join().unwrap();
    let made = shelf.make(2).await.unwrap();
    let panicked = std::thread::spawn(move || {
        let _dropped_while_unwinding = made;
        panic!("on purpose");
    });
    assert!(panicked.join().is_err());
    part(own, other, shelf).await;
}

#[test]
fn a_reference_dropped_after_its_runtime_has_ended_neither_panics_nor_blocks() {
    let (here, there) = (support::runtime(), support::runtime());
    let other = there.block_on(listening());
    drop(shelve(&other));
    let (own, shelf, made) = here.block_on(async {
        let own = dialling().await;
        let shelf: ShelfRef = lookup(&own, &other, "shelf").await;
        let made = shelf.make(1).await.unwrap();
        (own, shelf, made)
    });
    let local: ItemRef = thing(&own, 1, &Drops::default());
    here.shutdown_background();
    drop((shelf, made, local, own));
    other.unbind("shelf");
    there.block_on(other.shutdown());
    there.block_on(until_empty(&[&other]));
}

#[tokio::test]
async fn serializing_a_reference_outside_a_call_is_an_error_that_says_so() {
    let node = dialling().await;
    let item = thing(&node, 1, &Drops::default());
    let error = serde_json::to_string(&item).unwrap_err().to_string();
    assert!(error.contains("only in an argument or a result of a remote call"), "{error}");
    let error = serde_json::from_str::<ItemRef>("0").unwrap_err().to_string();
    assert!(error.contains("only in an argument or a result of a remote call"), "{error}");
}

#[tokio::test]
async fn a_call_that_cannot_be_sent_takes_its_references_back() {
    let (own, other, shelf) = pair().await;
    let drops = Drops::default();
    let item = thing(&own, 1, &drops);
    let stranger = dialling().await;
    let foreign = thing(&stranger, 2, &drops);
    // The first is counted before the second turns out to be of another node.
    let parcels = vec![Some(Parcel::Item(item.clone())), Some(Parcel::Item(foreign.clone()))];
    let Err(error) = shelf.unpack(parcels).await else { panic!("it was sent") };
    assert_eq!(error.kind(), ErrorKind::Encode, "{error}");
    assert!(own.stats().collector.rolled_back > 0);
    assert!(own.gc().snapshot().exports.iter().all(|export| export.children.is_empty()));
    drop((item, foreign));
    drops.reach(2).await;
    part(own, other, shelf).await;
}

#[tokio::test]
async fn a_list_of_a_hundred_thousand_objects_falls_without_recursion() {
    struct Link {
        _next: Option<ItemRef>,
    }
    impl Item for Link {
        async fn number(&self) -> Result<u32> {
            Ok(0)
        }
        async fn with(&self, _other: ItemRef) -> Result<u32> {
            Ok(0)
        }
    }
    let node = dialling().await;
    let mut head: Option<ItemRef> = None;
    for _ in 0..100_000 {
        head = Some(node.export(Link { _next: head }));
    }
    drop(head);
    assert!(node.gc().snapshot().is_empty());
}
