//! What is true in a world: which objects live, who holds them, what ran. It sees all nodes at
//! once, and is told by the objects and by the holders themselves, never by the system under test.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::network::Place;
use crate::outages::Outages;
use crate::trace::Trace;

/// One incarnation of a node: where, and the how-manieth there.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Life {
    pub(crate) place: Place,
    pub(crate) generation: u32,
}

impl fmt::Display for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = char::from(b'A' + u8::try_from(self.place).expect("few places"));
        write!(f, "{letter}")?;
        (0..self.generation).try_for_each(|_| write!(f, "'"))
    }
}

#[derive(Clone, Copy)]
struct Object {
    home: Life,
    drops: u32,
}

/// A reference that somebody holds, or that is under way.
#[derive(Clone, Copy)]
struct Claim {
    object: u64,
    /// All of them have to live for the claim to count.
    by: [Life; 2],
    since: Instant,
    /// Its giver was excused: what it gave may have been lost already.
    is_excused: bool,
    is_flight: bool,
}

#[derive(Clone, Copy, Default)]
struct Call {
    runs: u32,
    never: bool,
    done: bool,
}

pub(crate) struct Oracle {
    pub(crate) trace: Trace,
    pub(crate) outages: Outages,
    /// A holder that was cut off from the home for so long in all may have lost its references.
    excused_after: Duration,
    truth: Mutex<Truth>,
}

#[derive(Default)]
struct Truth {
    alive: BTreeMap<Life, bool>,
    objects: BTreeMap<u64, Object>,
    claims: BTreeMap<u64, Claim>,
    calls: BTreeMap<u64, Call>,
    /// The last one-way call of each caller that ran, by (caller, object).
    last_notes: BTreeMap<(u64, u64), u64>,
    next: u64,
    violations: Vec<String>,
}

impl Truth {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn lives(&self, life: Life) -> bool {
        self.alive.get(&life).copied().unwrap_or(false)
    }
}

impl Oracle {
    pub(crate) fn new(keeps_trace: bool, excused_after: Duration) -> Arc<Self> {
        let (outages, truth) = (Outages::default(), Mutex::default());
        Arc::new(Self { trace: Trace::new(keeps_trace), outages, excused_after, truth })
    }

    pub(crate) fn violated(&self, what: String) {
        self.trace.note(format_args!("VIOLATION: {what}"));
        self.truth.lock().violations.push(what);
    }

    pub(crate) fn violations(&self) -> Vec<String> {
        self.truth.lock().violations.clone()
    }

    pub(crate) fn begins(&self, life: Life) {
        self.truth.lock().alive.insert(life, true);
    }

    pub(crate) fn ends(&self, life: Life) {
        self.truth.lock().alive.insert(life, false);
    }

    /// The last incarnation at `place`.
    pub(crate) fn present(&self, place: Place) -> Life {
        let first = Life { place, generation: 0 };
        let end = Life { place: place + 1, generation: 0 };
        let truth = self.truth.lock();
        truth.alive.range(first..end).next_back().map_or(first, |(life, _)| *life)
    }

    pub(crate) fn exported(&self, home: Life) -> u64 {
        let mut truth = self.truth.lock();
        let serial = truth.number();
        truth.objects.insert(serial, Object { home, drops: 0 });
        drop(truth);
        self.trace.note(format_args!("{home} exports o{serial}"));
        serial
    }

    /// The object's own `Drop`: S1, S2, and half of L1.
    pub(crate) fn dropped(&self, serial: u64) {
        let mut truth = self.truth.lock();
        let Some(object) = truth.objects.get_mut(&serial) else { return };
        object.drops += 1;
        let Object { home, drops } = *object;
        // Whatever dies with its home is no reference's loss.
        if !truth.lives(home) {
            return;
        }
        let claims: Vec<Claim> =
            truth.claims.values().filter(|claim| claim.object == serial).copied().collect();
        let alive = |claim: &&Claim| claim.by.iter().all(|life| truth.lives(*life));
        let held: Vec<String> = claims
            .iter()
            .filter(alive)
            .filter(|claim| !self.is_excused(claim, home.place))
            .map(|claim| {
                let [by, to] = claim.by;
                let (at, held) = (claim.since, if claim.is_flight { "under way" } else { "held" });
                format!("{held} by {by}/{to} for {:?}", at.elapsed())
            })
            .collect();
        drop(truth);
        self.trace.note(format_args!("o{serial} is dropped at {home}"));
        if drops > 1 {
            self.violated(format!("o{serial} was dropped {drops} times"));
        }
        if !held.is_empty() {
            self.violated(format!("S1, S2: o{serial} of {home} was freed while {held:?}"));
        }
    }

    fn is_excused(&self, claim: &Claim, home: Place) -> bool {
        let Claim { by, since, is_excused, is_flight, .. } = *claim;
        let cut_off = |life: &Life| self.outages.cut_off(life.place, home, since);
        // A short outage between the two ends of a hand-over may end their session.
        let allowed = if is_flight { Duration::ZERO } else { self.excused_after };
        let between = self.outages.cut_off(by[0].place, by[1].place, since);
        is_excused
            || by.iter().any(|life| cut_off(life) > allowed)
            || (is_flight && !between.is_zero())
    }

    /// Whether what `claim` stands for may have been lost by now.
    pub(crate) fn may_have_lost(&self, claim: u64) -> bool {
        let truth = self.truth.lock();
        let Some(claim) = truth.claims.get(&claim) else { return true };
        let home = truth.objects[&claim.object].home;
        !truth.lives(home) || self.is_excused(claim, home.place)
    }

    /// A holder has the object from now on.
    ///
    /// It was sent to it at `since`: a node that stands still takes it later.
    pub(crate) fn holds(&self, object: u64, by: Life, since: Instant, is_excused: bool) -> u64 {
        self.claim(object, [by, by], since, is_excused, false)
    }

    /// A reference leaves one node for another, and is held by neither until it lands.
    pub(crate) fn takes_off(&self, object: u64, from: Life, to: Life, is_excused: bool) -> u64 {
        self.claim(object, [from, to], Instant::now(), is_excused, true)
    }

    fn claim(
        &self,
        object: u64,
        by: [Life; 2],
        since: Instant,
        is_excused: bool,
        is_flight: bool,
    ) -> u64 {
        let mut truth = self.truth.lock();
        let number = truth.number();
        truth.claims.insert(number, Claim { object, by, since, is_excused, is_flight });
        number
    }

    /// A flight has landed, or failed, or a holder lets go.
    pub(crate) fn lets_go(&self, claim: u64) {
        self.truth.lock().claims.remove(&claim);
    }

    /// Since when a reference has been under way, and whether it may have been lost; nothing if
    /// nobody waits for it any more.
    pub(crate) fn flight(&self, claim: u64) -> Option<(Instant, bool)> {
        let truth = self.truth.lock();
        let claim = truth.claims.get(&claim)?;
        let home = truth.objects[&claim.object].home;
        Some((claim.since, self.is_excused(claim, home.place)))
    }

    pub(crate) fn home_of(&self, object: u64) -> Life {
        self.truth.lock().objects[&object].home
    }

    /// A call is about to be made.
    pub(crate) fn calls(&self) -> u64 {
        let mut truth = self.truth.lock();
        let call = truth.number();
        truth.calls.insert(call, Call::default());
        call
    }

    /// The method runs.
    pub(crate) fn ran(&self, call: u64) {
        let mut truth = self.truth.lock();
        let state = truth.calls.entry(call).or_default();
        state.runs += 1;
        let Call { runs, never, .. } = *state;
        drop(truth);
        if runs > 1 || never {
            self.violated(format!("call {call} ran {runs} times, never promised: {never}"));
        }
    }

    /// The one-way call `number` of a caller runs.
    pub(crate) fn noted(&self, caller: u64, object: u64, number: u64) {
        let last = self.truth.lock().last_notes.insert((caller, object), number).unwrap_or(0);
        if last >= number {
            self.violated(format!("one-way call {number} of {caller} ran behind {last}"));
        }
    }

    /// The call came back with a result: it ran, once.
    pub(crate) fn came_back(&self, call: u64) {
        let mut truth = self.truth.lock();
        let state = truth.calls.entry(call).or_default();
        state.done = true;
        let runs = state.runs;
        drop(truth);
        if runs != 1 {
            self.violated(format!("call {call} came back, and ran {runs} times"));
        }
    }

    /// The call failed, and certainly did not and will not run.
    pub(crate) fn never_ran(&self, call: u64) {
        let mut truth = self.truth.lock();
        let state = truth.calls.entry(call).or_default();
        state.never = true;
        let runs = state.runs;
        drop(truth);
        if runs > 0 {
            self.violated(format!("call {call} ran, and is said not to have"));
        }
    }

    /// L1: every object of a home that lives was dropped, once.
    pub(crate) fn not_dropped(&self) -> Vec<u64> {
        let truth = self.truth.lock();
        let left = truth.objects.iter().filter(|(_, o)| truth.lives(o.home) && o.drops == 0);
        left.map(|(serial, _)| *serial).collect()
    }
}
