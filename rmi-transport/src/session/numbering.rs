//! The numbering of frames within a session, and their acknowledgement.
//!
//! Frames carry no numbers: both sides count, from 1, in the order of the lane. Every frame
//! acknowledges what its sender has received since it last did, so that acknowledging costs a
//! byte on frames that go anyway.
//!
//! Acknowledgements are relative, and a frame that is resent carries the one that it had. That is
//! right: it is the same frame, which takes effect exactly once (see [`session`](super)).

/// So many frames are taken at most before they are acknowledged, on a frame of its own if need
/// be: the sender keeps them for so long.
pub const ACK_FRAMES_MAX: u64 = 256;

/// So many bytes are taken at most before they are acknowledged, on a frame of its own if need
/// be: the sender keeps them for so long.
pub const ACK_BYTES_MAX: usize = 64 * 1024;

/// How far one session has come, in both directions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Numbering {
    /// The number of the last frame that we sent.
    sent: u64,
    /// The last of them that the peer has acknowledged. Never more than `sent`.
    acked: u64,
    /// The number of the last frame that we have taken.
    received: u64,
    /// The last of them that we have acknowledged. Never more than `received`.
    ack_sent: u64,
    /// The last frame whose sender wants to have it acknowledged.
    ack_wanted: u64,
    /// The bytes of the frames that we have taken and not acknowledged.
    bytes_taken: usize,
    /// What `bytes_taken` was before the frame that was numbered last, to roll it back.
    bytes_taken_before: usize,
}

/// What a peer did wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum SessionError {
    /// It acknowledged frames that we have not sent.
    #[error("the peer acknowledged {acknowledged} more frames, where {unacknowledged} were due")]
    AcknowledgedUnsent {
        /// How many it acknowledged.
        acknowledged: u64,
        /// How many it could have.
        unacknowledged: u64,
    },
    /// It says that it has received less than it has confirmed before, or more than it was sent.
    #[error("the peer resumes behind frame {received}, where {least} to {most} are possible")]
    ResumedImpossibly {
        /// The last frame that it has received, as it says.
        received: u64,
        /// The last frame that it is known to have received.
        least: u64,
        /// The last frame that was handed to a connection.
        most: u64,
    },
}

impl Numbering {
    /// Of a session that has just begun.
    pub fn new() -> Self {
        Numbering::default()
    }

    /// Numbers the frame that is sent next, and says what it acknowledges: its
    /// [`ack`](crate::frame::Frame::ack).
    pub fn next_frame(&mut self) -> (u64, u64) {
        let ack = self.received - self.ack_sent;
        self.ack_sent = self.received;
        self.bytes_taken_before = std::mem::take(&mut self.bytes_taken);
        self.sent += 1;
        (self.sent, ack)
    }

    /// The frame that was just numbered is not sent after all: its number and its
    /// acknowledgement `ack` are the next one's again.
    pub fn roll_back(&mut self, ack: u64) {
        debug_assert!(self.sent > self.acked && self.ack_sent >= ack);
        self.sent = self.sent.saturating_sub(1);
        self.ack_sent = self.ack_sent.saturating_sub(ack);
        self.bytes_taken += std::mem::take(&mut self.bytes_taken_before);
    }

    /// A frame has come, and acknowledges `ack` more of ours. Returns the last frame that is
    /// acknowledged, if that is news. The frame itself is acknowledged only once it was
    /// [`taken`](Self::taken).
    ///
    /// # Errors
    ///
    /// [`SessionError`] is the peer's fault, and final.
    pub fn acknowledged(&mut self, ack: u64) -> Result<Option<u64>, SessionError> {
        let unacknowledged = self.sent - self.acked;
        if ack > unacknowledged {
            return Err(SessionError::AcknowledgedUnsent { acknowledged: ack, unacknowledged });
        }
        self.acked += ack;
        Ok((ack > 0).then_some(self.acked))
    }

    /// The frame of `bytes` that has come was accounted for: the next one of ours acknowledges
    /// it.
    ///
    /// Not before: an acknowledgement says that the frame's releases have been counted, so that
    /// no reference written with it, or later, relies on what they gave back.
    pub fn taken(&mut self, wants_ack: bool, bytes: usize) {
        self.received += 1;
        self.bytes_taken = self.bytes_taken.saturating_add(bytes);
        if wants_ack {
            self.ack_wanted = self.received;
        }
    }

    /// Whether the peer wants an acknowledgement that no frame has carried yet. It can wait a
    /// little for a frame to ride on.
    pub fn ack_owed(&self) -> bool {
        self.ack_wanted > self.ack_sent
    }

    /// Whether so much was taken and not acknowledged that the peer is to be told at once, so
    /// that it can give the memory back.
    pub fn ack_pressing(&self) -> bool {
        self.received - self.ack_sent >= ACK_FRAMES_MAX || self.bytes_taken >= ACK_BYTES_MAX
    }

    /// The number of the last frame that we numbered; it may still wait to be sent.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// The last frame of ours that the peer has acknowledged.
    pub fn acked(&self) -> u64 {
        self.acked
    }

    /// How many frames we have taken so far.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// How many frames of ours the peer has not acknowledged.
    pub fn unacknowledged(&self) -> u64 {
        self.sent - self.acked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame has come and was accounted for.
    fn receive(
        numbering: &mut Numbering,
        ack: u64,
        wants_ack: bool,
    ) -> Result<Option<u64>, SessionError> {
        let news = numbering.acknowledged(ack)?;
        numbering.taken(wants_ack, 10);
        Ok(news)
    }

    #[test]
    fn every_frame_acknowledges_what_came_since_the_last_one() {
        let mut numbering = Numbering::new();
        assert_eq!(numbering.next_frame(), (1, 0));
        for _ in 0..3 {
            assert_eq!(receive(&mut numbering, 0, false), Ok(None));
        }
        assert_eq!(numbering.next_frame(), (2, 3), "W12");
        assert_eq!(numbering.next_frame(), (3, 0), "W12");
        assert_eq!(receive(&mut numbering, 2, false), Ok(Some(2)));
        assert_eq!(numbering.unacknowledged(), 1);
        assert_eq!(receive(&mut numbering, 1, false), Ok(Some(3)));
        assert_eq!(numbering.unacknowledged(), 0);
    }

    #[test]
    fn acknowledging_more_than_was_sent_is_a_violation() {
        let mut numbering = Numbering::new();
        numbering.next_frame();
        for (ack, unacknowledged) in [(2, 1), (u64::MAX, 1)] {
            let want = SessionError::AcknowledgedUnsent { acknowledged: ack, unacknowledged };
            assert_eq!(receive(&mut numbering.clone(), ack, false), Err(want), "W13");
        }
        assert_eq!(receive(&mut numbering, 1, false), Ok(Some(1)));
        let want = SessionError::AcknowledgedUnsent { acknowledged: 1, unacknowledged: 0 };
        assert_eq!(receive(&mut numbering, 1, false), Err(want), "W13");
    }

    #[test]
    fn an_acknowledgement_is_owed_until_a_frame_carries_it() {
        let mut numbering = Numbering::new();
        receive(&mut numbering, 0, false).unwrap();
        assert!(!numbering.ack_owed());
        receive(&mut numbering, 0, true).unwrap();
        receive(&mut numbering, 0, false).unwrap();
        assert!(numbering.ack_owed(), "W14");
        assert_eq!(numbering.next_frame(), (1, 3));
        assert!(!numbering.ack_owed(), "W14");
    }

    #[test]
    fn a_frame_that_never_left_leaves_no_trace() {
        let mut numbering = Numbering::new();
        numbering.next_frame();
        receive(&mut numbering, 1, true).unwrap();
        let before = numbering.clone();
        let (number, ack) = numbering.next_frame();
        assert_eq!((number, ack), (2, 1));
        numbering.roll_back(ack);
        assert_eq!(numbering, before);
        assert!(numbering.ack_owed());
    }

    #[test]
    fn an_acknowledgement_is_pressing_after_many_frames_or_many_bytes() {
        let mut numbering = Numbering::new();
        for _ in 1..ACK_FRAMES_MAX {
            receive(&mut numbering, 0, false).unwrap();
        }
        assert!(!numbering.ack_pressing(), "W14");
        receive(&mut numbering, 0, false).unwrap();
        assert!(numbering.ack_pressing(), "W14");
        let (_, ack) = numbering.next_frame();
        assert!(!numbering.ack_pressing(), "W14");
        numbering.roll_back(ack);
        assert!(numbering.ack_pressing(), "the acknowledgement never left (W14)");

        let mut numbering = Numbering::new();
        numbering.taken(false, ACK_BYTES_MAX - 1);
        assert!(!numbering.ack_pressing(), "W14");
        numbering.taken(false, 1);
        assert!(numbering.ack_pressing(), "W14");
        let (_, ack) = numbering.next_frame();
        assert!(!numbering.ack_pressing(), "W14");
        numbering.roll_back(ack);
        assert!(numbering.ack_pressing(), "the acknowledgement never left (W14)");
    }
}
