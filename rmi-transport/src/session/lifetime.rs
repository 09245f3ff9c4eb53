//! When a connection is dead, when the peer is given up, and when to dial again.
//!
//! Time is counted in ticks that the shell gives. A process that was suspended gives one late
//! tick for all the time that it has missed, and so does not take its own absence for its
//! peer's: it first reads what has come meanwhile.

use std::time::Duration;

/// The shortest tick.
const TICK_LEAST: Duration = Duration::from_millis(1);

/// Ticks within a heartbeat, so that the silence between two frames stays below one.
const TICKS_PER_HEARTBEAT: u32 = 2;

/// Ticks within the detection time, at least: how precisely it is kept.
const TICKS_PER_DETECTION: u32 = 6;

/// Ticks within the lease.
const TICKS_PER_LEASE: u32 = 8;

/// How long things may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timings {
    /// A connection is not silent for longer than this: if there is nothing to send, a heartbeat
    /// is.
    pub heartbeat: Duration,
    /// A connection on which nothing was received for so long is dead. Several heartbeats of the
    /// peer.
    pub detection: Duration,
    /// A session may lack a connection for so long before the peer is given up.
    pub lease: Duration,
}

/// What is to be done at a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tick {
    /// Nothing.
    Nothing,
    /// Send a frame, so that the peer hears from us.
    Heartbeat,
    /// The connection is dead: take it off.
    Lost,
    /// The session has lacked a connection for the lease: give the peer up.
    GiveUp,
}

/// Judges a session's liveness, by what is received and by nothing else.
///
/// ```text
///            ┌── Heartbeat, while nothing is sent
///            ▼
///        Attached ──Lost: nothing received for the detection time──▶ (the shell: lost)
///          ▲   │
///   resumed│   │lost
///          │   ▼
///          Lost ──GiveUp: no connection for the lease──▶ the end of the session
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lifetime {
    timings: Timings,
    phase: Phase,
    /// What had been sent and received at the last tick.
    frames_sent: u64,
    bytes_received: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// Nothing was received for so many ticks.
    Attached { silent: u32 },
    /// There has been no connection for so many ticks.
    Lost { ticks: u32 },
}

impl Lifetime {
    /// Of a session that has just got its first connection.
    pub fn new(timings: Timings) -> Self {
        let phase = Phase::Attached { silent: 0 };
        Lifetime { timings, phase, frames_sent: 0, bytes_received: 0 }
    }

    /// How far apart the ticks are: from the last one, or from [`lost`](Self::lost) or
    /// [`resumed`](Self::resumed). Ticks that were missed are not made up for.
    pub fn tick_every(&self) -> Duration {
        let every = match self.phase {
            Phase::Attached { .. } => self.timings.detection / self.ticks_per_detection(),
            Phase::Lost { .. } => self.timings.lease / TICKS_PER_LEASE,
        };
        every.max(TICK_LEAST)
    }

    /// A tick: so many frames have been sent, and so many bytes received, since the session
    /// began.
    pub fn ticked(&mut self, frames_sent: u64, bytes_received: u64) -> Tick {
        let heard = std::mem::replace(&mut self.bytes_received, bytes_received) != bytes_received;
        let spoke = std::mem::replace(&mut self.frames_sent, frames_sent) != frames_sent;
        // The last bytes came up to one tick before the first silent one began.
        let silent_max = self.ticks_per_detection() - 1;
        match &mut self.phase {
            Phase::Attached { silent } => {
                *silent = if heard { 0 } else { silent.saturating_add(1) };
                if *silent >= silent_max {
                    Tick::Lost
                } else if spoke {
                    Tick::Nothing
                } else {
                    Tick::Heartbeat
                }
            }
            Phase::Lost { ticks } => {
                *ticks = ticks.saturating_add(1);
                if *ticks >= TICKS_PER_LEASE { Tick::GiveUp } else { Tick::Nothing }
            }
        }
    }

    /// The connection is lost, for whatever reason: the lease begins.
    pub fn lost(&mut self) {
        if let Phase::Attached { .. } = self.phase {
            self.phase = Phase::Lost { ticks: 0 };
        }
    }

    /// There is another connection.
    pub fn resumed(&mut self) {
        self.phase = Phase::Attached { silent: 0 };
    }

    /// So many that a tick is neither longer than half a heartbeat nor than a sixth of the
    /// detection time, and that they fill the detection time exactly.
    fn ticks_per_detection(&self) -> u32 {
        let longest = (self.timings.heartbeat / TICKS_PER_HEARTBEAT).max(TICK_LEAST);
        let ticks = self.timings.detection.as_nanos().div_ceil(longest.as_nanos());
        u32::try_from(ticks).unwrap_or(u32::MAX).max(TICKS_PER_DETECTION)
    }
}

/// The first pause.
const PAUSE_FIRST: Duration = Duration::from_millis(20);

/// The longest pause, before jitter.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// How long to pause before each attempt to dial a peer again.
///
/// The first attempt is made at once; then the pauses double from 20 ms up to a second. Each is
/// spread over half to one and a half of itself, so that many nodes that have lost the same peer
/// do not all come back at the same time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Backoff {
    attempts: u32,
}

impl Backoff {
    /// Before the first attempt.
    pub fn new() -> Self {
        Backoff::default()
    }

    /// The pause before the next attempt; `random` is any number, to spread it by.
    pub fn next(&mut self, random: u64) -> Duration {
        let attempt = self.attempts;
        self.attempts = attempt.saturating_add(1);
        let Some(doublings) = attempt.checked_sub(1) else { return Duration::ZERO };
        let factor = 1_u32.checked_shl(doublings).unwrap_or(u32::MAX);
        let pause = PAUSE_FIRST.saturating_mul(factor).min(PAUSE_MAX);
        // 0.5 up to 1.5, in thousandths.
        let thousandths = 500 + (random % 1_001) as u32;
        pause * thousandths / 1_000
    }

    /// The peer was reached: the next attempt is the first again.
    pub fn reset(&mut self) {
        self.attempts = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::Tick::{GiveUp, Heartbeat, Lost, Nothing};
    use super::*;

    const TIMINGS: Timings = Timings {
        heartbeat: Duration::from_secs(5),
        detection: Duration::from_secs(15),
        lease: Duration::from_secs(60),
    };

    /// Lets `lifetime` tick once for each pair: frames sent and bytes received since the last.
    fn ticks(lifetime: &mut Lifetime, since_last: &[(u64, u64)]) -> Vec<Tick> {
        let mut tick = |(frames, bytes): &(u64, u64)| {
            let (frames, bytes) = (lifetime.frames_sent + frames, lifetime.bytes_received + bytes);
            lifetime.ticked(frames, bytes)
        };
        since_last.iter().map(&mut tick).collect()
    }

    #[test]
    fn what_happens_at_each_tick() {
        for (name, since_last, want) in [
            ("busy", &[(9, 900), (1, 1), (3, 70)][..], &[Nothing, Nothing, Nothing][..]),
            ("only receiving (W34)", &[(0, 9), (0, 9), (1, 9)], &[Heartbeat, Heartbeat, Nothing]),
            (
                "a black hole, however much is sent into it (W35)",
                &[(1, 9), (1, 0), (1, 0), (1, 0), (1, 0), (1, 0)],
                &[Nothing, Nothing, Nothing, Nothing, Nothing, Lost],
            ),
            (
                "a byte just in time (W35)",
                &[(1, 9), (1, 0), (1, 0), (1, 0), (1, 0), (1, 1), (1, 0)],
                &[Nothing; 7],
            ),
            (
                "silence in both directions",
                &[(0, 0), (0, 0), (0, 0), (0, 0), (0, 0)],
                &[Heartbeat, Heartbeat, Heartbeat, Heartbeat, Lost],
            ),
        ] {
            let mut lifetime = Lifetime::new(TIMINGS);
            assert_eq!(ticks(&mut lifetime, since_last), want, "{name}");
        }
    }

    #[test]
    fn a_peer_that_was_suspended_finds_its_connection_as_it_left_it() {
        let mut lifetime = Lifetime::new(TIMINGS);
        assert_eq!(ticks(&mut lifetime, &[(1, 9), (1, 0), (1, 0)]), [Nothing; 3]);
        // An hour later the next tick comes, and is one tick.
        assert_eq!(ticks(&mut lifetime, &[(0, 0)]), [Heartbeat], "W36");
        // What had arrived meanwhile is read before the next.
        assert_eq!(ticks(&mut lifetime, &[(1, 500), (1, 9)]), [Nothing; 2], "W36");
        lifetime.lost();
        assert_eq!(ticks(&mut lifetime, &[(0, 0); 7]), [Nothing; 7], "W36");
    }

    #[test]
    fn a_session_without_a_connection_is_given_up_after_the_lease() {
        let mut lifetime = Lifetime::new(TIMINGS);
        lifetime.lost();
        let want = [Nothing, Nothing, Nothing, Nothing, Nothing, Nothing, Nothing, GiveUp];
        assert_eq!(lifetime.tick_every() * 8, TIMINGS.lease, "W37");
        assert_eq!(ticks(&mut lifetime, &[(0, 0); 8]), want, "W37");

        // What is only enqueued is not a sign of life, and neither is being told again.
        let mut lifetime = Lifetime::new(TIMINGS);
        lifetime.lost();
        for want in want {
            lifetime.lost();
            assert_eq!(ticks(&mut lifetime, &[(5, 0)]), [want], "W37");
        }

        let mut lifetime = Lifetime::new(TIMINGS);
        lifetime.lost();
        assert_eq!(ticks(&mut lifetime, &[(0, 0); 7]), [Nothing; 7]);
        lifetime.resumed();
        assert_eq!(ticks(&mut lifetime, &[(1, 9), (1, 0)]), [Nothing; 2], "W37");
        lifetime.lost();
        assert_eq!(ticks(&mut lifetime, &[(0, 0); 8]), want, "the lease begins anew (W37)");
    }

    #[test]
    fn the_silence_that_is_noticed_is_at_most_one_tick_short_of_the_detection_time() {
        for (heartbeat_ms, detection_ms) in
            [(5_000, 15_000), (1_000, 15_000), (700, 10_000), (10_000, 1_000), (3, 7), (1, 1)]
        {
            let [heartbeat, detection] = [heartbeat_ms, detection_ms].map(Duration::from_millis);
            let lifetime = Lifetime::new(Timings { heartbeat, detection, ..TIMINGS });
            let every = lifetime.tick_every();
            let case = format!("{heartbeat:?}, {detection:?}: every {every:?}");
            if every == TICK_LEAST {
                continue;
            }
            assert!(every <= heartbeat / 2 && every <= detection / 6, "{case} (W34)");
            // The last bytes came at some time within the tick before the silent ones.
            let silent = lifetime.ticks_per_detection() - 1;
            let (shortest, longest) = (every * silent, every * (silent + 1));
            assert!(shortest + every + Duration::from_micros(1) >= detection, "{case} (W35)");
            assert!(longest <= detection, "{case} (W35)");
        }
        let nothing =
            Timings { heartbeat: Duration::ZERO, detection: Duration::ZERO, lease: Duration::ZERO };
        let mut lifetime = Lifetime::new(nothing);
        assert_eq!(lifetime.tick_every(), TICK_LEAST);
        lifetime.lost();
        assert_eq!(lifetime.tick_every(), TICK_LEAST);
    }

    #[test]
    fn pauses_between_attempts_double_up_to_a_second_and_are_spread() {
        let pauses = |random: u64| {
            let mut backoff = Backoff::new();
            std::iter::from_fn(move || Some(backoff.next(random).as_micros())).take(10)
        };
        let in_the_middle =
            [0, 20, 40, 80, 160, 320, 640, 1_000, 1_000, 1_000].map(|ms| ms * 1_000);
        assert!(pauses(500).eq(in_the_middle));
        assert!(pauses(0).eq(in_the_middle.map(|pause| pause / 2)));
        assert!(pauses(1_000).eq(in_the_middle.map(|pause| pause * 3 / 2)));
        for random in [1, 77, u64::MAX] {
            for (pause, middle) in pauses(random).zip(in_the_middle) {
                assert!((middle / 2..=middle * 3 / 2).contains(&pause), "{random}");
            }
        }
        let mut backoff = Backoff { attempts: u32::MAX };
        assert_eq!(backoff.next(500), PAUSE_MAX);
        backoff.reset();
        assert_eq!(backoff.next(500), Duration::ZERO);
    }
}
