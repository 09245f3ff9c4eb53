//! How long things may take before a node draws its conclusions.

use std::time::Duration;

use rmi_gc::Millis;

use crate::error::{Error, ErrorKind, Result};

const HEARTBEAT: Duration = Duration::from_secs(2);
const DETECTION: Duration = Duration::from_secs(6);
const LEASE: Duration = Duration::from_secs(8);
const GRACE_LEAST: Duration = Duration::from_secs(60);
const DEPTH_MAX: u8 = 4;
const DEPTH_LEAST: u8 = 2;

/// What a builder was told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wishes {
    pub(super) heartbeat: Option<Duration>,
    pub(super) detection: Option<Duration>,
    pub(super) lease: Duration,
    pub(super) grace: Option<Duration>,
    pub(super) depth_max: u8,
}

impl Default for Wishes {
    fn default() -> Self {
        Self { heartbeat: None, detection: None, lease: LEASE, grace: None, depth_max: DEPTH_MAX }
    }
}

/// The durations on which the promise to live holders rests (`gc.md`, rule 16).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timings {
    /// An idle connection is not silent for longer.
    pub(crate) heartbeat: Duration,
    /// In which a dead connection is noticed.
    pub(crate) detection: Duration,
    /// For which a session may lack a connection.
    pub(crate) lease: Duration,
    /// For which what a given-up peer held is kept.
    pub(crate) grace: Duration,
    /// Hops to the home at which a reference is passed on only after its adoption.
    pub(crate) depth_max: u8,
}

impl Timings {
    /// What was left open is filled in: a third of the detection time for the heartbeat, and as
    /// much grace as rule 16 asks for, 60 s at least.
    ///
    /// # Errors
    ///
    /// `LimitReached`: they do not keep the promise, or make no sense; the text says which, and
    /// what would do.
    pub(super) fn new(wishes: Wishes) -> Result<Self> {
        let Wishes { heartbeat, detection, lease, grace, depth_max } = wishes;
        let wrong = |text: String| Err(Error::new(ErrorKind::LimitReached, text));
        let detection = detection.unwrap_or_else(|| heartbeat.map_or(DETECTION, |beat| beat * 3));
        let heartbeat = heartbeat.unwrap_or_else(|| HEARTBEAT.min(detection / 3));
        if heartbeat.is_zero() || detection < heartbeat * 2 {
            return wrong(format!(
                "detection is {detection:?}, and has to be at least two heartbeats of {heartbeat:?}"
            ));
        }
        if lease.is_zero() {
            return wrong("a lease has to be more than nothing".to_owned());
        }
        if depth_max < DEPTH_LEAST {
            return wrong(format!(
                "depth_max is {depth_max}, and has to be at least {DEPTH_LEAST}: otherwise only a home \
                 could pass references on"
            ));
        }
        let timings = Self { heartbeat, detection, lease, grace: Duration::ZERO, depth_max };
        let least = timings.of_collector().grace_min();
        let least = Duration::from_millis(least.0);
        let grace = grace.unwrap_or_else(|| GRACE_LEAST.max(least));
        if grace < least {
            return wrong(format!(
                "grace is {grace:?}, and has to be at least {least:?} for a detection of \
                 {detection:?}, a lease of {lease:?} and a depth of {depth_max} (gc.md, rule 16)"
            ));
        }
        Ok(Self { grace, ..timings })
    }

    /// In which a home answers an adoption, a new connection to it included.
    pub(crate) fn adoption(&self) -> Duration {
        self.detection * 2 / 3
    }

    /// How long a call waits at most for a reference in it to be passed on.
    pub(crate) fn patience(&self) -> Duration {
        self.detection + self.lease + self.adoption()
    }

    pub(crate) fn of_sessions(&self) -> rmi_transport::Timings {
        let Self { heartbeat, detection, lease, .. } = *self;
        rmi_transport::Timings { heartbeat, detection, lease }
    }

    pub(crate) fn of_collector(&self) -> rmi_gc::Timings {
        rmi_gc::Timings {
            detection: millis(self.detection),
            lease: millis(self.lease),
            adoption: millis(self.adoption()),
            grace: millis(self.grace),
            depth_max: self.depth_max,
        }
    }
}

/// Rounded up, so that nothing becomes nothing.
pub(crate) fn millis(duration: Duration) -> Millis {
    let millis = duration.as_nanos().div_ceil(1_000_000);
    Millis(u64::try_from(millis).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_of_the_design_and_keep_the_promise() {
        let timings = Timings::new(Wishes::default()).expect("they are right");
        assert_eq!(timings.heartbeat, Duration::from_secs(2));
        assert_eq!(timings.detection, Duration::from_secs(6));
        assert_eq!(timings.lease, Duration::from_secs(8));
        assert_eq!(timings.grace, Duration::from_secs(60));
        assert!(timings.of_collector().keep_the_promise());
    }

    #[test]
    fn a_longer_lease_has_a_longer_grace_and_a_grace_that_is_too_short_is_refused() {
        let long = Wishes { lease: Duration::from_secs(60), ..Wishes::default() };
        let timings = Timings::new(long).expect("grace is derived");
        assert!(timings.of_collector().keep_the_promise());
        let short = Wishes { grace: Some(Duration::from_secs(60)), ..long };
        let error = Timings::new(short).expect_err("rule 16");
        assert_eq!(error.kind(), ErrorKind::LimitReached);
        assert!(error.to_string().contains("rule 16"), "{error}");
    }

    #[test]
    fn timings_without_sense_are_refused() {
        let second = Duration::from_secs(1);
        for wishes in [
            Wishes { heartbeat: Some(Duration::ZERO), ..Wishes::default() },
            Wishes { heartbeat: Some(second), detection: Some(second), ..Wishes::default() },
            Wishes { lease: Duration::ZERO, ..Wishes::default() },
            Wishes { depth_max: 1, ..Wishes::default() },
        ] {
            assert!(Timings::new(wishes).is_err(), "{wishes:?}");
        }
    }
}
