//! Tells what has to look at something every so often that it is time: a session at its liveness,
//! a node at its estates.
//!
//! It comes from a thread of its own, one for the process, and not from timers of the runtime:
//! while any timer is set, a runtime asks for the time and for the next timer whenever it parks,
//! and the system counts down a timeout, which makes every call some per cent slower. A runtime
//! whose clock is paused has no time but that of its timers; there, they are used.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use tokio::time::sleep;

use crate::node::NodeInner;

/// What is told. Whoever holds it holds it in an `Arc`: once that is gone, nothing is told.
pub(crate) trait Pulsed: Send + Sync + 'static {
    /// It is time to look. Says whether it will ever be again.
    ///
    /// Neither blocks nor runs user code, and works outside a runtime.
    fn pulse(&self) -> bool;
}

impl NodeInner {
    /// Tells `pulsed` about every `every`, for the first time in so long.
    pub(crate) fn tell_every<P: Pulsed>(&self, every: Duration, pulsed: &Arc<P>) {
        let pulsed: Weak<dyn Pulsed> = Arc::downgrade(pulsed) as _;
        let pulsed = if self.is_clock_paused { Some(pulsed) } else { Clock::tell(every, pulsed) };
        if let Some(pulsed) = pulsed {
            self.spawn(tell_by_timer(every, pulsed));
        }
    }
}

async fn tell_by_timer(every: Duration, pulsed: Weak<dyn Pulsed>) {
    loop {
        sleep(every).await;
        if !pulsed.upgrade().is_some_and(|pulsed| pulsed.pulse()) {
            return;
        }
    }
}

/// Whether the clock of this runtime stands still, but for its timers.
pub(crate) fn is_clock_paused() -> bool {
    /// Any clock that goes shows that it does.
    const LONGER_THAN_A_STEP: Duration = Duration::from_micros(5);
    let (real, seen) = (Instant::now(), tokio::time::Instant::now());
    while real.elapsed() < LONGER_THAN_A_STEP {
        std::hint::spin_loop();
    }
    seen.elapsed() == Duration::ZERO
}

/// The thread's list.
struct Clock {
    beats: Mutex<Beats>,
    /// Something is due earlier than the thread knows.
    earlier: Condvar,
}

struct Beats {
    /// By when they are due, and by a number that tells those apart that are due together.
    due: BTreeMap<(Instant, u64), Beat>,
    next: u64,
    /// There is a thread while there is a beat.
    has_thread: bool,
}

struct Beat {
    every: Duration,
    pulsed: Weak<dyn Pulsed>,
}

static CLOCK: Clock = Clock {
    beats: Mutex::new(Beats { due: BTreeMap::new(), next: 0, has_thread: false }),
    earlier: Condvar::new(),
};

impl Clock {
    /// Gives `pulsed` back if the system has no thread for that.
    fn tell(every: Duration, pulsed: Weak<dyn Pulsed>) -> Option<Weak<dyn Pulsed>> {
        let mut beats = CLOCK.beats.lock();
        if !beats.has_thread {
            let thread = thread::Builder::new().name("rmi-pulse".to_owned());
            if let Err(error) = thread.spawn(Clock::run) {
                tracing::warn!(%error, "no thread for the pulse: timers are used");
                return Some(pulsed);
            }
            beats.has_thread = true;
        }
        if beats.add(Instant::now(), Beat { every, pulsed }) {
            CLOCK.earlier.notify_one();
        }
        None
    }

    /// The thread: until nobody is left to be told.
    fn run() {
        let mut beats = CLOCK.beats.lock();
        while let Some((&(first, _), _)) = beats.due.first_key_value() {
            let now = Instant::now();
            if now < first {
                CLOCK.earlier.wait_until(&mut beats, first);
                continue;
            }
            let due = beats.take_due(now);
            // What is told may take locks of its own, and be dropped here.
            drop(beats);
            let go_on: Vec<Beat> = due.into_iter().filter(Beat::is_told).collect();
            beats = CLOCK.beats.lock();
            // Beats that were missed, as the process slept, are not made up for.
            let now = Instant::now();
            for beat in go_on {
                beats.add(now, beat);
            }
        }
        beats.has_thread = false;
    }
}

impl Beats {
    /// Says whether it is the next one.
    fn add(&mut self, now: Instant, beat: Beat) -> bool {
        let key = (now + beat.every, self.next);
        self.next += 1;
        self.due.insert(key, beat);
        self.due.first_key_value().is_some_and(|(first, _)| *first == key)
    }

    fn take_due(&mut self, now: Instant) -> Vec<Beat> {
        let later = self.due.split_off(&(now, u64::MAX));
        std::mem::replace(&mut self.due, later).into_values().collect()
    }
}

impl Beat {
    fn is_told(&self) -> bool {
        self.pulsed.upgrade().is_some_and(|pulsed| pulsed.pulse())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::mpsc;

    use super::*;

    /// Passes on that it was told, so many times.
    struct Counting(AtomicU32, mpsc::Sender<()>);

    impl Pulsed for Counting {
        fn pulse(&self) -> bool {
            self.1.send(()).expect("the test waits");
            self.0.fetch_sub(1, Ordering::Relaxed) > 1
        }
    }

    fn counting(times: u32) -> (Arc<Counting>, mpsc::Receiver<()>) {
        let (told, tells) = mpsc::channel();
        (Arc::new(Counting(AtomicU32::new(times), told)), tells)
    }

    #[test]
    fn each_is_told_again_and_again_until_it_is_gone_or_has_enough() {
        let (slow, slow_tells) = counting(2);
        let (quick, quick_tells) = counting(u32::MAX);
        for (every, pulsed) in [(20, &slow), (1, &quick)] {
            let every = Duration::from_millis(every);
            assert!(Clock::tell(every, Arc::downgrade(pulsed) as _).is_none());
        }
        for _ in 0..2 {
            slow_tells.recv().expect("it is told");
            quick_tells.recv().expect("it is told");
        }
        drop((slow, quick));
        // Both ends are dropped with what was told.
        assert_eq!(slow_tells.iter().count(), 0, "it had enough");
        quick_tells.iter().for_each(drop);
    }

    #[test]
    fn a_paused_clock_is_seen() {
        let runtime = |paused| {
            let mut builder = tokio::runtime::Builder::new_current_thread();
            builder.enable_time().start_paused(paused).build().expect("a runtime")
        };
        for paused in [false, true] {
            assert_eq!(runtime(paused).block_on(async { is_clock_paused() }), paused);
        }
    }
}
