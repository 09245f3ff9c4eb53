//! Calls that wait for their answer: one slot each, from the request to the answer, whatever
//! happens to the caller in between.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use rmi_transport::sync::{Mutex, assert_unlocked};
use rmi_transport::{Body, Outcome, Target};
use slab::Slab;

use crate::error::Error;
use crate::marshal::{Message, References};
use crate::node::NodeInner;
use crate::reference::Untyped;
use crate::session::{Session, Unsent};
use crate::thread::ThreadId;

/// An answer as it arrived; its references are accounted for, its payload is not decoded.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) outcome: Outcome,
    pub(crate) payload: Bytes,
    pub(crate) references: References,
}

/// What to do if an answer finds that its caller has gone.
#[derive(Debug, Default)]
pub(crate) enum Undo {
    #[default]
    Nothing,
    /// It entered a monitor: leave it again. The reference keeps what the target names.
    Leave(Untyped, Target, ThreadId),
}

/// ```text
///  Waiting ──answer, or end of the session──▶ Done ──taken by the caller, or caller gone──▶ free
///     └──caller gone──▶ Abandoned ──answer, or end of the session───────────────────────▶ free
/// ```
enum Slot {
    Waiting(Option<Waker>, Undo),
    /// The caller may still go away without having taken it.
    Done(Result<Answer, Error>, Undo),
    /// A cancellation is on its way; the number is not reused before the answer came.
    Abandoned(Undo),
}

/// An answer whose caller has gone, and what is to be undone.
pub(crate) type Orphan = (Undo, Result<Answer, Error>);

/// What a caller that goes away leaves behind.
enum Left {
    /// The answer is still to come.
    Waiting,
    /// The answer had come, and was not taken.
    Answered(Orphan),
    Nothing,
}

/// No such call is waiting: the peer answers what was never asked, or twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotWaiting;

/// The calls of one session that wait for their answer.
#[derive(Default)]
pub(crate) struct Pending(Mutex<Slab<Slot>>);

impl Pending {
    fn open(&self, undo: Undo) -> usize {
        self.0.lock().insert(Slot::Waiting(None, undo))
    }

    /// Files the answer of call `number`. If its caller has gone, gives the answer back with what
    /// is to be undone.
    pub(crate) fn complete(
        &self,
        number: u64,
        result: Result<Answer, Error>,
    ) -> Result<Option<Orphan>, NotWaiting> {
        let at = key_of(number).ok_or(NotWaiting)?;
        let mut slots = self.0.lock();
        let slot = slots.get_mut(at).ok_or(NotWaiting)?;
        match slot {
            Slot::Waiting(..) => {
                let waker = slot.done(result);
                drop(slots);
                wake(waker);
                Ok(None)
            }
            Slot::Abandoned(_) => match slots.remove(at) {
                Slot::Abandoned(undo) => Ok(Some((undo, result))),
                Slot::Waiting(..) | Slot::Done(..) => unreachable!("it was seen to be abandoned"),
            },
            Slot::Done(..) => Err(NotWaiting),
        }
    }

    /// The session has ended: no answer will come.
    pub(crate) fn fail_all(&self, error: &Error) {
        // Wakers and references are let go behind the lock.
        let (mut wakers, mut undone) = (Vec::new(), Vec::new());
        self.0.lock().retain(|_, slot| match slot {
            Slot::Waiting(..) => {
                wakers.extend(slot.done(Err(error.clone())));
                true
            }
            Slot::Done(..) => true,
            Slot::Abandoned(undo) => {
                undone.push(std::mem::take(undo));
                false
            }
        });
        wake(wakers);
    }

    /// Calls whose slot is not free yet.
    pub(crate) fn len(&self) -> usize {
        self.0.lock().len()
    }

    fn poll(&self, at: usize, cx: &Context<'_>) -> Poll<Result<Answer, Error>> {
        // Declared first, so that they are dropped behind the lock: a waker is foreign code.
        let (_stale, _undo);
        let mut slots = self.0.lock();
        match slots.get_mut(at) {
            Some(Slot::Waiting(waker, _)) => {
                match waker {
                    Some(known) if known.will_wake(cx.waker()) => {}
                    Some(_) | None => _stale = waker.replace(cx.waker().clone()),
                }
                Poll::Pending
            }
            Some(Slot::Done(..)) => match slots.remove(at) {
                Slot::Done(result, undo) => {
                    _undo = undo;
                    Poll::Ready(result)
                }
                Slot::Waiting(..) | Slot::Abandoned(_) => unreachable!("it was seen to be done"),
            },
            Some(Slot::Abandoned(_)) | None => unreachable!("a call was polled after it ended"),
        }
    }

    /// The caller has gone.
    fn abandon(&self, at: usize) -> Left {
        // A waker is foreign code: it is dropped behind the lock.
        let _waker;
        let mut slots = self.0.lock();
        match slots.get_mut(at) {
            Some(slot @ Slot::Waiting(..)) => {
                let (waker, undo) = slot.take_waiting();
                _waker = waker;
                *slot = Slot::Abandoned(undo);
                Left::Waiting
            }
            Some(Slot::Done(..)) => match slots.remove(at) {
                Slot::Done(result, undo) => Left::Answered((undo, result)),
                Slot::Waiting(..) | Slot::Abandoned(_) => unreachable!("it was seen to be done"),
            },
            Some(Slot::Abandoned(_)) | None => Left::Nothing,
        }
    }
}

impl Slot {
    /// The answer of a call that waits; gives whom to wake.
    fn done(&mut self, result: Result<Answer, Error>) -> Option<Waker> {
        let (waker, undo) = self.take_waiting();
        *self = Slot::Done(result, undo);
        waker
    }

    /// What a waiting slot holds; the slot is to be overwritten.
    fn take_waiting(&mut self) -> (Option<Waker>, Undo) {
        match self {
            Slot::Waiting(waker, undo) => (waker.take(), std::mem::take(undo)),
            Slot::Done(..) | Slot::Abandoned(_) => (None, Undo::Nothing),
        }
    }
}

/// Wakers are foreign code.
fn wake(wakers: impl IntoIterator<Item = Waker>) {
    assert_unlocked("a caller is woken");
    wakers.into_iter().for_each(Waker::wake);
}

/// Call numbers on the wire start at 1: 0 is a call that is not answered.
fn number_of(at: usize) -> u64 {
    at as u64 + 1
}

fn key_of(number: u64) -> Option<usize> {
    usize::try_from(number.checked_sub(1)?).ok()
}

/// A call under way. Dropping it cancels the handler.
pub(crate) struct PendingCall {
    node: Arc<NodeInner>,
    session: Arc<Session>,
    at: usize,
    /// The frame that carries the request.
    frame: u64,
    over: bool,
}

impl PendingCall {
    /// Sends a request; `body` makes it, given the call's number.
    ///
    /// # Errors
    ///
    /// [`Unsent`]; the message is as it was.
    pub(crate) fn start(
        node: &Arc<NodeInner>,
        session: &Arc<Session>,
        undo: Undo,
        message: &mut Message,
        body: impl FnOnce(u64) -> Body,
    ) -> Result<Self, Unsent> {
        let at = session.pending.open(undo);
        // From here on a failure frees the slot by dropping the call.
        let mut call = Self {
            node: Arc::clone(node),
            session: Arc::clone(session),
            at,
            frame: 0,
            over: false,
        };
        match session.send(node, body(number_of(at)), message) {
            Ok(frame) => call.frame = frame,
            Err(unsent) => {
                call.over = true;
                let slot = session.pending.0.lock().try_remove(at);
                drop(slot);
                return Err(unsent);
            }
        }
        session.flush();
        Ok(call)
    }
}

impl Future for PendingCall {
    type Output = Result<Answer, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let result = self.session.pending.poll(self.at, cx);
        self.over = result.is_ready();
        result.map(|result| result.map_err(|error| self.session.sharpen(error, self.frame)))
    }
}

impl Drop for PendingCall {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        match self.session.pending.abandon(self.at) {
            Left::Waiting => {
                let cancel = Body::Cancel { call: number_of(self.at) };
                // If the session has ended, there is nobody left to tell.
                if self.session.send(&self.node, cancel, &mut Message::default()).is_ok() {
                    self.session.flush();
                }
            }
            Left::Answered(orphan) => self.session.undo(&self.node, orphan),
            Left::Nothing => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn answer() -> Result<Answer, Error> {
        let (payload, references) = (Bytes::new(), References::new());
        Ok(Answer { outcome: Outcome::Ok, payload, references })
    }

    #[test]
    fn an_answer_that_nobody_asked_for_or_that_comes_twice_is_noticed() {
        let pending = Pending::default();
        assert_eq!(pending.complete(0, answer()).unwrap_err(), NotWaiting);
        assert_eq!(pending.complete(1, answer()).unwrap_err(), NotWaiting);
        let at = pending.open(Undo::Nothing);
        assert!(pending.complete(number_of(at), answer()).expect("it waits").is_none());
        assert_eq!(pending.complete(number_of(at), answer()).unwrap_err(), NotWaiting);
    }

    #[test]
    fn an_abandoned_slot_is_free_only_after_its_answer() {
        let pending = Pending::default();
        let at = pending.open(Undo::Nothing);
        assert!(matches!(pending.abandon(at), Left::Waiting));
        assert_ne!(pending.open(Undo::Nothing), at, "the number is reused too early");
        assert!(pending.complete(number_of(at), answer()).expect("it waits").is_some());
        assert_eq!(pending.open(Undo::Nothing), at);
    }

    #[test]
    fn the_end_of_the_session_leaves_only_what_a_caller_has_yet_to_take() {
        let pending = Pending::default();
        let waiting = pending.open(Undo::Nothing);
        let abandoned = pending.open(Undo::Nothing);
        pending.abandon(abandoned);
        pending.fail_all(&ErrorKind::Disconnected.into());
        assert_eq!(pending.len(), 1);
        let taken = pending.poll(waiting, &Context::from_waker(Waker::noop()));
        assert!(matches!(taken, Poll::Ready(Err(e)) if e.kind() == ErrorKind::Disconnected));
        assert_eq!(pending.len(), 0);
    }
}
