//! Time as it is handed in, the timings that the promise rests on, and a clock that does not count sleep.

use serde::{Deserialize, Serialize};

/// Milliseconds: a duration, or a moment of a monotonic clock that began anywhere.
#[derive(
    Clone, Copy, Debug, Default, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize,
)]
pub struct Millis(pub u64);

impl Millis {
    /// The moment that much later, or the end of time.
    pub const fn plus(self, duration: Self) -> Self {
        Self(self.0.saturating_add(duration.0))
    }

    /// How long after `earlier` this is; zero if it is not after it.
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

/// The durations on which the promise to live holders rests.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
pub struct Timings {
    /// In which a dead connection is noticed.
    pub detection: Millis,
    /// For which a session may lack a connection before the peer is given up.
    pub lease: Millis,
    /// In which the home answers an adoption, a new connection to it included.
    pub adoption: Millis,
    /// For which the share of a peer that was given up is kept.
    pub grace: Millis,
    /// Hops to the home at which a bridge passes on only after its adoption.
    pub depth_max: u8,
}

impl Timings {
    /// Whether the grace is long enough (rule 16): if the top of a chain dies, each live orphan is adopted in time, even if
    /// the next ones die too.
    pub const fn keep_the_promise(&self) -> bool {
        self.depth_max > 0 && self.grace.0 >= self.grace_min().0
    }

    /// The shortest grace that rule 16 allows: a chance to notice, to give up and to be adopted for each hop of the
    /// longest chain, and a tenth on top for clocks that differ.
    pub const fn grace_min(&self) -> Millis {
        let hop = self.detection.plus(self.lease).plus(self.adoption);
        let hops = (self.depth_max as u64).saturating_sub(1);
        let chain = hop.0.saturating_mul(hops);
        Millis(chain.saturating_add(chain / 10))
    }
}

impl Default for Timings {
    /// Detection 6 s, lease 8 s, adoption 4 s, grace 60 s, depth 4.
    fn default() -> Self {
        Self {
            detection: Millis(6_000),
            lease: Millis(8_000),
            adoption: Millis(4_000),
            grace: Millis(60_000),
            depth_max: 4,
        }
    }
}

/// The time that this process was awake (rule 18).
///
/// All deadlines are moments of this clock. It does not count a gap in which the process was suspended: so every deadline moves
/// by the gap, however many there are, and what arrived meanwhile is drained before anything expires.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Clock {
    /// When the next tick is due, in the time that is handed in.
    due: Millis,
    slept: Millis,
}

/// What a tick found.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[must_use = "a process that slept drains what has arrived before it expires anything"]
pub enum Tick {
    /// No sleep was noticed.
    OnTime,
    /// The process slept for longer than the detection time: deadlines have moved. What has arrived is read first.
    Late,
    /// It slept for longer than the grace: besides, its bridges are in doubt ([`Entry::slept`](crate::Entry::slept)).
    Overslept,
}

impl Clock {
    /// A clock whose first tick is due at `due`.
    pub fn new(due: Millis) -> Self {
        Self { due, slept: Millis(0) }
    }

    /// The tick that was due comes at `now`; the next one is due at `next`.
    pub fn tick(&mut self, now: Millis, next: Millis, timings: &Timings) -> Tick {
        let gap = now.since(self.due);
        self.due = next;
        if gap <= timings.detection {
            return Tick::OnTime;
        }
        self.slept = self.slept.plus(gap);
        if gap > timings.grace { Tick::Overslept } else { Tick::Late }
    }

    /// `now`, on the clock of the deadlines. After a sleep, the tick comes first.
    pub fn awake(&self, now: Millis) -> Millis {
        now.since(self.slept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_timings_keep_the_promise_and_shorter_grace_does_not() {
        let timings = Timings::default();
        assert!(timings.keep_the_promise(), "{:?}", timings.grace_min());
        let least = Timings { grace: timings.grace_min(), ..timings };
        assert!(least.keep_the_promise());
        let short = Timings { grace: Millis(least.grace.0 - 1), ..timings };
        assert!(!short.keep_the_promise());
        assert!(!Timings { depth_max: 0, ..timings }.keep_the_promise());
    }

    #[test]
    fn rule_18_a_gap_moves_the_clock_back_and_a_small_delay_does_not() {
        let timings = Timings::default();
        for (name, late, want, awake) in [
            ("on time", 0, Tick::OnTime, 1_000),
            ("within detection", 6_000, Tick::OnTime, 7_000),
            ("past detection", 6_001, Tick::Late, 1_000),
            ("just grace", 60_000, Tick::Late, 1_000),
            ("past grace", 60_001, Tick::Overslept, 1_000),
        ] {
            let mut clock = Clock::new(Millis(1_000));
            let now = Millis(1_000 + late);
            assert_eq!(clock.tick(now, now.plus(Millis(1_000)), &timings), want, "{name}");
            assert_eq!(clock.awake(now), Millis(awake), "{name}");
        }
    }

    #[test]
    fn rule_18_sleeps_add_up() {
        let timings = Timings::default();
        let mut clock = Clock::new(Millis(1_000));
        assert_eq!(clock.tick(Millis(11_000), Millis(12_000), &timings), Tick::Late);
        assert_eq!(clock.tick(Millis(32_000), Millis(33_000), &timings), Tick::Late);
        assert_eq!(clock.awake(Millis(33_000)), Millis(3_000));
    }
}
