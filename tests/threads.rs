//! Distributed threads and monitors: who waits for whom, across nodes.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rmi::{Node, Result, ThreadId, enter, remote, synchronized};
use rmi_transport::{Body, Outcome};
use support::attacker::{Attacker, ENTER, EXIT, frame};
use support::{dialling, impatient, listening, lookup, until, until_empty};
use tokio::sync::{Notify, mpsc};

#[remote]
trait Player {
    /// Calls `other` back until `depth` is used up; how many calls were made in all.
    async fn rally(&self, other: PlayerRef, depth: u32) -> Result<u32>;
    /// The distributed thread of the handler, as text, and that of a call that it makes.
    async fn threads(&self, asked: Option<PlayerRef>) -> Result<Vec<String>>;
    /// Enters the monitor of `shared`, and has `other` do the same inside.
    async fn enter_both(&self, shared: PlayerRef, other: Option<PlayerRef>) -> Result<()>;
    async fn keep(&self, other: PlayerRef) -> Result<()>;
    async fn count(&self) -> Result<u32>;
    async fn set(&self, count: u32) -> Result<()>;
}

#[derive(Default)]
struct Person {
    own: std::sync::OnceLock<PlayerRef>,
    count: AtomicU32,
}

impl Player for Person {
    async fn rally(&self, other: PlayerRef, depth: u32) -> Result<u32> {
        if depth == 0 {
            return Ok(0);
        }
        let own = self.own.get().expect("it was told its own reference").clone();
        Ok(1 + other.rally(own, depth - 1).await?)
    }
    async fn threads(&self, asked: Option<PlayerRef>) -> Result<Vec<String>> {
        let mut threads = vec![ThreadId::current().to_string()];
        if let Some(asked) = asked {
            tokio::task::yield_now().await;
            threads.extend(asked.threads(None).await?);
        }
        threads.push(ThreadId::current().to_string());
        Ok(threads)
    }
    async fn enter_both(&self, shared: PlayerRef, other: Option<PlayerRef>) -> Result<()> {
        synchronized(&shared, async {
            match other {
                Some(other) => other.enter_both(shared.clone(), None).await,
                None => Ok(()),
            }
        })
        .await?
    }
    async fn keep(&self, other: PlayerRef) -> Result<()> {
        self.own.set(other).map_err(|_| rmi::Error::application("it keeps one"))
    }
    async fn count(&self) -> Result<u32> {
        Ok(self.count.load(Ordering::SeqCst))
    }
    async fn set(&self, count: u32) -> Result<()> {
        self.count.store(count, Ordering::SeqCst);
        Ok(())
    }
}

/// A player at `node`, bound as "player", with a cycle through itself that `part` breaks.
fn player(node: &Node) -> (PlayerRef, Arc<Person>) {
    let person = Arc::new(Person::default());
    let player: PlayerRef = node.export(Arc::clone(&person));
    node.bind("player", &player).unwrap();
    (player, person)
}

struct Match {
    here: Node,
    there: Node,
    near: PlayerRef,
    far: PlayerRef,
}

impl Match {
    async fn begin() -> Self {
        let here = impatient().start().await.unwrap();
        let there = impatient().listen("tcp://127.0.0.1:0").start().await.unwrap();
        let (near, _) = player(&here);
        drop(player(&there));
        let far = lookup(&here, &there, "player").await;
        Self { here, there, near, far }
    }

    async fn end(self) {
        drop((self.near, self.far));
        self.here.unbind("player");
        self.there.unbind("player");
        until_empty(&[&self.here, &self.there]).await;
    }
}

#[test]
fn callbacks_recurse_64_deep_on_one_worker_thread() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let here = impatient().start().await.unwrap();
        let there = impatient().listen("tcp://127.0.0.1:0").start().await.unwrap();
        let ((near, near_person), (far_own, far_person)) = (player(&here), player(&there));
        let far: PlayerRef = lookup(&here, &there, "player").await;
        near_person.own.set(near.clone()).unwrap();
        far_person.own.set(far_own).unwrap();
        assert_eq!(far.rally(near.clone(), 64).await.unwrap(), 64);
        // The players refer to themselves: the nodes' ends let them go.
        drop((near, far));
        there.shutdown().await;
        here.shutdown().await;
    });
}

#[tokio::test]
async fn a_thread_is_the_same_in_handlers_and_in_what_they_call_back() {
    let game = Match::begin().await;
    let own = ThreadId::current().to_string();
    let threads = game.far.threads(Some(game.near.clone())).await.unwrap();
    assert_eq!(threads, vec![own.clone(); 4]);
    let far = game.far.clone();
    let other = tokio::spawn(async move { far.threads(None).await }).await.unwrap().unwrap();
    assert_ne!(other, vec![own; 2]);
    game.end().await;
}

#[tokio::test]
async fn a_monitor_keeps_others_out_and_loses_no_update() {
    let game = Match::begin().await;
    let tasks = (0..8).map(|_| {
        let far = game.far.clone();
        tokio::spawn(async move {
            for _ in 0..25 {
                let inside = async {
                    let count = far.count().await?;
                    tokio::task::yield_now().await;
                    far.set(count + 1).await
                };
                synchronized(&far, inside).await.unwrap().unwrap();
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    assert_eq!(game.far.count().await.unwrap(), 200);
    game.end().await;
}

#[tokio::test]
async fn one_thread_enters_again_here_there_and_in_a_callback() {
    let game = Match::begin().await;
    for shared in [game.far.clone(), game.near.clone()] {
        let outer = enter(&shared).await.unwrap();
        let inner = enter(&shared).await.unwrap();
        game.far.enter_both(shared.clone(), Some(game.near.clone())).await.unwrap();
        drop((outer, inner));
        // Free again: another thread gets in.
        tokio::spawn(async move { drop(enter(&shared).await.unwrap()) }).await.unwrap();
    }
    game.end().await;
}

#[tokio::test]
async fn monitors_are_entered_in_the_order_of_asking() {
    let game = Match::begin().await;
    let (entered, mut order) = mpsc::unbounded_channel();
    let guard = enter(&game.far).await.unwrap();
    let mut tasks = Vec::new();
    for number in 0..5 {
        let (far, entered) = (game.far.clone(), entered.clone());
        let asked = game.there.stats().calls_received;
        tasks.push(tokio::spawn(async move {
            let _guard = enter(&far).await.unwrap();
            entered.send(number).unwrap();
        }));
        until("the home was asked", || game.there.stats().calls_received > asked).await;
    }
    drop(guard);
    for number in 0..5 {
        assert_eq!(order.recv().await, Some(number));
    }
    for task in tasks {
        task.await.unwrap();
    }
    game.end().await;
}

#[tokio::test]
async fn an_enter_that_is_given_up_leaves_the_monitor_free() {
    let game = Match::begin().await;
    let guard = enter(&game.far).await.unwrap();
    let far = game.far.clone();
    let asked = game.there.stats().calls_received;
    let waiting = tokio::spawn(async move { enter(&far).await });
    until("the home was asked", || game.there.stats().calls_received > asked).await;
    waiting.abort();
    assert!(waiting.await.is_err());
    drop(guard);
    let far = game.far.clone();
    tokio::spawn(async move { drop(enter(&far).await.unwrap()) }).await.unwrap();
    game.end().await;
}

#[test]
fn a_monitor_is_free_again_when_its_holders_session_dies() {
    let (holders, others) = (support::runtime(), support::runtime());
    others.block_on(async {
        let builder = impatient().listen("tcp://127.0.0.1:0");
        let home = builder.start().await.unwrap();
        drop(player(&home));
        let endpoint = home.endpoint().unwrap().to_string();
        let entered = Arc::new(Notify::new());
        let told = Arc::clone(&entered);
        holders.spawn(async move {
            let holder = dialling().await;
            let far: PlayerRef = holder.lookup(format!("{endpoint}/player")).await.unwrap();
            let _guard = enter(&far).await.unwrap();
            told.notify_one();
            std::future::pending::<()>().await
        });
        entered.notified().await;
        let other = dialling().await;
        let far: PlayerRef = lookup(&other, &home, "player").await;
        let asked = home.stats().calls_received;
        let waiting = {
            let far = far.clone();
            tokio::spawn(async move { drop(enter(&far).await.unwrap()) })
        };
        until("the home was asked", || home.stats().calls_received > asked).await;
        assert!(!waiting.is_finished());
        holders.shutdown_background();
        waiting.await.unwrap();
        drop(far);
        home.unbind("player");
        until_empty(&[&home, &other]).await;
    });
}

#[test]
fn a_monitor_held_through_a_relay_is_free_again_when_its_holder_dies() {
    let (holders, others) = (support::runtime(), support::runtime());
    others.block_on(async {
        // Nobody can dial the home, so the holder goes through the middle.
        let home = impatient().start().await.unwrap();
        let middle = impatient().listen("tcp://127.0.0.1:0").start().await.unwrap();
        let (_, keeper) = player(&middle);
        let (near, _) = player(&home);
        lookup::<PlayerRef>(&home, &middle, "player").await.keep(near.clone()).await.unwrap();
        middle.bind("far", keeper.own.get().expect("it was kept")).unwrap();
        let uri = format!("{}/far", middle.endpoint().unwrap());
        let entered = Arc::new(Notify::new());
        let told = Arc::clone(&entered);
        holders.spawn(async move {
            let holder = dialling().await;
            let far: PlayerRef = holder.lookup(uri).await.unwrap();
            let _guards = [enter(&far).await.unwrap(), enter(&far).await.unwrap()];
            told.notify_one();
            std::future::pending::<()>().await
        });
        entered.notified().await;
        assert!(middle.stats().calls_relayed >= 2);
        let waiting = {
            let near = near.clone();
            tokio::spawn(async move { drop(enter(&near).await.unwrap()) })
        };
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished(), "two are inside");
        holders.shutdown_background();
        waiting.await.unwrap();
        drop((near, keeper));
        home.shutdown().await;
        middle.shutdown().await;
    });
}

#[tokio::test]
async fn a_guard_that_entered_by_a_relay_leaves_by_it_when_there_is_a_shorter_way_meanwhile() {
    // Nobody can dial the home, so the last goes through the middle.
    let (home, middle, last) = (dialling().await, listening().await, listening().await);
    let (near, _) = player(&home);
    let ((own, at_middle), (_, at_last)) = (player(&middle), player(&last));
    lookup::<PlayerRef>(&home, &middle, "player").await.keep(near.clone()).await.unwrap();
    let passed_on = at_middle.own.get().expect("it was kept").clone();
    lookup::<PlayerRef>(&middle, &last, "player").await.keep(passed_on).await.unwrap();
    let far = at_last.own.get().expect("it was kept").clone();
    let guard = enter(&far).await.unwrap();
    assert!(middle.stats().calls_relayed >= 1);
    let direct: PlayerRef = lookup(&home, &last, "player").await;
    assert_eq!(direct.rally(near.clone(), 0).await.unwrap(), 0);
    let parent = || last.gc().snapshot().bridges.iter().find_map(|bridge| bridge.parent);
    until("the home is the parent", || parent().is_some_and(|at| at.peer == home.id())).await;
    drop(guard);
    // Free again: another thread gets in.
    tokio::spawn(async move { drop(enter(&near).await.unwrap()) }).await.unwrap();
    let sessions = [&home, &middle, &last].map(|node| node.stats().sessions);
    assert_eq!(sessions, [2, 2, 2], "a session was ended for it");
    drop((own, far, direct, at_middle, at_last));
    for node in [&home, &middle, &last] {
        node.unbind("player");
    }
    until_empty(&[&home, &middle, &last]).await;
}

#[tokio::test]
async fn an_enter_that_is_given_up_with_the_last_reference_leaves_before_it_releases() {
    let game = Match::begin().await;
    let mut spy = Attacker::connect(&game.there).await;
    let (described, _) = spy.lookup("player").await;
    let (mut home, far) = Attacker::looked_up_by::<PlayerRef>(&game.here, &described).await;
    let entering = tokio::spawn(async move { drop(enter(&far).await) });
    let asked = home.called().await;
    assert_eq!(asked.method, ENTER);
    entering.abort();
    assert!(entering.await.is_err());
    // It is inside before the home hears that nobody wants to be.
    let answer = Body::Answer { call: asked.call, outcome: Outcome::Ok };
    home.send(&frame(answer)).await;
    loop {
        let frame = home.next().await.expect("it goes on");
        assert!(frame.releases.is_empty(), "released before it has left, or with that");
        if matches!(frame.body, Body::Call(call) if call.method == EXIT) {
            break;
        }
    }
    home.leaves().await;
    spy.leaves().await;
    game.end().await;
}

#[tokio::test]
async fn synchronized_is_one_round_trip_and_a_frame_that_is_not_answered() {
    let game = Match::begin().await;
    synchronized(&game.far, async {}).await.unwrap();
    let frames = |node: &Node| node.stats().frames_sent + node.stats().frames_received;
    let before = frames(&game.here);
    for _ in 0..100 {
        synchronized(&game.far, async {}).await.unwrap();
    }
    let after = frames(&game.here);
    assert!((after - before) <= 3 * 100, "{} frames for 100 blocks", after - before);
    game.end().await;
}
