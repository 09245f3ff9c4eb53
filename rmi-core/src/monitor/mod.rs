//! Monitors: an object's re-entrant lock, entered by distributed threads.
//!
//! Entering is one round trip; leaving is one frame that is not answered. The monitor lives at
//! the object's home; `queue` decides, this file waits and wakes.

mod guard;
mod queue;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use rmi_transport::sync::{Mutex, assert_unlocked};
use smallvec::SmallVec;
use tokio::sync::oneshot;

pub use self::guard::{MonitorGuard, enter, synchronized};
use self::queue::{Admission, Granted, Queue, Ticket};
pub(crate) use self::queue::{Holder, NotHeld};
use crate::thread::ThreadId;

/// One object's monitor, at its home. Made when it is first entered.
#[derive(Default)]
pub(crate) struct Monitor(OnceLock<Arc<Mutex<State>>>);

#[derive(Default)]
struct State {
    queue: Queue,
    waiting: BTreeMap<Ticket, oneshot::Sender<()>>,
}

impl State {
    /// Those who were let in, to be woken behind the lock: a waker is foreign code.
    fn let_in(&mut self, granted: Granted) -> LetIn {
        LetIn(granted.iter().filter_map(|ticket| self.waiting.remove(ticket)).collect())
    }
}

#[must_use = "who was let in is to be told"]
struct LetIn(SmallVec<[oneshot::Sender<()>; 2]>);

impl LetIn {
    fn wake(self) {
        assert_unlocked("somebody is let in");
        for waiter in self.0 {
            // One who has stopped listening notices in `Wait::drop` that it was let in.
            let _ = waiter.send(());
        }
    }
}

impl Monitor {
    /// Waits until `thread` is inside, on behalf of `holder`.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future gives up the place in the line, or leaves again.
    pub(crate) async fn enter(&self, thread: ThreadId, holder: Holder) {
        let state = Arc::clone(self.state());
        let (ticket, let_in) = {
            let mut locked = state.lock();
            match locked.queue.enter(thread, holder) {
                Admission::Entered => return,
                Admission::Waits(ticket) => {
                    let (sender, receiver) = oneshot::channel();
                    locked.waiting.insert(ticket, sender);
                    (ticket, receiver)
                }
            }
        };
        let mut wait = Wait { state, ticket, thread, holder, over: false };
        // The sender stays in the line until it sends: whoever waits for a session that ends is a
        // handler, and is cancelled with it.
        let _ = let_in.await;
        wait.over = true;
    }

    pub(crate) fn exit(&self, thread: ThreadId, holder: Holder) -> Result<(), NotHeld> {
        let Some(state) = self.0.get() else { return Err(NotHeld) };
        let mut state = state.lock();
        let granted = state.queue.exit(thread, holder)?;
        let let_in = state.let_in(granted);
        drop(state);
        let_in.wake();
        Ok(())
    }

    pub(crate) fn holder_gone(&self, holder: Holder) {
        let Some(state) = self.0.get() else { return };
        let mut state = state.lock();
        let granted = state.queue.holder_gone(holder);
        let let_in = state.let_in(granted);
        drop(state);
        let_in.wake();
    }

    fn state(&self) -> &Arc<Mutex<State>> {
        self.0.get_or_init(Default::default)
    }
}

impl Clone for Monitor {
    /// The same monitor, not another one.
    fn clone(&self) -> Self {
        Self(OnceLock::from(Arc::clone(self.state())))
    }
}

/// A place in the line; given up when dropped.
struct Wait {
    state: Arc<Mutex<State>>,
    ticket: Ticket,
    thread: ThreadId,
    holder: Holder,
    over: bool,
}

impl Drop for Wait {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        let mut state = self.state.lock();
        state.waiting.remove(&self.ticket);
        if !state.queue.abandon(self.ticket) {
            // It was let in while it was being dropped. A dead holder holds nothing to leave.
            if let Ok(granted) = state.queue.exit(self.thread, self.holder) {
                let let_in = state.let_in(granted);
                drop(state);
                let_in.wake();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::{Future, poll_fn};
    use std::pin::pin;
    use std::task::Poll;

    fn thread(number: u64) -> ThreadId {
        ThreadId::from_parts(9, number)
    }

    /// Polls once, so that the place in the line is taken.
    async fn is_pending<F: Future>(future: std::pin::Pin<&mut F>) -> bool {
        let mut future = future;
        poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_pending())).await
    }

    #[tokio::test]
    async fn the_next_in_line_is_woken_by_the_exit() {
        let monitor = Monitor::default();
        monitor.enter(thread(1), Holder::Local).await;
        let mut second = pin!(monitor.enter(thread(2), Holder::Local));
        assert!(is_pending(second.as_mut()).await);
        monitor.exit(thread(1), Holder::Local).expect("it is held");
        second.await;
        monitor.exit(thread(2), Holder::Local).expect("it is held");
    }

    #[tokio::test]
    async fn an_enter_that_is_dropped_after_it_was_let_in_leaves_again() {
        let monitor = Monitor::default();
        monitor.enter(thread(1), Holder::Local).await;
        {
            let mut second = pin!(monitor.enter(thread(2), Holder::Session(5)));
            assert!(is_pending(second.as_mut()).await);
            monitor.exit(thread(1), Holder::Local).expect("it is held");
        }
        monitor.enter(thread(3), Holder::Local).await;
    }

    #[tokio::test]
    async fn a_second_export_shares_the_monitor() {
        let monitor = Monitor::default();
        let same = monitor.clone();
        monitor.enter(thread(1), Holder::Local).await;
        same.exit(thread(1), Holder::Local).expect("it is the same monitor");
    }
}
