//! Situations in which comparable systems were reported to fail; `docs/SCENARIOS.md` lists all of
//! them, with the tests that show the others.

mod support;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rmi::gc::Policy;
use rmi::{Node, Result, remote};
use support::{Drops, Token, until, until_empty};
use tokio::sync::Notify;
use tokio::time::advance;

#[remote]
trait Item {
    async fn number(&self) -> Result<u32>;
    /// Answers once the test says so.
    async fn slowly(&self) -> Result<u32>;
}

#[remote]
trait Holder {
    async fn take(&self, item: ItemRef) -> Result<()>;
    async fn call(&self) -> Result<u32>;
    async fn pass_on(&self, to: HolderRef) -> Result<()>;
    async fn let_go(&self) -> Result<()>;
    /// Calls the item long after the answer, from a task of its own.
    async fn call_later(&self, item: ItemRef) -> Result<()>;
    /// Has `callback` called one-way, and lets go of it at once.
    async fn notify(&self, callback: CallbackRef, with: ItemRef) -> Result<()>;
}

#[remote]
trait Callback {
    #[remote(oneway)]
    async fn called(&self, with: ItemRef) -> Result<()>;
}

struct Thing {
    number: u32,
    go_on: Arc<Notify>,
    _token: Token,
}

impl Item for Thing {
    async fn number(&self) -> Result<u32> {
        Ok(self.number)
    }
    async fn slowly(&self) -> Result<u32> {
        self.go_on.notified().await;
        Ok(self.number)
    }
}

#[derive(Default)]
struct Hands {
    held: Mutex<Option<ItemRef>>,
    called: Arc<Mutex<Vec<u32>>>,
    go_on: Arc<Notify>,
}

impl Hands {
    fn held(&self) -> ItemRef {
        self.held.lock().clone().expect("the test has it hold one")
    }
}

impl Holder for Hands {
    async fn take(&self, item: ItemRef) -> Result<()> {
        let before = self.held.lock().replace(item);
        drop(before);
        Ok(())
    }
    async fn call(&self) -> Result<u32> {
        self.held().number().await
    }
    async fn pass_on(&self, to: HolderRef) -> Result<()> {
        to.take(self.held()).await
    }
    async fn let_go(&self) -> Result<()> {
        let held = self.held.lock().take();
        drop(held);
        Ok(())
    }
    async fn call_later(&self, item: ItemRef) -> Result<()> {
        let (called, go_on) = (Arc::clone(&self.called), Arc::clone(&self.go_on));
        tokio::spawn(async move {
            go_on.notified().await;
            let number = item.number().await.expect("it is kept by this task");
            called.lock().push(number);
        });
        Ok(())
    }
    async fn notify(&self, callback: CallbackRef, with: ItemRef) -> Result<()> {
        callback.called(with).await
    }
}

struct Listening(Arc<Mutex<Vec<u32>>>);

impl Callback for Listening {
    async fn called(&self, with: ItemRef) -> Result<()> {
        let number = with.number().await?;
        self.0.lock().push(number);
        Ok(())
    }
}

async fn node(policy: Policy) -> Node {
    Node::builder().listen("inproc://auto").policy(policy).start().await.expect("it starts")
}

async fn nodes<const N: usize>(policy: Policy) -> [Node; N] {
    let mut nodes = Vec::new();
    for _ in 0..N {
        nodes.push(node(policy).await);
    }
    nodes.try_into().expect("so many were made")
}

fn item(at: &Node, number: u32, drops: &Drops) -> (ItemRef, Arc<Notify>) {
    let go_on = Arc::<Notify>::default();
    let thing = Thing { number, go_on: Arc::clone(&go_on), _token: drops.token() };
    (at.export(thing), go_on)
}

async fn hands(of: &Node, by: &Node) -> HolderRef {
    let own: HolderRef = of.export(Hands::default());
    of.bind("hands", &own).expect("a good name");
    by.lookup(format!("{}/hands", of.endpoint().expect("it listens"))).await.expect("it is bound")
}

fn frames(nodes: &[&Node]) -> u64 {
    nodes.iter().map(|node| node.stats().frames_sent).sum()
}

/// Scenario 21, and 27: nothing that is held costs anything while nobody calls.
#[tokio::test(start_paused = true)]
async fn a_reference_that_was_idle_for_a_day_works_at_its_first_call() {
    let [home, away] = nodes(Policy::Adopting).await;
    let drops = Drops::default();
    let (own, _) = item(&home, 7, &drops);
    home.bind("item", &own).unwrap();
    drop(own);
    let far: ItemRef = away.lookup(format!("{}/item", home.endpoint().unwrap())).await.unwrap();
    assert!(home.unbind("item"));
    for _ in 0..24 * 60 {
        // The time passes in steps, as heartbeats have to come by.
        for _ in 0..60 {
            advance(Duration::from_secs(1)).await;
            tokio::task::yield_now().await;
        }
    }
    assert_eq!((drops.count(), away.stats().sessions), (0, 1));
    assert_eq!(far.number().await.unwrap(), 7);
    drop(far);
    drops.reach(1).await;
    until_empty(&[&home, &away]).await;
}

/// Scenario 9.
#[tokio::test(start_paused = true)]
async fn a_bound_object_waits_an_hour_for_its_first_caller() {
    let [home, away] = nodes(Policy::Adopting).await;
    let drops = Drops::default();
    let (own, _) = item(&home, 3, &drops);
    home.bind("item", &own).unwrap();
    drop(own);
    for _ in 0..3_600 {
        advance(Duration::from_secs(1)).await;
    }
    let far: ItemRef = away.lookup(format!("{}/item", home.endpoint().unwrap())).await.unwrap();
    assert_eq!(far.number().await.unwrap(), 3);
    assert!(home.unbind("item"));
    assert_eq!(drops.count(), 0);
    drop(far);
    drops.reach(1).await;
    until_empty(&[&home, &away]).await;
}

/// Scenario 2.
#[tokio::test]
async fn a_callback_that_is_released_at_once_is_still_called_once() {
    let [home, away] = nodes(Policy::Adopting).await;
    let drops = Drops::default();
    let far = hands(&away, &home).await;
    let called = Arc::<Mutex<Vec<u32>>>::default();
    for number in 0..50 {
        let callback: CallbackRef = home.export(Listening(Arc::clone(&called)));
        // The item lives there, so that the callback takes a round trip.
        let (own, _) = item(&away, number, &drops);
        away.bind("item", &own).unwrap();
        let with: ItemRef =
            home.lookup(format!("{}/item", away.endpoint().unwrap())).await.unwrap();
        far.notify(callback, with).await.unwrap();
    }
    until("each was called", || called.lock().len() == 50).await;
    let mut numbers = called.lock().clone();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..50).collect::<Vec<_>>());
    assert!(away.unbind("item") && away.unbind("hands"));
    drop(far);
    drops.reach(50).await;
    until_empty(&[&home, &away]).await;
}

/// Scenario 6.
#[tokio::test]
async fn a_reference_that_is_dropped_while_its_call_waits_is_released_behind_the_answer() {
    let [home, away] = nodes(Policy::Adopting).await;
    let drops = Drops::default();
    let (own, go_on) = item(&home, 5, &drops);
    home.bind("item", &own).unwrap();
    drop(own);
    let far: ItemRef = away.lookup(format!("{}/item", home.endpoint().unwrap())).await.unwrap();
    assert!(home.unbind("item"));
    let call = tokio::spawn(async move { far.slowly().await });
    until("the handler runs", || home.stats().handlers_running == 1).await;
    assert_eq!(drops.count(), 0);
    go_on.notify_one();
    assert_eq!(call.await.unwrap().unwrap(), 5);
    drops.reach(1).await;
    until_empty(&[&home, &away]).await;
}

/// Scenario 7.
#[tokio::test]
async fn an_argument_that_a_handler_keeps_can_be_called_long_after_its_answer() {
    let [home, away] = nodes(Policy::Adopting).await;
    let drops = Drops::default();
    let (called, go_on) = (Arc::<Mutex<Vec<u32>>>::default(), Arc::<Notify>::default());
    let own = Hands { called: Arc::clone(&called), go_on: Arc::clone(&go_on), ..Hands::default() };
    let own: HolderRef = away.export(own);
    away.bind("hands", &own).unwrap();
    drop(own);
    let far: HolderRef = home.lookup(format!("{}/hands", away.endpoint().unwrap())).await.unwrap();
    let (item, _) = item(&home, 11, &drops);
    far.call_later(item).await.unwrap();
    assert!(away.unbind("hands"));
    drop(far);
    assert_eq!(drops.count(), 0, "the task keeps it");
    go_on.notify_one();
    until("it was called", || *called.lock() == [11]).await;
    drops.reach(1).await;
    until_empty(&[&home, &away]).await;
}

/// The headline, with three nodes.
#[tokio::test]
async fn a_hand_off_costs_no_frame_and_an_adoption_none_beyond_the_first_calls() {
    let [home, giver, taker] = nodes(Policy::Adopting).await;
    let all = [&home, &giver, &taker];
    let drops = Drops::default();
    let (own, _) = item(&home, 1, &drops);
    let (giving, taking) = (hands(&giver, &home).await, hands(&taker, &home).await);
    // Whoever has to meet has met.
    let met: ItemRef =
        home.export(Thing { number: 0, go_on: Arc::default(), _token: drops.token() });
    giving.take(met).await.unwrap();
    giving.pass_on(taking.clone()).await.unwrap();
    taking.call().await.unwrap();
    taking.let_go().await.unwrap();
    giving.let_go().await.unwrap();
    drops.reach(1).await;
    until("all is quiet", || all.iter().all(|node| node.gc().snapshot().owed_releases == 0)).await;

    giving.take(own.clone()).await.unwrap();
    let before = frames(&all);
    giving.pass_on(taking.clone()).await.unwrap();
    // The order to the giver, the hand-off, and their answers.
    assert_eq!(frames(&all) - before, 4);
    let before = frames(&all);
    assert_eq!(taking.call().await.unwrap(), 1);
    // The order to the taker, its call, and their answers: the adoption rode on the last two.
    assert_eq!(frames(&all) - before, 4);
    assert_eq!(taker.stats().collector.adopted_received, 2);
    let holders = home.gc().who_holds(&own);
    assert!(holders.peers.iter().any(|holder| holder.peer == taker.id()), "{holders}");

    taking.let_go().await.unwrap();
    giving.let_go().await.unwrap();
    drop((own, giving, taking));
    assert!(giver.unbind("hands") && taker.unbind("hands"));
    drops.reach(2).await;
    until_empty(&all).await;
}

/// Rule 17: nobody is given up, and nobody loses anything.
#[tokio::test]
async fn a_node_that_leaves_has_its_children_adopted_first() {
    for policy in [Policy::Adopting, Policy::Hierarchical] {
        let [home, middle, last] = nodes(policy).await;
        let drops = Drops::default();
        let (own, _) = item(&home, 2, &drops);
        let (giving, taking) = (hands(&middle, &home).await, hands(&last, &home).await);
        giving.take(own).await.unwrap();
        giving.pass_on(taking.clone()).await.unwrap();
        drop(taking);
        let at_last: HolderRef =
            home.lookup(format!("{}/hands", last.endpoint().unwrap())).await.unwrap();
        middle.shutdown().await;
        drop(giving);
        let snapshot = home.gc().snapshot();
        let counts = |peer| snapshot.exports.iter().any(|entry| entry.children.contains_key(&peer));
        assert!(counts(last.id()), "{policy:?}: the home counts the last: {snapshot}");
        assert_eq!(at_last.call().await.unwrap(), 2, "{policy:?}");
        at_last.let_go().await.unwrap();
        drop(at_last);
        assert!(last.unbind("hands"));
        drops.reach(1).await;
        until_empty(&[&last]).await;
    }
}

/// Rule 16: a chain that is longer than may be.
#[tokio::test]
async fn a_chain_longer_than_the_depth_bound_is_shortened_as_it_grows() {
    // `Hierarchical` has no bound.
    for policy in [Policy::Adopting, Policy::Listing] {
        let [home, a, b, c, d, e, f] = nodes(policy).await;
        let chain = [&a, &b, &c, &d, &e, &f];
        let drops = Drops::default();
        let (own, _) = item(&home, 9, &drops);
        let first = hands(&a, &home).await;
        first.take(own).await.unwrap();
        let mut giving = first;
        for pair in chain.windows(2) {
            let next = hands(pair[1], &home).await;
            giving.pass_on(next).await.unwrap();
            giving.let_go().await.unwrap();
            giving = home.lookup(format!("{}/hands", pair[1].endpoint().unwrap())).await.unwrap();
        }
        let depth = f.gc().snapshot().bridges.iter().map(|entry| entry.depth).max();
        assert!(depth <= Some(4), "{policy:?}: {depth:?}");
        assert_eq!(giving.call().await.unwrap(), 9, "{policy:?}");
        giving.let_go().await.unwrap();
        drop(giving);
        chain.iter().for_each(|node| assert!(node.unbind("hands")));
        drops.reach(1).await;
        until_empty(&[&home, &a, &b, &c, &d, &e, &f]).await;
    }
}

/// `Policy::Listing`: the home counts the holder before the reference reaches its user.
#[tokio::test]
async fn a_listed_holder_is_counted_at_home_when_its_user_gets_the_reference() {
    let [home, giver, taker] = nodes(Policy::Listing).await;
    let drops = Drops::default();
    let (own, _) = item(&home, 4, &drops);
    let (giving, taking) = (hands(&giver, &home).await, hands(&taker, &home).await);
    giving.take(own.clone()).await.unwrap();
    giving.pass_on(taking.clone()).await.unwrap();
    let holders = home.gc().who_holds(&own);
    assert!(holders.peers.iter().any(|holder| holder.peer == taker.id()), "{holders}");
    taking.let_go().await.unwrap();
    giving.let_go().await.unwrap();
    drop((own, giving, taking));
    assert!(giver.unbind("hands") && taker.unbind("hands"));
    drops.reach(1).await;
    until_empty(&[&home, &giver, &taker]).await;
}
