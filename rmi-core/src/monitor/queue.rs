//! Who holds a monitor and who waits for it, without any I/O.

use std::collections::VecDeque;

use smallvec::SmallVec;

use crate::thread::ThreadId;

/// On whose behalf a monitor is held: if a peer's session dies, what it held is freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Holder {
    Local,
    /// By its serial: what a peer does over its next session is another holder's.
    Session(u64),
}

/// Names one waiting enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Ticket(u64);

/// What became of an enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    Entered,
    Waits(Ticket),
}

/// An exit of a monitor that the thread does not hold for that holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("left a monitor that it had not entered")]
pub(crate) struct NotHeld;

/// Enters that may now proceed.
pub(crate) type Granted = SmallVec<[Ticket; 2]>;

/// A monitor: free, or held by one distributed thread, with others waiting in line.
///
/// ```text
///  free ──enter──▶ held by t (n times) ──last exit, or last holder gone──▶ next in line, or free
///                    ▲        │
///                    └─enter by t, from any node: n + 1
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Queue {
    owner: Option<ThreadId>,
    /// How many times the owner entered, for each holder; no zero stays.
    holds: SmallVec<[(Holder, u64); 1]>,
    waiting: VecDeque<Waiting>,
    tickets: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Waiting {
    ticket: Ticket,
    thread: ThreadId,
    holder: Holder,
}

impl Queue {
    /// `thread` wants to enter, on behalf of `holder`.
    pub(crate) fn enter(&mut self, thread: ThreadId, holder: Holder) -> Admission {
        if self.owner.is_none_or(|owner| owner == thread) {
            self.admit(thread, holder);
            return Admission::Entered;
        }
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.waiting.push_back(Waiting { ticket, thread, holder });
        Admission::Waits(ticket)
    }

    /// `thread` leaves once.
    pub(crate) fn exit(&mut self, thread: ThreadId, holder: Holder) -> Result<Granted, NotHeld> {
        if self.owner != Some(thread) {
            return Err(NotHeld);
        }
        let at = self.holds.iter().position(|(by, _)| *by == holder).ok_or(NotHeld)?;
        self.holds[at].1 -= 1;
        if self.holds[at].1 == 0 {
            self.holds.remove(at);
        }
        Ok(self.hand_on())
    }

    /// An enter that waits is given up. False if it does not wait (any more).
    pub(crate) fn abandon(&mut self, ticket: Ticket) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|waiting| waiting.ticket != ticket);
        self.waiting.len() < before
    }

    /// Everything that `holder` held or waited for is void.
    pub(crate) fn holder_gone(&mut self, holder: Holder) -> Granted {
        self.waiting.retain(|waiting| waiting.holder != holder);
        self.holds.retain(|(by, _)| *by != holder);
        self.hand_on()
    }

    fn admit(&mut self, thread: ThreadId, holder: Holder) {
        self.owner = Some(thread);
        match self.holds.iter_mut().find(|(by, _)| *by == holder) {
            Some((_, count)) => *count += 1,
            None => self.holds.push((holder, 1)),
        }
    }

    /// If nobody holds it, the first in line does, with all enters of the same thread.
    fn hand_on(&mut self) -> Granted {
        let mut granted = Granted::new();
        if !self.holds.is_empty() {
            return granted;
        }
        self.owner = None;
        let Some(next) = self.waiting.front().map(|first| first.thread) else { return granted };
        let (admitted, waiting): (VecDeque<_>, VecDeque<_>) =
            self.waiting.drain(..).partition(|waiting| waiting.thread == next);
        self.waiting = waiting;
        for Waiting { ticket, thread, holder } in admitted {
            self.admit(thread, holder);
            granted.push(ticket);
        }
        granted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Holder = Holder::Session(1);
    const B: Holder = Holder::Session(2);

    fn thread(number: u64) -> ThreadId {
        ThreadId::from_parts(9, number)
    }

    fn waits(admission: Admission) -> Ticket {
        match admission {
            Admission::Waits(ticket) => ticket,
            Admission::Entered => panic!("entered a monitor that another thread holds"),
        }
    }

    #[test]
    fn one_thread_enters_again_from_any_node_and_leaves_as_often() {
        let mut queue = Queue::default();
        assert_eq!(queue.enter(thread(1), A), Admission::Entered);
        assert_eq!(queue.enter(thread(1), B), Admission::Entered);
        assert_eq!(queue.enter(thread(1), Holder::Local), Admission::Entered);
        for holder in [A, Holder::Local, B] {
            assert_eq!(queue.owner, Some(thread(1)));
            assert!(queue.exit(thread(1), holder).expect("it is held").is_empty());
        }
        assert_eq!(queue, Queue::default());
    }

    #[test]
    fn those_who_wait_are_served_in_the_order_of_their_coming() {
        let mut queue = Queue::default();
        assert_eq!(queue.enter(thread(1), A), Admission::Entered);
        let second = waits(queue.enter(thread(2), B));
        let third = waits(queue.enter(thread(3), A));
        assert_eq!(queue.exit(thread(1), A).expect("held")[..], [second]);
        assert_eq!(queue.exit(thread(2), B).expect("held")[..], [third]);
        assert!(queue.exit(thread(3), A).expect("held").is_empty());
        assert_eq!(queue.owner, None);
    }

    #[test]
    fn a_dead_holder_frees_what_it_held_and_waits_no_more() {
        let mut queue = Queue::default();
        assert_eq!(queue.enter(thread(1), A), Admission::Entered);
        let _dead = waits(queue.enter(thread(2), A));
        let alive = waits(queue.enter(thread(3), B));
        assert_eq!(queue.holder_gone(A)[..], [alive]);
        assert_eq!(queue.owner, Some(thread(3)));
    }

    #[test]
    fn a_thread_that_holds_through_two_nodes_keeps_it_when_one_dies() {
        let mut queue = Queue::default();
        assert_eq!(queue.enter(thread(1), A), Admission::Entered);
        assert_eq!(queue.enter(thread(1), B), Admission::Entered);
        assert!(queue.holder_gone(A).is_empty());
        assert_eq!(queue.owner, Some(thread(1)));
        assert_eq!(queue.exit(thread(1), A), Err(NotHeld));
    }

    #[test]
    fn an_abandoned_enter_is_skipped() {
        let mut queue = Queue::default();
        assert_eq!(queue.enter(thread(1), A), Admission::Entered);
        let given_up = waits(queue.enter(thread(2), B));
        let next = waits(queue.enter(thread(3), B));
        assert!(queue.abandon(given_up));
        assert!(!queue.abandon(given_up));
        assert_eq!(queue.exit(thread(1), A).expect("held")[..], [next]);
    }

    #[test]
    fn nobody_leaves_what_it_has_not_entered() {
        let mut queue = Queue::default();
        assert_eq!(queue.exit(thread(1), A), Err(NotHeld));
        assert_eq!(queue.enter(thread(1), A), Admission::Entered);
        assert_eq!(queue.exit(thread(2), A), Err(NotHeld));
        assert_eq!(queue.exit(thread(1), B), Err(NotHeld));
    }
}
