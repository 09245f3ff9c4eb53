//! What a peer can make this node hold, and for how long.

use std::time::Duration;

/// Bounds on everything that a peer can make a node hold.
///
/// Each is enforced where it is reached. Where a call or a session is refused for it, the error
/// says so; one-way calls over a limit are dropped, as nobody waits to be told.
///
/// ```
/// let limits = rmi::Limits { frame_bytes_max: 1 << 20, ..Default::default() };
/// # let _ = limits;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the largest frame that this node accepts; told to peers in the hand-shake, where
    /// a larger message fails as that call's `TooLarge`. Default 16 MiB.
    pub frame_bytes_max: u32,
    /// Calls of one peer that run at the same time; one more is answered with `LimitReached`.
    /// Default 16 384.
    pub calls_in_progress_max: usize,
    /// Bytes that wait for one peer to read them; callers wait beyond. Answers do not wait: at four
    /// times this, further calls of the peer are turned down with `LimitReached`, and at sixteen
    /// times its session ends. Default 16 MiB.
    pub bytes_buffered_max: usize,
    /// Meanings of one peer's references that are remembered: those that are held, and those
    /// whose release it has not acknowledged; beyond, its session ends. Default 1 048 576.
    pub references_max: usize,
    /// Sessions at the same time, those included whose peer was lost and has not been given up yet;
    /// one more is refused. Default 4 096.
    pub sessions_max: usize,
    /// Incoming hand-shakes at the same time; more wait in the listener's queue. Default 256.
    pub handshakes_max: usize,
    /// How long a hand-shake may take. Default 5 s.
    pub handshake_time_max: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            frame_bytes_max: 16 << 20,
            calls_in_progress_max: 16_384,
            bytes_buffered_max: 16 << 20,
            references_max: 1 << 20,
            sessions_max: 4_096,
            handshakes_max: 256,
            handshake_time_max: Duration::from_secs(5),
        }
    }
}
