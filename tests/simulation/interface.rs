//! The objects of a world, and those by which its nodes hand references to each other.

use std::sync::Arc;

use parking_lot::Mutex;
use rmi::{Node, Result, remote};
use tokio::time::Instant;

use crate::oracle::{Life, Oracle};

/// What references lead to.
#[remote]
pub(crate) trait Thing {
    /// Says which object it is.
    async fn touch(&self, call: u64) -> Result<u64>;
    #[remote(oneway)]
    async fn note(&self, caller: u64, number: u64) -> Result<()>;
    /// Calls another object from here.
    async fn touch_other(&self, call: u64, other: ThingRef, inner: u64) -> Result<(u64, u64)>;
}

/// A node's hands.
#[remote]
pub(crate) trait Hands {
    /// Keeps the reference that took off as `flight`.
    async fn take(&self, flight: u64, object: u64, thing: ThingRef) -> Result<()>;
    /// The same, and nobody waits for it.
    #[remote(oneway)]
    async fn catch(&self, flight: u64, object: u64, thing: ThingRef) -> Result<()>;
    /// Gives away what it holds there, if it is anything, and keeps it.
    async fn show(&self, at: usize) -> Result<Option<(u64, bool, ThingRef)>>;
    /// Takes nothing: passes the reference on to the hands of another.
    async fn forward(&self, object: u64, thing: ThingRef, to: usize) -> Result<()>;
}

/// A reference that is held, as the oracle knows.
pub(crate) struct Kept {
    pub(crate) object: u64,
    pub(crate) claim: u64,
    pub(crate) thing: ThingRef,
    /// One-way calls by this one so far.
    pub(crate) notes: Mutex<u64>,
    oracle: Arc<Oracle>,
}

impl Kept {
    pub(crate) fn new(
        oracle: &Arc<Oracle>,
        by: Life,
        object: u64,
        (since, is_excused): (Instant, bool),
        thing: ThingRef,
    ) -> Self {
        let claim = oracle.holds(object, by, since, is_excused);
        Self { object, claim, thing, notes: Mutex::default(), oracle: Arc::clone(oracle) }
    }
}

impl Drop for Kept {
    /// Before the reference itself goes.
    fn drop(&mut self) {
        self.oracle.lets_go(self.claim);
    }
}

/// The node of a process, for as long as it lives.
pub(crate) type Slot = Arc<Mutex<Option<Node>>>;

/// Where the hands of the node at `place` are.
pub(crate) fn hands_at(place: usize) -> String {
    format!("sim://{place}/hands")
}

/// What one node holds.
pub(crate) type Store = Arc<Mutex<Vec<Arc<Kept>>>>;

pub(crate) struct Object {
    serial: u64,
    oracle: Arc<Oracle>,
}

impl Object {
    pub(crate) fn new(serial: u64, oracle: &Arc<Oracle>) -> Self {
        Self { serial, oracle: Arc::clone(oracle) }
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        self.oracle.dropped(self.serial);
    }
}

impl Thing for Object {
    async fn touch(&self, call: u64) -> Result<u64> {
        self.oracle.ran(call);
        Ok(self.serial)
    }
    async fn note(&self, caller: u64, number: u64) -> Result<()> {
        self.oracle.noted(caller, self.serial, number);
        Ok(())
    }
    async fn touch_other(&self, call: u64, other: ThingRef, inner: u64) -> Result<(u64, u64)> {
        self.oracle.ran(call);
        Ok((self.serial, other.touch(inner).await?))
    }
}

pub(crate) struct Grasping {
    pub(crate) life: Life,
    pub(crate) node: Slot,
    pub(crate) store: Store,
    pub(crate) oracle: Arc<Oracle>,
}

impl Grasping {
    fn keep(&self, flight: u64, object: u64, thing: ThingRef) {
        // Nobody knows any more when one was sent whose sender has given up.
        let sent = self.oracle.flight(flight).unwrap_or((Instant::now(), true));
        let kept = Kept::new(&self.oracle, self.life, object, sent, thing);
        self.oracle.lets_go(flight);
        self.oracle.trace.note(format_args!("{} takes o{object}", self.life));
        self.store.lock().push(Arc::new(kept));
    }
}

impl Hands for Grasping {
    async fn take(&self, flight: u64, object: u64, thing: ThingRef) -> Result<()> {
        self.keep(flight, object, thing);
        Ok(())
    }
    async fn catch(&self, flight: u64, object: u64, thing: ThingRef) -> Result<()> {
        self.keep(flight, object, thing);
        Ok(())
    }
    async fn show(&self, at: usize) -> Result<Option<(u64, bool, ThingRef)>> {
        let store = self.store.lock();
        let shown = (!store.is_empty()).then(|| &store[at % store.len()]);
        Ok(shown
            .map(|kept| (kept.object, self.oracle.may_have_lost(kept.claim), kept.thing.clone())))
    }
    async fn forward(&self, object: u64, thing: ThingRef, to: usize) -> Result<()> {
        let Some(node) = self.node.lock().clone() else { return Ok(()) };
        let hands: HandsRef = node.lookup(hands_at(to)).await?;
        let to = self.oracle.present(to);
        // Whoever sent it may have lost it already.
        let flight = self.oracle.takes_off(object, self.life, to, true);
        hands.take(flight, object, thing).await
    }
}
