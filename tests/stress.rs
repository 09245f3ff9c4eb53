//! Many objects wander among many nodes, on many threads at once: each is dropped exactly once,
//! never while somebody holds it, and nothing is left.
//!
//! `STRESS_STEPS=1000000 cargo test --release --test stress` walks longer; `STRESS_SEED` replays
//! the choices, though not the interleaving.

mod support;

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use rmi::{AnyRef, Node, RemoteRef, Result, Weak, remote};
use support::{Drops, Token, until_empty};

#[remote]
trait Item {
    /// Fails if the object is not there any more.
    async fn touch(&self) -> Result<u64>;
}

struct Marked(u64, #[allow(dead_code, reason = "its drop counts")] Token);

impl Item for Marked {
    async fn touch(&self) -> Result<u64> {
        Ok(self.0)
    }
}

/// A place at a node where references lie about.
#[remote]
trait Bag {
    async fn put(&self, item: ItemRef) -> Result<()>;
    async fn take(&self) -> Result<Option<ItemRef>>;
    async fn copy(&self) -> Result<Option<ItemRef>>;
    /// Passes copies of up to `count` references on.
    async fn pass(&self, to: BagRef, count: usize) -> Result<()>;
    async fn touch_all(&self) -> Result<usize>;
    async fn let_go(&self, count: usize) -> Result<()>;
    async fn same(&self, items: Vec<Option<AnyRef>>) -> Result<Vec<Option<AnyRef>>>;
}

struct Heap {
    items: Mutex<Vec<ItemRef>>,
    turn: AtomicU64,
}

impl Heap {
    fn pick(&self) -> Option<ItemRef> {
        let items = self.items.lock();
        let turn = usize::try_from(self.turn.fetch_add(7, Ordering::Relaxed)).unwrap_or(0);
        if items.is_empty() { None } else { items.get(turn % items.len()).cloned() }
    }
}

impl Bag for Heap {
    async fn put(&self, item: ItemRef) -> Result<()> {
        self.items.lock().push(item);
        Ok(())
    }
    async fn take(&self) -> Result<Option<ItemRef>> {
        Ok(self.items.lock().pop())
    }
    async fn copy(&self) -> Result<Option<ItemRef>> {
        Ok(self.pick())
    }
    async fn pass(&self, to: BagRef, count: usize) -> Result<()> {
        for _ in 0..count {
            if let Some(item) = self.pick() {
                to.put(item).await?;
            }
        }
        Ok(())
    }
    async fn touch_all(&self) -> Result<usize> {
        let items = self.items.lock().clone();
        for item in &items {
            item.touch().await?;
        }
        Ok(items.len())
    }
    async fn let_go(&self, count: usize) -> Result<()> {
        let gone: Vec<_> = {
            let mut items = self.items.lock();
            let left = items.len().saturating_sub(count);
            items.split_off(left)
        };
        drop(gone);
        Ok(())
    }
    async fn same(&self, items: Vec<Option<AnyRef>>) -> Result<Vec<Option<AnyRef>>> {
        Ok(items)
    }
}

/// Small, seeded, and the same everywhere (Steele, Lea, Flood: SplitMix).
struct Choices(u64);

impl Choices {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % bound as u64).unwrap_or(0)
    }
}

/// One who walks about: at `node`, with that node's references to all bags.
struct Walker {
    node: Node,
    bags: Vec<BagRef>,
    drops: Drops,
    choices: Choices,
    made: usize,
}

impl Walker {
    async fn step(&mut self) -> Result<()> {
        let choice = self.choices.below(100);
        let at = self.choices.below(self.bags.len());
        let bag = self.bags[at].clone();
        match choice {
            0..15 => {
                self.made += 1;
                let item = Marked(self.made as u64, self.drops.token());
                bag.put(self.node.export::<ItemRef, _, _>(item)).await?;
            }
            15..50 => {
                let to = self.choices.below(self.bags.len());
                bag.pass(self.bags[to].clone(), 1 + choice % 3).await?;
            }
            50..65 => bag.let_go(1 + choice % 4).await?,
            65..75 => {
                if let Some(item) = bag.take().await? {
                    item.touch().await?;
                }
            }
            75..85 => {
                let item = bag.copy().await?;
                let items = vec![item.as_ref().map(AnyRef::from), None];
                let same = bag.same(items.clone()).await?;
                assert_eq!(same, items);
                if let Some(item) = item {
                    let weak = Weak::new(&item);
                    assert_eq!(weak.upgrade().map(|item| item.id()), Some(item.id()));
                }
            }
            85..90 => drop(bag.touch_all().await?),
            // A call that is given up half-way, with references in it.
            _ => {
                let item = bag.copy().await?;
                let other = self.bags[self.choices.below(self.bags.len())].clone();
                let call = async move {
                    match item {
                        Some(item) => other.put(item).await,
                        None => Ok(()),
                    }
                };
                let turns = self.choices.below(4);
                tokio::select! {
                    biased;
                    result = call => result?,
                    () = yields(turns) => {}
                }
            }
        }
        Ok(())
    }
}

async fn yields(count: usize) {
    for _ in 0..count {
        tokio::task::yield_now().await;
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn wandering_objects_are_dropped_exactly_once() {
    const LISTENING: usize = 5;
    let seed = number("STRESS_SEED", 1);
    let steps = number("STRESS_STEPS", 4_000);
    let mut nodes = Vec::new();
    for at in 0..LISTENING {
        let endpoint = format!("inproc://stress-{seed}-{at}");
        nodes.push(Node::builder().listen(endpoint).start().await.unwrap());
    }
    // These can only be called through others, until they have dialled.
    for _ in 0..2 {
        nodes.push(Node::builder().start().await.unwrap());
    }
    for node in &nodes[..LISTENING] {
        let heap = Heap { items: Mutex::default(), turn: AtomicU64::new(0) };
        node.bind("bag", &node.export::<BagRef, _, _>(heap)).unwrap();
    }
    let drops = Drops::default();
    let mut walkers = Vec::new();
    for (at, node) in nodes.iter().enumerate() {
        let mut bags: Vec<BagRef> = Vec::new();
        for home in &nodes[..LISTENING] {
            bags.push(support::lookup(node, home, "bag").await);
        }
        for twin in 0..2 {
            let choices = Choices(seed.wrapping_mul(1_000_003) ^ ((at * 2 + twin) as u64) << 32);
            let (node, bags, drops) = (node.clone(), bags.clone(), drops.clone());
            walkers.push(Walker { node, bags, drops, choices, made: 0 });
        }
    }
    let each = steps / walkers.len() as u64;
    let walks = walkers.into_iter().map(|mut walker| {
        tokio::spawn(async move {
            for step in 0..each {
                if let Err(error) = walker.step().await {
                    panic!("step {step}: {error}; choices replay with STRESS_SEED");
                }
            }
            (walker.made, walker.bags)
        })
    });
    let mut made = 0;
    for walk in walks.collect::<Vec<_>>() {
        let (count, bags) = walk.await.unwrap();
        made += count;
        for bag in &bags {
            bag.let_go(usize::MAX).await.unwrap();
        }
    }
    // Calls that were given up may still have put something.
    for node in &nodes[..LISTENING] {
        let bag: BagRef = support::lookup(node, node, "bag").await;
        support::until("the bag is empty", || {
            // A local call without a wait: polled once, it is done.
            let mut letting_go = Box::pin(bag.let_go(usize::MAX));
            let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
            letting_go.as_mut().poll(&mut cx).is_ready() && drops.count() == made
        })
        .await;
        drop(bag);
        node.unbind("bag");
    }
    drops.reach(made).await;
    until_empty(&nodes.iter().collect::<Vec<_>>()).await;
}
