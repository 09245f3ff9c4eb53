//! Where objects that nothing refers to any more are dropped: outside all locks, and one after
//! the other.
//!
//! An object's `Drop` is user code, and it may drop further references, which free further
//! objects. Each goes to the end of a queue instead of deeper into the stack, so that a list of a
//! million objects falls without recursion. While a [`Deferral`] lives, which brackets every
//! section under one of our locks, nothing is dropped at all.
//!
//! # `Drop` takes no lock that user code can hold
//!
//! The drop of a last clone takes a shard of the table, and under it one of its indices, a shard of
//! the session map and a session's ledger, in this order; and each alone, the registered waker of
//! the session's driver, and the lists of what the keeper is to do. Then, with none of them held,
//! what it freed is dropped here. None of these locks can be waited for in vain:
//!
//! - Each is private to its module, and no guard leaves it or lives across an `.await`. So user code
//!   cannot take one but by calling us, and has let go of it when the call returns.
//! - While one is held, only code of ours runs: no encoder, decoder, destructor or handler, and no
//!   waker of a caller's. What is woken is the driver or the keeper, tasks of the runtime's, whose
//!   wakers queue and return. So whoever holds one lets go after some instructions; it waits for
//!   nothing but for locks further down the one order (`rmi_transport::sync::rank`), and never for
//!   the socket.
//! - Therefore a thread that is in user code holds none of them, whatever it is in the middle of,
//!   and its drops do not meet themselves.
//!
//! With debug assertions each lock checks the order, and each place where user code runs that
//! nothing is held; `docs/decisions/0009-shuttle.md`. On a thread whose thread-locals are gone there
//! is no queue: an object drops on the spot. No message is encoded or sent there, so no lock is
//! held either.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rmi_transport::sync::{assert_unlocked, thread_local};

use crate::interface::{Exported, Interfaces};

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Interfaces>,
    /// How many deferrals live on this thread, counting the one of a drain in progress.
    deferrals: usize,
}

thread_local! {
    static QUEUE: RefCell<Queue> = RefCell::default();
}

/// Drops what was freed, now or when the last [`Deferral`] of this thread ends.
pub(crate) fn reap(freed: impl IntoIterator<Item = Arc<Exported>>) {
    let _deferral = Deferral::begin();
    freed.into_iter().for_each(drop);
}

impl Drop for Exported {
    /// Whoever lets go of it last, a handler or a visitor of the table included: the user's object
    /// drops by the queue.
    fn drop(&mut self) {
        let _deferral = Deferral::begin();
        let object = std::mem::take(&mut self.interfaces);
        // A thread that is ending has no queue any more; there the object drops with the closure.
        let _ = QUEUE.try_with(|queue| queue.borrow_mut().waiting.push_back(object));
    }
}

/// While it lives, no object is dropped on this thread.
pub(crate) struct Deferral(());

impl Deferral {
    /// `None` where the thread is ending: there is no lock of ours held then.
    pub(crate) fn begin() -> Option<Self> {
        QUEUE.try_with(|queue| queue.borrow_mut().deferrals += 1).ok().map(|()| Self(()))
    }
}

impl Drop for Deferral {
    fn drop(&mut self) {
        while let Some(object) = next_or_end() {
            assert_unlocked("an object is dropped");
            // A panic in the object's own `Drop` is the object's affair: it must not take down
            // the task that happened to drop it, nor the objects behind it.
            if catch_unwind(AssertUnwindSafe(|| drop(object))).is_err() {
                tracing::warn!("an object's Drop panicked");
            }
        }
    }
}

/// The next object to drop if this is the outermost deferral; otherwise it ends.
fn next_or_end() -> Option<Interfaces> {
    let next = |queue: &RefCell<Queue>| {
        let mut queue = queue.borrow_mut();
        let next = if queue.deferrals == 1 { queue.waiting.pop_front() } else { None };
        if next.is_none() {
            queue.deferrals -= 1;
        }
        next
    };
    QUEUE.try_with(next).ok().flatten()
}
