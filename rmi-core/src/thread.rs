//! Distributed threads: the logical thread of control that a chain of calls forms across nodes.
//!
//! Who waits for whom is known by thread, not by task: a monitor entered in a handler lets in
//! the call-back that the same chain makes. A handler runs in the thread of its caller; code
//! outside any handler is a thread of its own for each tokio task, or each plain thread.

use std::cell::Cell;
use std::fmt;
use std::future::{Future, poll_fn};
use std::hash::{Hash, Hasher};
use std::pin::pin;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rmi_transport::sync::thread_local;

/// The identity of a distributed thread.
///
/// Costs at most 11 bytes in a frame, two or three where the thread began in one of the two
/// processes that talk.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct ThreadId {
    origin: u64,
    number: u64,
}

impl ThreadId {
    /// The distributed thread of the running code: the caller's inside a handler, the same in
    /// everything that the handler calls.
    ///
    /// Outside a handler each tokio task is a thread of its own, and so is each plain thread.
    pub fn current() -> Self {
        CURRENT.with(Cell::get).unwrap_or_else(Self::of_this_task)
    }

    /// Does the running code belong to a handler, or to a monitor's block?
    pub(crate) fn is_inside() -> bool {
        CURRENT.with(Cell::get).is_some()
    }

    /// A thread that nobody has been yet.
    pub(crate) fn fresh() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed) << 2 | 2;
        Self { origin: process_origin(), number }
    }

    pub(crate) fn from_parts(origin: u64, number: u64) -> Self {
        Self { origin, number }
    }

    pub(crate) fn origin(self) -> u64 {
        self.origin
    }

    pub(crate) fn number(self) -> u64 {
        self.number
    }

    fn of_this_task() -> Self {
        let number = match tokio::task::try_id() {
            Some(task) => number_of(task) << 2,
            None => PLAIN_THREAD.with(|number| *number) << 2 | 1,
        };
        Self { origin: process_origin(), number }
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t{}@{:06x}", self.number, self.origin & 0xff_ffff)
    }
}

thread_local! {
    /// Set while a handler, or a block that [`run_as`] runs, is being polled.
    static CURRENT: Cell<Option<ThreadId>> = const { Cell::new(None) };
    static PLAIN_THREAD: u64 = {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        NEXT.fetch_add(1, Ordering::Relaxed)
    };
}

/// What distinguishes the threads that began in this process from all others.
pub(crate) fn process_origin() -> u64 {
    static ORIGIN: OnceLock<u64> = OnceLock::new();
    *ORIGIN.get_or_init(rand::random)
}

/// Polls `future` as `thread`, at each of its polls.
pub(crate) async fn run_as<F: Future>(thread: ThreadId, future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|cx| {
        let _current = Entered::new(thread);
        future.as_mut().poll(cx)
    })
    .await
}

/// While it lives, the running code belongs to `thread`.
pub(crate) struct Entered(Option<ThreadId>);

impl Entered {
    pub(crate) fn new(thread: ThreadId) -> Self {
        Self(CURRENT.with(|current| current.replace(Some(thread))))
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.with(|current| current.set(self.0));
    }
}

/// tokio gives its task ids no number, but they hash as the one they have.
fn number_of(task: tokio::task::Id) -> u64 {
    struct Captured(u64);
    impl Hasher for Captured {
        fn finish(&self) -> u64 {
            self.0
        }
        fn write(&mut self, bytes: &[u8]) {
            // Only reached if tokio changes what an id is made of: still one number an id.
            for byte in bytes {
                self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
        fn write_u64(&mut self, number: u64) {
            self.0 = number;
        }
    }
    let mut hasher = Captured(0);
    task.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_is_one_thread_and_another_task_another() {
        let here = ThreadId::current();
        tokio::task::yield_now().await;
        assert_eq!(here, ThreadId::current());
        let there = tokio::spawn(async {
            let before = ThreadId::current();
            tokio::task::yield_now().await;
            (before, ThreadId::current())
        });
        let (before, after) = there.await.expect("the task does not panic");
        assert_eq!(before, after);
        assert_ne!(before, here);
    }

    #[tokio::test]
    async fn a_block_run_as_a_thread_keeps_it_over_its_awaits_and_no_longer() {
        let own = ThreadId::current();
        let other = ThreadId::from_parts(7, 8);
        run_as(other, async {
            assert_eq!(ThreadId::current(), other);
            tokio::task::yield_now().await;
            assert_eq!(ThreadId::current(), other);
        })
        .await;
        assert_eq!(ThreadId::current(), own);
    }

    #[test]
    fn plain_threads_differ() {
        let here = ThreadId::current();
        assert_eq!(here, ThreadId::current());
        let there = std::thread::spawn(ThreadId::current).join().expect("no panic");
        assert_ne!(here, there);
    }
}
