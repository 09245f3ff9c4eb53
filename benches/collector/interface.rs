//! What is handed off, and by what.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use rmi::{Result, remote};

/// What references lead to.
#[remote]
pub(crate) trait Thing {
    async fn touch(&self) -> Result<()>;
}

/// By which a node takes a reference.
#[remote]
pub(crate) trait Hands {
    async fn take(&self, thing: ThingRef) -> Result<()>;
    /// Calls what it holds, through the reference that it has.
    async fn touch(&self) -> Result<()>;
    async fn let_go(&self) -> Result<()>;
    /// Passes what it holds on to others, one after the other.
    async fn pass_on(&self, to: Vec<HandsRef>) -> Result<()>;
}

/// A home that gives away objects by the thousand.
#[remote]
pub(crate) trait Stock {
    async fn fetch(&self, count: usize) -> Result<Vec<ThingRef>>;
    /// How many of them have not been dropped.
    async fn left(&self) -> Result<usize>;
    /// Bytes that the process has allocated, and that it occupies.
    async fn bytes(&self) -> Result<(usize, usize)>;
}

/// Counts how many there are.
#[derive(Default)]
pub(crate) struct Cup(Arc<AtomicUsize>);

impl Cup {
    pub(crate) fn counted(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for Cup {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Thing for Cup {
    async fn touch(&self) -> Result<()> {
        Ok(())
    }
}

#[derive(Default)]
pub(crate) struct Grasping(Mutex<Option<ThingRef>>);

impl Grasping {
    fn held(&self) -> Option<ThingRef> {
        self.0.lock().clone()
    }
}

impl Hands for Grasping {
    async fn take(&self, thing: ThingRef) -> Result<()> {
        let before = self.0.lock().replace(thing);
        drop(before);
        Ok(())
    }
    async fn touch(&self) -> Result<()> {
        match self.held() {
            Some(thing) => thing.touch().await,
            None => Ok(()),
        }
    }
    async fn let_go(&self) -> Result<()> {
        let held = self.0.lock().take();
        drop(held);
        Ok(())
    }
    async fn pass_on(&self, to: Vec<HandsRef>) -> Result<()> {
        if let Some(thing) = self.held() {
            for hands in to {
                hands.take(thing.clone()).await?;
            }
        }
        Ok(())
    }
}
