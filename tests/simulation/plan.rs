//! What kind of world a seed stands for.

use std::time::Duration;

use rmi::gc::{BridgeInit, Policy};

use crate::random::Random;

/// What may go wrong in a world.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Weather {
    /// Nothing: every call succeeds.
    Calm,
    /// Connections are cut, and nobody notices.
    Cuts,
    /// Nodes crash, start again, and leave: no live holder loses anything.
    Crashes,
    /// Cuts, partitions, one-way losses and suspended processes.
    Outages,
    /// All of it.
    Everything,
}

pub(crate) const WEATHERS: [Weather; 5] =
    [Weather::Calm, Weather::Cuts, Weather::Crashes, Weather::Outages, Weather::Everything];

/// A fault of the world or of the oracle's witnesses, planted to see it found.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Planted {
    /// A reference is dropped, and its holder goes on believing in it.
    HeldInVain,
    /// A reference is kept that nobody knows of.
    Leaked,
    /// A call is made twice.
    MadeTwice,
}

#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) weather: Weather,
    pub(crate) places: usize,
    pub(crate) steps: usize,
    pub(crate) policy: Policy,
    pub(crate) bridges: BridgeInit,
    pub(crate) depth_max: u8,
    pub(crate) heartbeat: Duration,
    pub(crate) detection: Duration,
    pub(crate) lease: Duration,
    pub(crate) grace: Duration,
    /// Of each place's clock, in tenths of a per cent, -10 to 10.
    pub(crate) skews: Vec<i32>,
    pub(crate) planted: Option<Planted>,
}

impl Plan {
    pub(crate) fn of(seed: u64) -> Plan {
        let mut random = Random::new(seed);
        let weather = *random.pick(&WEATHERS).expect("there is some");
        let places = 3 + random.below(3);
        let policies = [Policy::Adopting, Policy::Adopting, Policy::Hierarchical, Policy::Listing];
        let policy = *random.pick(&policies).expect("there are some");
        let bridges = if random.once_in(4) { BridgeInit::Eager } else { BridgeInit::Lazy };
        let depth_max = 2 + u8::try_from(random.below(3)).expect("a small number");
        // A connection that is cut while it is made again costs time: one cut after another is
        // survived only within the lease.
        let lease = if weather == Weather::Cuts { 1_000 } else { 100 };
        let [heartbeat, detection, lease] = [60, 200, lease].map(Duration::from_millis);
        Plan {
            seed,
            weather,
            places,
            steps: 40 + random.below(60),
            policy,
            bridges,
            depth_max,
            heartbeat,
            detection,
            lease,
            grace: grace(depth_max, detection, lease),
            skews: (0..places).map(|_| random.below(21) as i32 - 10).collect(),
            planted: None,
        }
    }

    /// By how much the clock of a place is fast or slow: all that its node waits for, it waits for
    /// so much longer. Virtual time is one for all, so that it is the waiting that is skewed.
    pub(crate) fn skew(&self, place: usize) -> f64 {
        1.0 + f64::from(self.skews[place]) / 1000.0
    }

    /// All sessions and estates of the dead are over after so long.
    pub(crate) fn all_over(&self) -> Duration {
        (self.detection + self.lease + self.grace) * 2
    }
}

/// Rule 16, and a fifth for clocks that differ.
fn grace(depth_max: u8, detection: Duration, lease: Duration) -> Duration {
    let adoption = detection * 2 / 3;
    (detection + lease + adoption) * u32::from(depth_max - 1) * 12 / 10 + Duration::from_millis(20)
}
