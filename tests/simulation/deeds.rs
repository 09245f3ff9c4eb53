//! What the processes of a world do with references, and what is expected of it.

use std::sync::Arc;
use std::time::Duration;

use rmi::{Error, ErrorKind, Executed, Node, Result};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use crate::interface::{Hands, HandsRef, Kept, Object, Thing, ThingRef, hands_at};
use crate::network::Place;
use crate::oracle::{Life, Oracle};
use crate::process::Process;
use crate::random::Random;

/// So many references are held by one process before it lets go of some.
const HELD_MAX: usize = 6;

#[derive(Clone, Debug)]
pub(crate) enum Deed {
    Export,
    Call(Arc<Kept>),
    CallOther(Arc<Kept>, Arc<Kept>),
    Note(Arc<Kept>),
    /// Hands a reference over, and keeps it.
    Pass(Arc<Kept>, Place),
    /// Lets go of the reference while it is under way.
    HandOver(Arc<Kept>, Place),
    /// Without waiting for an answer.
    Throw(Arc<Kept>, Place),
    /// By the hands of another.
    Forward(Arc<Kept>, Place, Place),
    /// Asks for a reference.
    Fetch(Place, usize),
    Drop(usize),
    /// Begins to pass one on, and gives up after a while.
    Cancel(Arc<Kept>, Place, Duration),
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "o{}", self.object)
    }
}

impl Deed {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Deed::Export => "exports",
            Deed::Call(_) => "calls",
            Deed::CallOther(..) => "nested calls",
            Deed::Note(_) => "one-way calls",
            Deed::Pass(..) => "passed",
            Deed::HandOver(..) => "handed over",
            Deed::Throw(..) => "thrown",
            Deed::Forward(..) => "forwarded",
            Deed::Fetch(..) => "fetched",
            Deed::Drop(_) => "dropped",
            Deed::Cancel(..) => "cancelled",
        }
    }
}

pub(crate) fn choose(random: &mut Random, process: &Process, places: usize) -> Deed {
    let held = process.held();
    let other = |random: &mut Random| (process.place() + 1 + random.below(places - 1)) % places;
    let Some(kept) = random.pick(&held).cloned() else {
        return if random.once_in(2) {
            Deed::Export
        } else {
            Deed::Fetch(other(random), random.below(8))
        };
    };
    if held.len() > HELD_MAX {
        return Deed::Drop(random.below(held.len()));
    }
    match random.below(14) {
        0 => Deed::Export,
        1..3 => Deed::Call(kept),
        3 => Deed::CallOther(kept, random.pick(&held).cloned().expect("there is one")),
        4 => Deed::Note(kept),
        5..7 => Deed::Pass(kept, other(random)),
        7 => Deed::HandOver(kept, other(random)),
        8 => Deed::Throw(kept, other(random)),
        9 => Deed::Forward(kept, other(random), random.below(places)),
        10 => Deed::Fetch(other(random), random.below(8)),
        11..13 => Deed::Drop(random.below(held.len())),
        _ => Deed::Cancel(kept, other(random), random.millis(60)),
    }
}

/// Who does it, and what is known of the world around.
#[derive(Clone)]
pub(crate) struct Doing {
    life: Life,
    node: Node,
    store: crate::interface::Store,
    oracle: Arc<Oracle>,
    /// Nothing goes wrong that a call would notice.
    is_calm: bool,
    calls_twice: bool,
}

impl Doing {
    pub(crate) fn new(
        process: &Process,
        oracle: &Arc<Oracle>,
        is_calm: bool,
        calls_twice: bool,
    ) -> Self {
        let (node, store) = (process.node(), Arc::clone(&process.store));
        Self { life: process.life, node, store, oracle: Arc::clone(oracle), is_calm, calls_twice }
    }

    /// Those that take no time are done at once.
    pub(crate) fn start(self, deed: Deed, process: &Process) -> Option<JoinHandle<()>> {
        self.oracle.trace.note(format_args!("{}: {deed:?}", self.life));
        match deed {
            Deed::Export => {
                let serial = self.oracle.exported(self.life);
                let thing: ThingRef = self.node.export(Object::new(serial, &self.oracle));
                self.keep(serial, (Instant::now(), false), thing);
                None
            }
            Deed::Drop(at) => {
                let dropped = self.store.lock().swap_remove(at);
                drop(dropped);
                None
            }
            later @ (Deed::Call(_)
            | Deed::CallOther(..)
            | Deed::Note(_)
            | Deed::Pass(..)
            | Deed::HandOver(..)
            | Deed::Throw(..)
            | Deed::Forward(..)
            | Deed::Fetch(..)
            | Deed::Cancel(..)) => Some(process.spawn(async move { self.carry_out(later).await })),
        }
    }

    fn keep(&self, object: u64, sent: (Instant, bool), thing: ThingRef) {
        let kept = Kept::new(&self.oracle, self.life, object, sent, thing);
        self.store.lock().push(Arc::new(kept));
    }

    async fn carry_out(self, deed: Deed) {
        let shown = format!("{deed:?}");
        let done = match deed {
            Deed::Export | Deed::Drop(_) => Ok(()),
            Deed::Call(kept) => self.call(&kept).await,
            Deed::CallOther(kept, other) => self.call_other(&kept, &other).await,
            Deed::Note(kept) => {
                let number = {
                    let mut notes = kept.notes.lock();
                    *notes += 1;
                    *notes
                };
                kept.thing.note(kept.claim, number).await
            }
            Deed::Pass(kept, to) => self.pass(&kept, to).await,
            Deed::HandOver(kept, to) => self.hand_over(kept, to).await,
            Deed::Throw(kept, to) => self.throw(kept, to).await,
            Deed::Forward(kept, by, to) => self.forward(&kept, by, to).await,
            Deed::Fetch(from, at) => self.fetch(from, at).await,
            Deed::Cancel(kept, to, after) => {
                timeout(after, self.pass(&kept, to)).await.unwrap_or(Ok(()))
            }
        };
        if let Err(error) = done {
            self.oracle.trace.note(format_args!("{}: {shown} fails: {error}", self.life));
            self.oracle.trace.note(format_args!("{}", self.node.gc().snapshot()));
            if self.is_calm {
                self.oracle
                    .violated(format!("{}: {shown} fails, and all was well: {error}", self.life));
            }
        }
    }

    async fn hands(&self, at: Place) -> Result<HandsRef> {
        self.node.lookup(hands_at(at)).await
    }

    async fn call(&self, kept: &Kept) -> Result<()> {
        let call = self.oracle.calls();
        if self.calls_twice {
            let _ = kept.thing.touch(call).await;
        }
        let touched = kept.thing.touch(call).await;
        if let Some(serial) = touched.as_ref().ok().filter(|serial| **serial != kept.object) {
            let object = kept.object;
            self.oracle
                .violated(format!("S2: {} called o{object} and reached o{serial}", self.life));
        }
        self.account(call, &touched);
        touched.map(drop)
    }

    fn account<T>(&self, call: u64, result: &Result<T>) {
        match result {
            Ok(_) => self.oracle.came_back(call),
            Err(error) if error.executed() == Executed::No => self.oracle.never_ran(call),
            Err(_) => {}
        }
    }

    async fn call_other(&self, kept: &Kept, other: &Kept) -> Result<()> {
        let (outer, inner) = (self.oracle.calls(), self.oracle.calls());
        let touched = kept.thing.touch_other(outer, other.thing.clone(), inner).await;
        // An error may be the inner one's, and tells nothing of the outer.
        if let Ok(serials) = &touched {
            self.oracle.came_back(outer);
            self.oracle.came_back(inner);
            if *serials != (kept.object, other.object) {
                self.oracle.violated(format!("S2: {serials:?} were reached for {kept:?}"));
            }
        }
        touched.map(drop)
    }

    /// The reference is under way from here on: nobody else has to hold it.
    fn takes_off(&self, kept: &Kept, to: Place) -> u64 {
        let is_excused = self.oracle.may_have_lost(kept.claim);
        self.oracle.takes_off(kept.object, self.life, self.oracle.present(to), is_excused)
    }

    async fn pass(&self, kept: &Kept, to: Place) -> Result<()> {
        let hands = self.hands(to).await?;
        let flight = self.takes_off(kept, to);
        let _landed = Landing { oracle: &self.oracle, flight };
        hands.take(flight, kept.object, kept.thing.clone()).await
    }

    async fn hand_over(&self, kept: Arc<Kept>, to: Place) -> Result<()> {
        let hands = self.hands(to).await?;
        let flight = self.takes_off(&kept, to);
        let _landed = Landing { oracle: &self.oracle, flight };
        let (object, thing) = (kept.object, kept.thing.clone());
        let claim = kept.claim;
        self.store.lock().retain(|other| other.claim != claim);
        drop(kept);
        hands.take(flight, object, thing).await
    }

    async fn throw(&self, kept: Arc<Kept>, to: Place) -> Result<()> {
        let hands = self.hands(to).await?;
        let flight = self.takes_off(&kept, to);
        let thrown = hands.catch(flight, kept.object, kept.thing.clone()).await;
        if thrown.is_err() {
            self.oracle.lets_go(flight);
        }
        thrown
    }

    async fn forward(&self, kept: &Kept, by: Place, to: Place) -> Result<()> {
        self.hands(by).await?.forward(kept.object, kept.thing.clone(), to).await
    }

    async fn fetch(&self, from: Place, at: usize) -> Result<()> {
        let asked = Instant::now();
        let shown = self.hands(from).await?.show(at).await?;
        if let Some((object, is_excused, thing)) = shown {
            self.keep(object, (asked, is_excused), thing);
        }
        Ok(())
    }
}

/// However the call ends, its reference is no longer under way.
struct Landing<'a> {
    oracle: &'a Oracle,
    flight: u64,
}

impl Drop for Landing<'_> {
    fn drop(&mut self) {
        self.oracle.lets_go(self.flight);
    }
}

/// Everything that cannot have been lost can be called, now that all is well; the rest says so.
pub(crate) async fn call_all_that_is_held(process: &Process, oracle: &Arc<Oracle>) {
    for kept in process.held() {
        let call = oracle.calls();
        let may_be_lost = oracle.may_have_lost(kept.claim);
        let limit = Duration::from_secs(60);
        let what = format!("{} calls {kept:?} of {}", process.life, oracle.home_of(kept.object));
        match timeout(limit, kept.thing.touch(call)).await {
            Ok(Ok(serial)) if serial == kept.object => oracle.came_back(call),
            Ok(Ok(serial)) => oracle.violated(format!("S2: {what} and reaches o{serial}")),
            Ok(Err(error)) if may_be_lost && is_definite(&error) => {}
            Ok(Err(error)) => oracle.violated(format!("S1, S2: {what}: {error}")),
            Err(_) => oracle.violated(format!("L2: {what}, and it never ends")),
        }
    }
}

/// The holder is told.
fn is_definite(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::NoSuchObject | ErrorKind::Disconnected | ErrorKind::Unreachable
    )
}

/// A planted fault: the reference goes, and its holder goes on believing in it.
pub(crate) fn drop_behind_the_oracles_back(process: &Process, oracle: &Oracle) {
    let taken = process.store.lock().pop();
    if let Some(kept) = taken {
        oracle.holds(kept.object, process.life, Instant::now(), false);
    }
}
