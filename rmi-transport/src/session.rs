//! The numbering of frames within a session, and their acknowledgement.
//!
//! Frames carry no numbers: both sides count, from 1, in the order of the stream. Every frame
//! acknowledges what its sender has received since it last did, so that acknowledging costs a
//! byte on frames that go anyway.

/// How far one session has come, in both directions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Session {
    /// The number of the last frame that we sent.
    sent: u64,
    /// The last of them that the peer has acknowledged. Never more than `sent`.
    acked: u64,
    /// The number of the last frame that we received.
    received: u64,
    /// The last of them that we have acknowledged. Never more than `received`.
    ack_sent: u64,
    /// The last frame whose sender wants to have it acknowledged.
    ack_wanted: u64,
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
}

impl Session {
    /// A session that has just begun.
    pub fn new() -> Self {
        Session::default()
    }

    /// Numbers the frame that is sent next, and says what it acknowledges: its
    /// [`ack`](crate::frame::Frame::ack).
    pub fn next_frame(&mut self) -> (u64, u64) {
        let ack = self.received - self.ack_sent;
        self.ack_sent = self.received;
        self.sent += 1;
        (self.sent, ack)
    }

    /// The frame that was just numbered is not sent after all: its number and its
    /// acknowledgement `ack` are the next one's again.
    pub fn roll_back(&mut self, ack: u64) {
        debug_assert!(self.sent > self.acked && self.ack_sent >= ack);
        self.sent = self.sent.saturating_sub(1);
        self.ack_sent = self.ack_sent.saturating_sub(ack);
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

    /// The frame that has come was accounted for: the next one of ours acknowledges it.
    ///
    /// Not before: an acknowledgement says that the frame's releases have been counted, so that
    /// no reference written with it, or later, relies on what they gave back.
    pub fn taken(&mut self, wants_ack: bool) {
        self.received += 1;
        if wants_ack {
            self.ack_wanted = self.received;
        }
    }

    /// Whether the peer wants an acknowledgement that no frame has carried yet.
    pub fn ack_owed(&self) -> bool {
        self.ack_wanted > self.ack_sent
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
        session: &mut Session,
        ack: u64,
        wants_ack: bool,
    ) -> Result<Option<u64>, SessionError> {
        let news = session.acknowledged(ack)?;
        session.taken(wants_ack);
        Ok(news)
    }

    #[test]
    fn every_frame_acknowledges_what_came_since_the_last_one() {
        let mut session = Session::new();
        assert_eq!(session.next_frame(), (1, 0));
        for _ in 0..3 {
            assert_eq!(receive(&mut session, 0, false), Ok(None));
        }
        assert_eq!(session.next_frame(), (2, 3), "W12");
        assert_eq!(session.next_frame(), (3, 0), "W12");
        assert_eq!(receive(&mut session, 2, false), Ok(Some(2)));
        assert_eq!(session.unacknowledged(), 1);
        assert_eq!(receive(&mut session, 1, false), Ok(Some(3)));
        assert_eq!(session.unacknowledged(), 0);
    }

    #[test]
    fn acknowledging_more_than_was_sent_is_a_violation() {
        let mut session = Session::new();
        session.next_frame();
        for (ack, unacknowledged) in [(2, 1), (u64::MAX, 1)] {
            let want = SessionError::AcknowledgedUnsent { acknowledged: ack, unacknowledged };
            assert_eq!(receive(&mut session.clone(), ack, false), Err(want), "W13");
        }
        assert_eq!(receive(&mut session, 1, false), Ok(Some(1)));
        let want = SessionError::AcknowledgedUnsent { acknowledged: 1, unacknowledged: 0 };
        assert_eq!(receive(&mut session, 1, false), Err(want), "W13");
    }

    #[test]
    fn an_acknowledgement_is_owed_until_a_frame_carries_it() {
        let mut session = Session::new();
        receive(&mut session, 0, false).unwrap();
        assert!(!session.ack_owed());
        receive(&mut session, 0, true).unwrap();
        receive(&mut session, 0, false).unwrap();
        assert!(session.ack_owed(), "W14");
        assert_eq!(session.next_frame(), (1, 3));
        assert!(!session.ack_owed(), "W14");
    }

    #[test]
    fn a_frame_that_never_left_leaves_no_trace() {
        let mut session = Session::new();
        session.next_frame();
        receive(&mut session, 1, true).unwrap();
        let before = session.clone();
        let (number, ack) = session.next_frame();
        assert_eq!((number, ack), (2, 1));
        session.roll_back(ack);
        assert_eq!(session, before);
        assert!(session.ack_owed());
    }
}
