//! All tasks of one node's process: they run, stand still, or are no more.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;
use rmi::transport::BoxFuture;

/// Where every task of a process has to pass.
#[derive(Default)]
pub(crate) struct Gate(Mutex<State>);

#[derive(Default)]
struct State {
    phase: Phase,
    next: u64,
    /// Of all tasks that wait, to be told of a change.
    wakers: BTreeMap<u64, Waker>,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Phase {
    #[default]
    Running,
    /// SIGSTOP: nothing is polled, and time goes on.
    Suspended,
    /// kill -9: whatever the tasks were about is dropped.
    Dead,
}

impl Gate {
    pub(crate) fn wrap(self: &Arc<Self>, task: BoxFuture<'static, ()>) -> BoxFuture<'static, ()> {
        let number = {
            let mut state = self.0.lock();
            state.next += 1;
            state.next
        };
        Box::pin(Gated { gate: Arc::clone(self), number, task: Some(task) })
    }

    pub(crate) fn suspend(&self) {
        self.0.lock().phase = Phase::Suspended;
    }

    pub(crate) fn resume(&self) {
        self.change(Phase::Running);
    }

    pub(crate) fn kill(&self) {
        self.change(Phase::Dead);
    }

    pub(crate) fn is_suspended(&self) -> bool {
        self.0.lock().phase == Phase::Suspended
    }

    fn change(&self, phase: Phase) {
        let wakers = {
            let mut state = self.0.lock();
            if state.phase != Phase::Dead {
                state.phase = phase;
            }
            std::mem::take(&mut state.wakers)
        };
        wakers.into_values().for_each(Waker::wake);
    }
}

struct Gated {
    gate: Arc<Gate>,
    number: u64,
    task: Option<BoxFuture<'static, ()>>,
}

impl Future for Gated {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let phase = {
            let mut state = this.gate.0.lock();
            state.wakers.insert(this.number, cx.waker().clone());
            state.phase
        };
        let polled = match (phase, &mut this.task) {
            (Phase::Suspended, Some(_)) => Poll::Pending,
            (Phase::Running, Some(task)) => task.as_mut().poll(cx),
            (Phase::Dead, _) | (_, None) => Poll::Ready(()),
        };
        if polled.is_ready() {
            this.task = None;
        }
        polled
    }
}

impl Drop for Gated {
    fn drop(&mut self) {
        self.gate.0.lock().wakers.remove(&self.number);
    }
}
