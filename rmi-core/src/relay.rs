//! A bridge's proxy role, taken on when a call arrives at it (`gc.md`, rule 11).
//!
//! The frame travels on with its payload as it is; only the references in its table are counted
//! anew, here and there, and the answer is mapped back. Requests are forwarded in the order of
//! their coming, from the task that read them; a task of its own only waits for the answer.

use std::sync::Arc;

use parking_lot::Mutex;
use rmi_transport::{Outcome, Target};

use crate::call::builtin::{ENTER, EXIT};
use crate::call::{Answer, Answering, ReceivedCall, Undo, Way};
use crate::error::Error;
use crate::interface::Method;
use crate::marshal::{Message, Payload, Reply, ReplyBody};
use crate::node::NodeInner;
use crate::reference::Identity;
use crate::session::Session;
use crate::thread::ThreadId;

/// Carries a call of `session`'s peer onward to the object of `identity`.
pub(crate) fn forward(
    node: &Arc<NodeInner>,
    session: &Arc<Session>,
    call: ReceivedCall,
    identity: &Arc<Identity>,
) {
    node.table.relay_built(identity.id);
    node.stats.calls_relayed.add(1);
    let number = call.head.call;
    let forwarded = if number == 0 {
        forward_one_way(node, session, call, identity)
    } else {
        forward_and_wait(node, session, call, identity)
    };
    if let Err(error) = forwarded {
        session.reply(node, number, Reply::failed(error.on_object(identity.id)));
    }
}

fn forward_one_way(
    node: &Arc<NodeInner>,
    session: &Session,
    call: ReceivedCall,
    identity: &Identity,
) -> Result<(), Error> {
    let way = Way::onward(node, identity)?;
    let thread = call.head.thread.map(|thread| session.thread_from_wire(thread));
    if call.head.method == EXIT.id {
        session.relayed_holds.left(&way, thread);
    }
    way.send(node, &method_of(&call), thread, message_of(call))
}

fn forward_and_wait(
    node: &Arc<NodeInner>,
    session: &Arc<Session>,
    call: ReceivedCall,
    identity: &Arc<Identity>,
) -> Result<(), Error> {
    let way = Way::onward(node, identity)?;
    let number = call.head.call;
    let method = method_of(&call);
    let thread = call.head.thread.map(|thread| session.thread_from_wire(thread));
    let enters = thread.filter(|_| method.id == ENTER.id);
    let undo = enters.map_or(Undo::Nothing, |thread| Undo::Leave(way.target, thread));
    let pending = way.start(node, &method, thread, undo, message_of(call))?;
    let answering = Answering::new(node, session, number);
    let child = Arc::clone(session);
    session.incoming.spawn(node, number, async move {
        let reply = match pending.await {
            Ok(answer) => reply_of(answer, |outcome| {
                if let (Outcome::Ok, Some(thread)) = (outcome, enters) {
                    child.relayed_holds.entered(way, thread);
                }
            }),
            Err(error) => Reply::failed(error),
        };
        answering.finish(reply);
    });
    Ok(())
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
#[derive(Default)]
pub(crate) struct RelayedHolds(Mutex<Vec<Hold>>);

struct Hold {
    way: Way,
    thread: ThreadId,
    /// How many times the thread has entered.
    times: u64,
}

impl Hold {
    fn is(&self, way: &Way, thread: ThreadId) -> bool {
        same_target(&self.way, way) && self.thread == thread
    }
}

impl RelayedHolds {
    fn entered(&self, way: Way, thread: ThreadId) {
        let mut holds = self.0.lock();
        match holds.iter_mut().find(|hold| hold.is(&way, thread)) {
            Some(hold) => hold.times += 1,
            None => holds.push(Hold { way, thread, times: 1 }),
        }
    }

    fn left(&self, way: &Way, thread: Option<ThreadId>) {
        let mut holds = self.0.lock();
        let held = |hold: &Hold| thread.is_some_and(|thread| hold.is(way, thread));
        if let Some(at) = holds.iter().position(held) {
            holds[at].times -= 1;
            if holds[at].times == 0 {
                holds.swap_remove(at);
            }
        }
    }

    /// The child is gone: leave what it held.
    pub(crate) fn leave_all(&self, node: &Arc<NodeInner>) {
        let holds = std::mem::take(&mut *self.0.lock());
        for Hold { way, thread, times } in holds {
            for _ in 0..times {
                // If that session has ended too, its end has freed the monitor.
                let _ = way.send(node, &EXIT, Some(thread), Message::default());
            }
        }
    }
}

fn same_target(a: &Way, b: &Way) -> bool {
    let target = |way: &Way| match way.target {
        Target::Export(index) => (index, None),
        Target::Object { index, key } => (index, Some(key)),
    };
    Arc::ptr_eq(&a.session, &b.session) && target(a) == target(b)
}
