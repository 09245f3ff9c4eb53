//! Bodies of frames that may not take effect yet, and all that come behind them, in their order.
//!
//! A call or an answer whose references wait for their home (`Policy::Listing`), and a call that
//! this node relays and whose references it may not pass on yet. Rare, and empty otherwise.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use rmi_gc::{NodeId, ObjectId};
use rmi_transport::sync::{AtomicBool, Mutex, Ordering};
use rmi_transport::{Call, Outcome};

use super::receive::Received;
use super::{Session, Violation};
use crate::call::{Aim, ReceivedCall};
use crate::error::{Error, ErrorKind};
use crate::node::NodeInner;
use crate::reference::{Identity, Untyped};

/// What a frame is about, its references accounted for.
pub(super) enum Held {
    Call {
        call: ReceivedCall,
        /// Its caller may let go of whom it called before it runs.
        aim: Aim,
        /// Keeps the bridge that it is to be relayed by.
        keeps: Option<Untyped>,
        waits: bool,
        /// It was looked at, and could not be passed on yet to that node.
        to: Option<NodeId>,
    },
    Answer(u64, Outcome, Bytes, Received),
}

impl Held {
    fn waits(&self) -> bool {
        match self {
            Held::Call { waits, .. } => *waits,
            Held::Answer(_, _, _, received) => received.waits,
        }
    }

    /// The references that their user may not have yet, or that may not be passed on yet, and to
    /// whom.
    fn objects(&self) -> (Vec<ObjectId>, Option<NodeId>) {
        let (references, to) = match self {
            Held::Call { call, to, .. } => (&call.arguments.references, *to),
            Held::Answer(_, _, _, received) => (received.references(), None),
        };
        (references.iter().map(|reference| reference.id()).collect(), to)
    }
}

/// Filled by the driver alone, emptied by one task.
#[derive(Default)]
pub(super) struct Holding {
    is_holding: AtomicBool,
    queue: Mutex<VecDeque<Held>>,
}

impl Session {
    /// Whether anything is held: what comes now has to wait behind it.
    pub(super) fn is_holding(&self) -> bool {
        self.holding.is_holding.load(Ordering::Acquire)
    }

    /// Puts what a frame is about behind what is held.
    pub(super) fn hold(
        self: &Arc<Self>,
        node: &Arc<NodeInner>,
        body: Held,
    ) -> Result<(), Violation> {
        let (count, count_max) = (self.held(), node.limits.calls_in_progress_max);
        if count >= count_max {
            return Err(Violation::TooManyHeld { count, count_max });
        }
        self.put(node, body);
        Ok(())
    }

    pub(super) fn hold_call(
        self: &Arc<Self>,
        node: &Arc<NodeInner>,
        head: Call,
        payload: Bytes,
        received: Received,
    ) -> Result<(), Violation> {
        let aim = self.aim(node, &head)?;
        let keeps = keeper_of(node, &aim);
        let waits = received.waits;
        let call = received.into_call(head, payload);
        self.hold(node, Held::Call { call, aim, keeps, waits, to: None })
    }

    /// A call that is relayed could not be passed on yet.
    pub(crate) fn hold_relayed(
        self: &Arc<Self>,
        node: &Arc<NodeInner>,
        call: ReceivedCall,
        identity: &Arc<Identity>,
        to: NodeId,
    ) {
        let aim = Aim::Elsewhere(Arc::clone(identity));
        let keeps = keeper_of(node, &aim);
        self.put(node, Held::Call { call, aim, keeps, waits: true, to: Some(to) });
    }

    fn put(self: &Arc<Self>, node: &Arc<NodeInner>, body: Held) {
        let begins = {
            let mut queue = self.holding.queue.lock();
            match body {
                // It was the first, and is still.
                again @ Held::Call { to: Some(_), .. } => queue.push_front(again),
                body @ (Held::Call { .. } | Held::Answer(..)) => queue.push_back(body),
            }
            !self.holding.is_holding.swap(true, Ordering::AcqRel)
        };
        if begins {
            let (node, session) = (Arc::clone(node), Arc::clone(self));
            node.clone().spawn(async move { session.release_held(&node).await });
        }
    }

    async fn release_held(self: Arc<Self>, node: &Arc<NodeInner>) {
        while let Some((objects, to)) = self.objects_of_the_first() {
            let settled = match to {
                Some(to) => node.may_pass_on(&objects, to).await.map_err(drop),
                None => node.may_be_used(&objects).await,
            };
            if settled.is_err() {
                // It goes its way, and meets its error there.
                tracing::debug!(peer = %self.peer_name, "references stay in doubt");
            }
            if !self.is_open() {
                // What it held is let go behind the lock: references are in it.
                let held = std::mem::take(&mut *self.holding.queue.lock());
                drop(held);
            }
            let Some(body) = self.holding.queue.lock().pop_front() else { continue };
            if let Err(violation) = self.take_held(node, body) {
                let error = Error::new(ErrorKind::Protocol, violation.to_string());
                node.sessions.give_up(node, &self, error);
            }
            self.flush();
        }
    }

    fn take_held(self: &Arc<Self>, node: &Arc<NodeInner>, body: Held) -> Result<(), Violation> {
        match body {
            Held::Call { call, aim, keeps, .. } => {
                let run = self.run_call(call, |call| self.carry_out(node, call, aim));
                drop(keeps);
                run
            }
            Held::Answer(call, outcome, payload, received) => {
                self.take_answer(node, call, outcome, payload, received)
            }
        }
    }

    /// The objects that the first body waits for; `None` once nothing is held.
    fn objects_of_the_first(&self) -> Option<(Vec<ObjectId>, Option<NodeId>)> {
        let queue = self.holding.queue.lock();
        let objects = queue
            .front()
            .map(|held| if held.waits() { held.objects() } else { Default::default() });
        if objects.is_none() {
            self.holding.is_holding.store(false, Ordering::Release);
        }
        objects
    }

    /// How many bodies are held.
    pub(crate) fn held(&self) -> usize {
        self.holding.queue.lock().len()
    }
}

fn keeper_of(node: &Arc<NodeInner>, aim: &Aim) -> Option<Untyped> {
    match aim {
        Aim::Elsewhere(identity) => {
            let identity = node.table.acquire(identity.id)?;
            Some(Untyped::counted(node, identity))
        }
        Aim::Node | Aim::Object(_) | Aim::Nobody(_) => None,
    }
}
