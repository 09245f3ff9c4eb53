//! Monitors under contention and cancellation: they are never lost.

mod support;

use std::future::Future;

use rmi::{Node, Result, remote, synchronized};
use support::{listening, lookup, until_empty};

#[remote]
trait Counter {
    async fn count(&self) -> Result<u64>;
    async fn set(&self, count: u64) -> Result<()>;
}

#[derive(Default)]
struct Tally(std::sync::atomic::AtomicU64);

impl Counter for Tally {
    async fn count(&self) -> Result<u64> {
        Ok(self.0.load(std::sync::atomic::Ordering::SeqCst))
    }
    async fn set(&self, count: u64) -> Result<()> {
        self.0.store(count, std::sync::atomic::Ordering::SeqCst);
        Ok(())
    }
}

async fn yields(count: u64) {
    for _ in 0..count {
        tokio::task::yield_now().await;
    }
}

/// Every other task goes through with it; the rest give up after a few turns, wherever that is: in
/// line, inside, on the way out, or with the grant on its way.
async fn contend(counter: &CounterRef, tasks: u64, rounds: u64) -> u64 {
    let tasks = (0..tasks).map(|task| {
        let counter = counter.clone();
        tokio::spawn(async move {
            let mut done = 0;
            for round in 0..rounds {
                let block = synchronized(&counter, async {
                    let count = counter.count().await?;
                    tokio::task::yield_now().await;
                    counter.set(count + 1).await
                });
                if task % 2 == 0 {
                    block.await.unwrap().unwrap();
                    done += 1;
                } else {
                    tokio::select! {
                        biased;
                        _ = synchronized(&counter, yields(3)) => {}
                        () = yields((task * 7 + round * 3) % 40) => {}
                    }
                }
            }
            done
        })
    });
    let mut done = 0;
    for task in tasks.collect::<Vec<_>>() {
        done += task.await.unwrap();
    }
    done
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_monitor_survives_those_who_give_up() {
    let (home, away): (Node, Node) = (listening().await, support::dialling().await);
    home.bind("counter", &home.export::<CounterRef, _, _>(Tally::default())).unwrap();
    let counter: CounterRef = lookup(&away, &home, "counter").await;
    let mut expected = 0;
    for round in 0..10 {
        let contention = contend(&counter, 24, 10);
        let waited = tokio::time::timeout(support::PATIENCE, contention).await;
        expected += waited.unwrap_or_else(|_| panic!("the monitor was lost in round {round}"));
        assert_eq!(counter.count().await.unwrap(), expected);
    }
    drop(counter);
    home.unbind("counter");
    until_empty(&[&home, &away]).await;
}

#[tokio::test]
async fn an_enter_that_is_dropped_with_its_answer_at_hand_leaves_again() {
    let (home, away): (Node, Node) = (listening().await, support::dialling().await);
    home.bind("counter", &home.export::<CounterRef, _, _>(Tally::default())).unwrap();
    let counter: CounterRef = lookup(&away, &home, "counter").await;
    let received = || away.stats().frames_received;
    let before = received();
    {
        let mut entering = std::pin::pin!(rmi::enter(&counter));
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(entering.as_mut().poll(&mut cx).is_pending());
        support::until("the answer has come", || received() > before).await;
    }
    let other = counter.clone();
    let entered = tokio::spawn(async move { drop(rmi::enter(&other).await.unwrap()) });
    tokio::time::timeout(support::PATIENCE, entered).await.expect("the monitor is free").unwrap();
    drop(counter);
    home.unbind("counter");
    until_empty(&[&home, &away]).await;
}
