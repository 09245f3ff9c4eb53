//! tokio's `Notify` where schedules branch: before each step of it, another thread may run.

use tokio::sync::futures::Notified;

use super::{AtomicBool, Ordering};

/// Tells tasks that something has changed.
#[derive(Default)]
pub struct Notify {
    inner: tokio::sync::Notify,
    branch: AtomicBool,
}

impl Notify {
    /// One that nobody waits for.
    pub fn new() -> Self {
        Self::default()
    }

    fn branch(&self) -> &tokio::sync::Notify {
        self.branch.load(Ordering::Relaxed);
        &self.inner
    }

    /// See tokio's.
    pub fn notified(&self) -> Notified<'_> {
        self.branch().notified()
    }

    /// See tokio's.
    pub fn notify_one(&self) {
        self.branch().notify_one();
    }

    /// See tokio's.
    pub fn notify_waiters(&self) {
        self.branch().notify_waiters();
    }
}
