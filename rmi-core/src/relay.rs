//! A bridge's proxy role, taken on when a call arrives at it (`gc.md`, rule 11).
//!
//! The frame travels on with its payload as it is; only the references in its table are counted
//! anew, here and there, and the answer is mapped back. Requests are forwarded in the order of
//! their coming, from the task that read them; a task of its own only waits for the answer.

use std::sync::Arc;

use rmi_gc::{NodeId, ObjectId};
use rmi_transport::sync::Mutex;
use rmi_transport::{Call, Outcome};

use crate::call::builtin::{ENTER, EXIT};
use crate::call::{Answer, Answering, ReceivedCall, Undo, Way};
use crate::error::{Error, ErrorKind};
use crate::interface::Method;
use crate::marshal::{Arguments, Message, Payload, Reply, ReplyBody};
use crate::node::NodeInner;
use crate::reference::{Identity, Untyped};
use crate::session::{Session, Unsent};
use crate::thread::ThreadId;

/// Carries a call of `session`'s peer onward to the object of `identity`.
pub(crate) fn forward(
    node: &Arc<NodeInner>,
    session: &Arc<Session>,
    call: ReceivedCall,
    identity: &Arc<Identity>,
) {
    node.table.relay_built(identity.id);
    session.stats.calls_relayed.add(1);
    let number = call.head.call;
    let forwarded = if number == 0 {
        forward_one_way(node, session, call, identity)
    } else {
        forward_and_wait(node, session, call, identity)
    };
    match forwarded {
        Ok(()) => {}
        Err(NotForwarded::NotYet(call, to)) => session.hold_relayed(node, *call, identity, to),
        Err(NotForwarded::Failed(error)) => {
            session.reply(node, number, Reply::failed(error.on_object(identity.id)));
        }
    }
}

/// Why a call was not carried onward.
enum NotForwarded {
    /// A reference in it may not be passed on to that node yet.
    NotYet(Box<ReceivedCall>, NodeId),
    Failed(Error),
}

impl NotForwarded {
    fn new(unsent: Unsent, head: Call, message: Message, to: NodeId) -> Self {
        match (unsent, message.payload) {
            (Unsent::NotYet, Payload::Received(payload)) => {
                let arguments = Arguments { payload, references: message.references };
                Self::NotYet(Box::new(ReceivedCall { head, arguments, broken: None }), to)
            }
            (unsent, Payload::Received(_) | Payload::Encoded(_)) => {
                Self::Failed(unsent.into_error())
            }
        }
    }
}

fn forward_one_way(
    node: &Arc<NodeInner>,
    session: &Session,
    call: ReceivedCall,
    identity: &Identity,
) -> Result<(), NotForwarded> {
    let thread = call.head.thread.map(|thread| session.thread_from_wire(thread));
    if call.head.method == EXIT.id {
        // By the way on which it entered, and only if it did: the home takes an exit for ours.
        session.relayed_holds.leave(node, identity.id, thread);
        return Ok(());
    }
    let way = onward(node, identity).map_err(NotForwarded::Failed)?;
    let (method, head) = (method_of(&call), call.head.clone());
    let mut message = message_of(call);
    way.send(node, &method, thread, &mut message)
        .map_err(|unsent| NotForwarded::new(unsent, head, message, way.session.peer))
}

fn forward_and_wait(
    node: &Arc<NodeInner>,
    session: &Arc<Session>,
    call: ReceivedCall,
    identity: &Arc<Identity>,
) -> Result<(), NotForwarded> {
    let way = onward(node, identity).map_err(NotForwarded::Failed)?;
    let number = call.head.call;
    let method = method_of(&call);
    let thread = call.head.thread.map(|thread| session.thread_from_wire(thread));
    let enters = thread.filter(|_| method.id == ENTER.id).and_then(|thread| {
        let identity = node.table.acquire(identity.id)?;
        Some(Hold {
            reference: Untyped::counted(node, identity),
            way: way.clone(),
            thread,
            times: 1,
        })
    });
    let undo = enters
        .as_ref()
        .map_or(Undo::Nothing, |hold| Undo::Leave(hold.reference.clone(), way.target, hold.thread));
    let head = call.head.clone();
    let mut message = message_of(call);
    let pending = way
        .start(node, &method, thread, undo, &mut message)
        .map_err(|unsent| NotForwarded::new(unsent, head, message, way.session.peer))?;
    let answering = Answering::new(node, session, number);
    let child = Arc::clone(session);
    session.incoming.spawn(node, number, async move {
        let reply = match pending.await {
            Ok(answer) => reply_of(answer, |outcome| {
                if let (Outcome::Ok, Some(hold)) = (outcome, enters) {
                    child.relayed_holds.entered(hold);
                }
            }),
            Err(error) => Reply::failed(error),
        };
        answering.finish(reply);
    });
    Ok(())
}

/// The way to the home, if the home reads what it is sent: what a child sends must not fill it.
fn onward(node: &NodeInner, identity: &Identity) -> Result<Way, Error> {
    let way = Way::onward(node, identity)?;
    if !way.session.reads_its_answers() {
        let text = "the way to the home is full (bytes_buffered_max)";
        return Err(Error::new(ErrorKind::LimitReached, text));
    }
    Ok(way)
}

fn method_of(call: &ReceivedCall) -> Method {
    let (id, fingerprint) = (call.head.method, call.head.fingerprint);
    Method { interface: "", name: "", signature: "", id, fingerprint }
}

fn message_of(call: ReceivedCall) -> Message {
    let arguments = call.arguments;
    Message { payload: Payload::Received(arguments.payload), references: arguments.references }
}

fn reply_of(answer: Answer, seen: impl FnOnce(Outcome)) -> Reply {
    let Answer { outcome, payload, references } = answer;
    seen(outcome);
    let message = Message { payload: Payload::Received(payload), references };
    Reply(match outcome {
        Outcome::Ok => ReplyBody::Ok(message),
        Outcome::Err => ReplyBody::Err(message),
        Outcome::Failed => ReplyBody::Relayed(message),
    })
}

/// Monitors that a child holds through this node. The home knows only us, so we leave them if the
/// child's session ends.
pub(crate) struct RelayedHolds(Mutex<Option<Vec<Hold>>>);

struct Hold {
    /// Keeps the bridge, and with it what the target of `way` names.
    reference: Untyped,
    way: Way,
    thread: ThreadId,
    /// How many times the thread has entered.
    times: u64,
}

impl Hold {
    fn is(&self, object: ObjectId, thread: ThreadId) -> bool {
        self.reference.id() == object && self.thread == thread
    }

    /// Leaves once. If the session of that way has ended, its end has freed the monitor.
    fn send_exit(way: &Way, node: &NodeInner, thread: ThreadId) {
        let _ = way.send(node, &EXIT, Some(thread), &mut Message::default());
    }
}

impl Default for RelayedHolds {
    fn default() -> Self {
        Self(Mutex::new(Some(Vec::new())))
    }
}

impl RelayedHolds {
    /// The child is inside; if it has gone meanwhile, it is outside again.
    fn entered(&self, hold: Hold) {
        // Declared first, so that it is dropped behind the lock: a reference is in it.
        let _dead;
        let mut holds = self.0.lock();
        let Some(holds) = &mut *holds else {
            drop(holds);
            return Hold::send_exit(&hold.way, hold.reference.node(), hold.thread);
        };
        // A hold of the same thread by another way has died with that way's session.
        match holds.iter_mut().find(|known| known.is(hold.reference.id(), hold.thread)) {
            Some(known) if Arc::ptr_eq(&known.way.session, &hold.way.session) => known.times += 1,
            Some(known) => _dead = std::mem::replace(known, hold),
            None => holds.push(hold),
        }
    }

    fn leave(&self, node: &NodeInner, object: ObjectId, thread: Option<ThreadId>) {
        let Some(thread) = thread else { return };
        let mut guard = self.0.lock();
        let Some(holds) = &mut *guard else { return };
        let Some(at) = holds.iter().position(|hold| hold.is(object, thread)) else { return };
        holds[at].times -= 1;
        let way = holds[at].way.clone();
        let last = (holds[at].times == 0).then(|| holds.swap_remove(at));
        drop(guard);
        Hold::send_exit(&way, node, thread);
        drop(last);
    }

    /// The child is gone: leave what it held.
    pub(crate) fn leave_all(&self, node: &Arc<NodeInner>) {
        let holds = self.0.lock().take();
        for hold in holds.into_iter().flatten() {
            for _ in 0..hold.times {
                Hold::send_exit(&hold.way, node, hold.thread);
            }
        }
    }
}
