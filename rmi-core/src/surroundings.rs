//! What a node takes from outside itself: randomness, and somewhere to run its tasks. Time is
//! tokio's, which a test can pause.
//!
//! In production that is the random numbers of the system and the runtime, and costs nothing
//! beside them. A simulation gives each node seeded surroundings: then everything that a node does
//! is a function of the seed and of what it receives, and a run can be repeated.

use std::fmt;
use std::future::Future;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rmi_transport::BoxFuture;
use rmi_transport::sync::Rank;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::map::Map;
use crate::reference::Key;

type Wrapper = dyn Fn(BoxFuture<'static, ()>) -> BoxFuture<'static, ()> + Send + Sync;

/// Where a node takes randomness and tasks from. Clones share their random numbers.
#[derive(Clone, Default)]
pub struct Surroundings {
    random: Random,
    wrapper: Option<Arc<Wrapper>>,
}

#[derive(Clone, Default)]
enum Random {
    /// Of the thread, and through it of the system.
    #[default]
    Thread,
    Seeded(Arc<AtomicU64>),
}

impl Surroundings {
    /// Everything that would be random follows from `seed`.
    pub fn seeded(seed: u64) -> Self {
        Self { random: Random::Seeded(Arc::new(AtomicU64::new(seed))), wrapper: None }
    }

    /// Every task of the node goes through `wrapper` before it is spawned.
    pub fn wrapped(
        mut self,
        wrapper: impl Fn(BoxFuture<'static, ()>) -> BoxFuture<'static, ()> + Send + Sync + 'static,
    ) -> Self {
        self.wrapper = Some(Arc::new(wrapper));
        self
    }

    pub(crate) fn random(&self) -> u64 {
        match &self.random {
            Random::Thread => rand::random(),
            Random::Seeded(state) => split_mix(state),
        }
    }

    pub(crate) fn random_key(&self) -> Key {
        match &self.random {
            Random::Thread => rand::random(),
            Random::Seeded(state) => {
                let halves = [split_mix(state), split_mix(state)];
                (u128::from(halves[0]) << 64 | u128::from(halves[1])).to_le_bytes()
            }
        }
    }

    /// A map whose order is foreseen by nobody, or by the seed.
    pub(crate) fn map<K: Clone + Eq + Hash, V, R: Rank>(&self) -> Map<K, V, R> {
        match &self.random {
            Random::Thread => Map::default(),
            Random::Seeded(state) => Map::seeded(|| split_mix(state)),
        }
    }

    pub(crate) fn spawn(
        &self,
        runtime: &Handle,
        task: impl Future<Output = ()> + Send + 'static,
    ) -> JoinHandle<()> {
        match &self.wrapper {
            None => runtime.spawn(task),
            Some(wrapper) => runtime.spawn(wrapper(Box::pin(task))),
        }
    }
}

/// Small, and the same everywhere (Steele, Lea, Flood: SplitMix).
fn split_mix(state: &AtomicU64) -> u64 {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut mixed = state.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

impl fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seeded = matches!(self.random, Random::Seeded(_));
        let wrapped = self.wrapper.is_some();
        f.debug_struct("Surroundings").field("seeded", &seeded).field("wrapped", &wrapped).finish()
    }
}

#[cfg(test)]
mod tests {
    use rmi_transport::sync::rank::Alone;

    use super::*;

    #[test]
    fn what_is_seeded_repeats_itself() {
        let all = |seed| {
            let surroundings = Surroundings::seeded(seed);
            let map: Map<u64, (), Alone> = surroundings.map();
            for key in 0..100 {
                map.insert(key, ());
            }
            let keys: Vec<u64> = map.iter().map(|entry| *entry.key()).collect();
            (surroundings.random_key(), keys, surroundings.clone().random(), surroundings.random())
        };
        assert_eq!(all(1), all(1));
        assert_ne!(all(1), all(2));
        let (.., first, second) = all(1);
        assert_ne!(first, second, "clones share their numbers");
    }

    #[tokio::test]
    async fn every_task_goes_through_the_wrapper() {
        let seen = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&seen);
        let surroundings = Surroundings::default().wrapped(move |task| {
            counted.fetch_add(1, Ordering::Relaxed);
            task
        });
        let task = surroundings.spawn(&Handle::current(), async {});
        task.await.expect("it does nothing");
        assert_eq!(seen.load(Ordering::Relaxed), 1);
    }
}
