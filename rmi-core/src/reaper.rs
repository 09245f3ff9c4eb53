//! Where objects that nothing refers to any more are dropped: outside all locks, and one after
//! the other.
//!
//! An object's `Drop` is user code, and it may drop further references, which free further
//! objects. Each goes to the end of a queue instead of deeper into the stack, so that a list of a
//! million objects falls without recursion. While a [`Deferral`] lives, which brackets every
//! section under one of our locks, nothing is dropped at all.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

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
