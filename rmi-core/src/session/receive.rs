//! What arrives: acknowledgement, then references in their order, then releases; only then what
//! the frame is about. One serial task does it, before any payload is decoded.

use std::sync::Arc;

use bytes::Bytes;
use rmi_gc::{self as gc, ExportIndex, FrameNumber, NodeId, ObjectId, ObjectIndex, PeerMisbehaved};
use rmi_transport::sync::Ordering;
use rmi_transport::{
    Body, Call, Description, Frame, FrameError, Goodbye, News, Notice, Outcome, Reference,
    SessionError,
};
use smallvec::SmallVec;

use super::Session;
use super::held::Held;
use crate::call::builtin::EXIT;
use crate::call::{Answer, Orphan, ReceivedCall, Undo, Way};
use crate::error::{Error, ErrorKind, Executed};
use crate::interface::InterfaceId;
use crate::marshal::{Arguments, Message, References};
use crate::monitor::NotHeld;
use crate::node::NodeInner;
use crate::reaper;
use crate::reference::{Identity, Key, Untyped};
use crate::table::{Arrived, NotCallable};

/// The peer broke the protocol: its session ends, and no other.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Violation {
    #[error("a malformed frame: {0}")]
    Frame(#[from] FrameError),
    #[error("{0}")]
    Session(#[from] SessionError),
    #[error("{0}")]
    Collector(#[from] PeerMisbehaved),
    #[error("named export index {0}, which it was never given")]
    NeverGiven(u64),
    #[error("answered call {0}, which is not waiting")]
    NotWaiting(u64),
    #[error("used call number {0} for two calls at once")]
    CallNumberInUse(u64),
    #[error("{0}")]
    NotHeld(NotHeld),
    #[error("wanted an answer to leaving a monitor, or none to entering one")]
    EnterOrExitOfAnotherKind,
    #[error("{count} references held or not acknowledged, where references_max is {count_max}")]
    TooManyReferences { count: usize, count_max: usize },
    #[error("{count} frames wait for the homes of their references, where {count_max} may")]
    TooManyHeld { count: usize, count_max: usize },
    #[error("{bytes} bytes wait to be read, where {bytes_max} may")]
    ReadsNothing { bytes: usize, bytes_max: usize },
}

impl Violation {
    /// What the peer is told.
    pub(super) fn reason(&self) -> Goodbye {
        match self {
            Violation::TooManyReferences { .. }
            | Violation::TooManyHeld { .. }
            | Violation::ReadsNothing { .. } => Goodbye::LimitReached,
            Violation::Frame(_)
            | Violation::Session(_)
            | Violation::Collector(_)
            | Violation::NeverGiven(_)
            | Violation::NotWaiting(_)
            | Violation::CallNumberInUse(_)
            | Violation::NotHeld(_)
            | Violation::EnterOrExitOfAnotherKind => Goodbye::ProtocolViolation,
        }
    }
}

/// What the driver does next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    GoOn,
    /// It was the peer's last frame.
    End(Goodbye, String),
}

/// The references of a frame, and why one of them leads nowhere, if one does.
#[derive(Default)]
pub(super) struct Received {
    references: References,
    broken: Option<Error>,
    /// Their user may not have them before the home has answered (`Policy::Listing`).
    pub(super) waits: bool,
}

impl Received {
    pub(super) fn references(&self) -> &References {
        &self.references
    }

    pub(super) fn into_call(self, head: Call, payload: Bytes) -> ReceivedCall {
        let Received { references, broken, .. } = self;
        ReceivedCall { head, arguments: Arguments { payload, references }, broken }
    }
}

/// So many adoptions wait to be confirmed at most, so that they fit in any frame.
const ADOPTED_MAX: usize = 256;

impl Session {
    /// Takes one frame of so many bytes. Answers and further frames are only enqueued; the driver
    /// flushes.
    pub(super) fn receive(
        self: &Arc<Self>,
        node: &Arc<NodeInner>,
        frame: Frame,
        bytes: usize,
    ) -> Result<Next, Violation> {
        let Frame { ack, wants_ack, body, references, notices, releases, payload } = frame;
        self.take_acknowledgement(node, ack)?;
        self.take_adoptions(node, &notices)?;
        let received = self.take_references(node, references)?;
        self.take_notices(node, &notices, &body)?;
        for (index, count) in releases {
            self.take_release(node, ExportIndex(index), count)?;
        }
        // Only now may a frame of ours acknowledge this one: it is accounted for.
        let pressing = self.link.number(|numbering| {
            numbering.taken(wants_ack, bytes);
            numbering.ack_pressing()
        });
        if pressing == Some(true) {
            self.urgent.store(true, Ordering::Release);
        }
        if wants_ack {
            self.ask_for_attention();
        }
        let holds = self.is_holding() || received.waits;
        match body {
            Body::Call(head) if holds => self.hold_call(node, head, payload, received)?,
            Body::Call(head) => {
                let call = received.into_call(head, payload);
                self.run_call(call, |call| self.dispatch(node, call))?;
            }
            Body::Answer { call, outcome } if holds => {
                self.hold(node, Held::Answer(call, outcome, payload, received))?;
            }
            Body::Answer { call, outcome } => {
                self.take_answer(node, call, outcome, payload, received)?;
            }
            // One that is held will run, and be answered all the same.
            Body::Cancel { call } => self.incoming.cancel(call),
            Body::Control => {}
            Body::Goodbye { reason, text } => return Ok(Next::End(reason, text)),
        }
        Ok(Next::GoOn)
    }

    /// Runs a call whose number is free.
    pub(super) fn run_call(
        self: &Arc<Self>,
        call: ReceivedCall,
        run: impl FnOnce(ReceivedCall) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        if self.incoming.is_running(call.head.call) {
            return Err(Violation::CallNumberInUse(call.head.call));
        }
        run(call)
    }

    fn take_acknowledgement(&self, node: &NodeInner, ack: u64) -> Result<(), Violation> {
        let Some(up_to) = self.link.acknowledged(ack)? else { return Ok(()) };
        let mut unpinned: SmallVec<[(ObjectId, u32); 4]> = SmallVec::new();
        self.ledger
            .lock()
            .acknowledged(FrameNumber(up_to), |object, count| unpinned.push((object, count)));
        for (object, count) in unpinned {
            let freed = node.table.unpinned(object, self.peer, count, &node.sessions);
            reaper::reap(freed);
        }
        Ok(())
    }

    /// Adoptions that the peer confirms: each is one reference received (rule 9).
    fn take_adoptions(&self, node: &NodeInner, notices: &[Notice]) -> Result<(), Violation> {
        for notice in notices {
            let Notice::Adopted { index } = *notice else { continue };
            self.stats.adopted_received.add(1);
            let id = ObjectId { home: self.peer, index: ObjectIndex(index) };
            let index = ExportIndex(index);
            self.ledger.lock().adopted(index, id)?;
            if !node.table.adopted(id, index, &node.sessions)? {
                // Whoever asked for it has gone meanwhile.
                self.owe(index, 1);
            }
        }
        Ok(())
    }

    /// All other notices: behind the references, of which they may speak.
    fn take_notices(
        &self,
        node: &NodeInner,
        notices: &[Notice],
        body: &Body,
    ) -> Result<(), Violation> {
        for notice in notices {
            match *notice {
                Notice::Adopted { .. } => {}
                Notice::Adopt { index, key } => {
                    self.stats.adopts_received.add(1);
                    self.adopt(node, ObjectIndex(index), &key, body);
                }
                Notice::Gone { index } => {
                    self.stats.gone_received.add(1);
                    let id = ObjectId { home: self.peer, index: ObjectIndex(index) };
                    self.ledger.lock().gone(id)?;
                    node.table.object_gone(id, &node.sessions);
                }
                Notice::Path { index, news } => {
                    self.stats.path_news_received.add(1);
                    let news = match news {
                        News::Reroot => gc::News::Reroot,
                        News::Confirm => gc::News::Confirm,
                        News::Leaving => gc::News::Leaving,
                    };
                    let meaning = self.ledger.lock().meaning(ExportIndex(index));
                    if let Some(id) = meaning {
                        node.table.told(id, self.peer, news, &node.sessions);
                    }
                }
            }
        }
        Ok(())
    }

    /// The peer asks to be counted as a holder of an object of ours (rule 8).
    fn adopt(&self, node: &NodeInner, index: ObjectIndex, key: &Key, body: &Body) {
        let id = ObjectId { home: node.id, index };
        // Under the outgoing lock: once it is counted, a reference may be written that relies on it.
        let owed = self.link.enqueue(|_| {
            let adopted = node.table.adopts(self.peer, index, key);
            let mut ledger = self.ledger.lock();
            match adopted {
                Ok(()) => ledger.owe_adopted(id),
                Err(NotCallable::Gone | NotCallable::WrongKey) => ledger.owe_gone(id),
            }
            self.has_notices.store(true, Ordering::Release);
            ledger.owed_adopted()
        });
        if owed >= Some(ADOPTED_MAX) {
            self.send_control(node);
        }
        match body {
            // The answer takes it along.
            Body::Call(Call { call: 1.., .. }) => self.ask_for_attention(),
            Body::Call(_)
            | Body::Answer { .. }
            | Body::Cancel { .. }
            | Body::Control
            | Body::Goodbye { .. } => {
                self.urgent.store(true, Ordering::Release);
            }
        }
    }

    fn take_references(
        &self,
        node: &Arc<NodeInner>,
        rows: SmallVec<[Reference; 1]>,
    ) -> Result<Received, Violation> {
        let mut received = Received::default();
        if rows.is_empty() {
            return Ok(received);
        }
        self.stats.references_received.add(rows.len() as u64);
        for row in rows {
            match self.take_reference(node, row)? {
                Ok(Arrived { identity, waits }) => {
                    received.waits |= waits;
                    received.references.push(Untyped::counted(node, identity));
                }
                Err(error) => received.broken = Some(error),
            }
        }
        let (count, count_max) = (self.ledger.lock().remembered(), node.limits.references_max);
        if count > count_max {
            return Err(Violation::TooManyReferences { count, count_max });
        }
        Ok(received)
    }

    /// Accounts for one reference (rule 3). An inner error is a reference that leads nowhere: the
    /// peer may have it rightly, if we gave up the node that it came by.
    fn take_reference(
        &self,
        node: &NodeInner,
        row: Reference,
    ) -> Result<Result<Arrived, Error>, Violation> {
        let received = |index, depth, identity| {
            node.table.received(self.peer, index, depth, identity, &node.sessions)
        };
        let home = |identity| Arrived { identity, waits: false };
        match row {
            Reference::Described(description) => {
                let index = ExportIndex(description.index);
                let depth = description.depth;
                let identity = Arc::new(self.identity(*description));
                self.ledger.lock().described(index, identity.id, Arc::clone(&identity))?;
                Ok(Ok(received(index, depth, identity)?))
            }
            Reference::Known { index } => {
                let index = ExportIndex(index);
                let (_, identity) = self.ledger.lock().known(index)?;
                Ok(Ok(received(index, identity.depth, identity)?))
            }
            Reference::Yours { index } => {
                let own = node.table.received_own(self.peer, ExportIndex(index));
                own.map(home).map(Ok).ok_or(Violation::NeverGiven(index))
            }
            Reference::YoursByKey { index, key } => {
                let id = ObjectId { home: node.id, index: ObjectIndex(index) };
                let own = node.table.received_own_by_key(id.index, &key);
                Ok(own.map(home).map_err(|reason| {
                    let kind = match reason {
                        NotCallable::Gone => ErrorKind::NoSuchObject,
                        NotCallable::WrongKey => ErrorKind::Denied,
                    };
                    let text = format!("the message holds a reference to {id}");
                    Error::new(kind, text).executed_as(Executed::No)
                }))
            }
        }
    }

    fn identity(&self, description: Description) -> Identity {
        let Description { home, object, key, interfaces, endpoints, depth, .. } = description;
        let id = ObjectId { home: home.map_or(self.peer, NodeId), index: ObjectIndex(object) };
        Identity {
            id,
            key,
            depth,
            interfaces: interfaces.into_iter().map(InterfaceId).collect(),
            endpoints: match home {
                None => Arc::clone(&self.endpoints),
                // An address of a scheme that we do not know is one that we cannot dial.
                Some(_) => endpoints.iter().filter_map(|text| text.parse().ok()).collect(),
            },
        }
    }

    fn take_release(
        &self,
        node: &NodeInner,
        index: ExportIndex,
        count: u32,
    ) -> Result<(), Violation> {
        self.stats.releases_received.add(1);
        let freed = node.table.released(index, self.peer, count, &node.sessions)?;
        reaper::reap(freed);
        Ok(())
    }

    pub(super) fn take_answer(
        self: &Arc<Self>,
        node: &Arc<NodeInner>,
        call: u64,
        outcome: Outcome,
        payload: Bytes,
        received: Received,
    ) -> Result<(), Violation> {
        let Received { references, broken, .. } = received;
        let result = match broken {
            Some(error) => Err(error.executed_as(Executed::Yes)),
            None => Ok(Answer { outcome, payload, references }),
        };
        let late = self.pending.complete(call, result);
        if let Some(orphan) = late.map_err(|_| Violation::NotWaiting(call))? {
            self.undo(node, orphan);
        }
        Ok(())
    }

    /// An answer came, and its caller has gone.
    pub(crate) fn undo(self: &Arc<Self>, node: &NodeInner, (undo, answer): Orphan) {
        if let (Undo::Leave(reference, target, thread), Ok(Answer { outcome: Outcome::Ok, .. })) =
            (undo, answer)
        {
            // Whoever wanted to enter this monitor has gone, and is inside.
            let way = Way { session: Arc::clone(self), target, relayed: false };
            let _ = way.send(node, &EXIT, Some(thread), &mut Message::default());
            // Not before: a release on that frame, or an earlier one, would void its target.
            drop(reference);
        }
    }
}
