//! Dispatch: a call frame to its object, its handler polled once in place, and a task of its own
//! only if it is not ready.

use std::any::Any;
use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use rmi_gc::{ExportIndex, ObjectIndex};
use rmi_transport::sync::{Mutex, assert_unlocked};
use rmi_transport::{Call, Target};
use tokio::task::AbortHandle;

use super::builtin::{self, Builtin};
use super::{Answering, builtin::NODE};
use crate::error::{Error, ErrorKind};
use crate::interface::{BoxFuture, Exported, RESERVED_METHODS};
use crate::marshal::{Arguments, Reply};
use crate::node::NodeInner;
use crate::reference::Identity;
use crate::relay;
use crate::session::{Session, Violation};
use crate::table::{Callee, NotCallable};
use crate::thread::{Entered, ThreadId};

/// A call as it arrived: its references are accounted for, its payload is not decoded.
pub(crate) struct ReceivedCall {
    pub(crate) head: Call,
    pub(crate) arguments: Arguments,
    /// A reference in it leads nowhere any more: the call fails before its handler runs.
    pub(crate) broken: Option<Error>,
}

/// Whom a call is for, as was found when its frame was taken: while the call waits, its caller may
/// let go of the object.
pub(crate) enum Aim {
    /// The node itself.
    Node,
    Object(Arc<Exported>),
    /// An object elsewhere, for which this node is asked to relay.
    Elsewhere(Arc<Identity>),
    /// An object that is gone, or a key that is wrong.
    Nobody(Error),
}

impl Session {
    /// Serves one call. An answer is only enqueued: all answers of one read go out in one write.
    pub(crate) fn dispatch(
        self: &Arc<Self>,
        node: &Arc<NodeInner>,
        call: ReceivedCall,
    ) -> Result<(), Violation> {
        let aim = self.aim(node, &call.head)?;
        self.carry_out(node, call, aim)
    }

    /// Whom a call is for. A wrong index is never excused.
    pub(crate) fn aim(&self, node: &NodeInner, head: &Call) -> Result<Aim, Violation> {
        check_builtin(head)?;
        match head.target {
            Target::Export(NODE) => Ok(Aim::Node),
            Target::Export(index) => match node.table.callee(ExportIndex(index), self.peer) {
                Some(Callee::Object(object)) => Ok(Aim::Object(object)),
                Some(Callee::Elsewhere(identity)) => Ok(Aim::Elsewhere(identity)),
                None => Err(Violation::NeverGiven(index)),
            },
            Target::Object { index, key } => {
                Ok(match node.table.callee_by_key(ObjectIndex(index), &key) {
                    Ok(object) => Aim::Object(object),
                    Err(reason) => Aim::Nobody(not_callable(reason, index)),
                })
            }
        }
    }

    /// Has a call run, or turns it down.
    pub(crate) fn carry_out(
        self: &Arc<Self>,
        node: &Arc<NodeInner>,
        call: ReceivedCall,
        aim: Aim,
    ) -> Result<(), Violation> {
        self.stats.calls_received.add(1);
        let number = call.head.call;
        if let Some(error) = self.turn_down(node, &call) {
            self.reply(node, number, Reply::failed(error));
            return Ok(());
        }
        match aim {
            Aim::Node => {
                let reply = builtin::of_node(node, call.head.method, call.arguments);
                self.reply(node, number, reply);
            }
            Aim::Object(object) => return self.serve(node, call, object),
            Aim::Elsewhere(identity) => relay::forward(node, self, call, &identity),
            Aim::Nobody(error) => self.reply(node, number, Reply::failed(error)),
        }
        Ok(())
    }

    /// Why this call cannot run, whatever it calls.
    fn turn_down(&self, node: &NodeInner, call: &ReceivedCall) -> Option<Error> {
        let calls_max = node.limits.calls_in_progress_max;
        if call.head.method == builtin::EXIT.id {
            return None;
        }
        if node.is_closing() {
            return Some(Error::new(ErrorKind::ShutDown, "the node is shutting down"));
        }
        if self.incoming.running() >= calls_max {
            let text = format!("calls_in_progress_max is {calls_max}");
            return Some(Error::new(ErrorKind::LimitReached, text));
        }
        if !self.reads_its_answers() {
            let bytes_max = node.limits.bytes_buffered_max;
            let text = format!("answers wait to be read, bytes_buffered_max is {bytes_max}");
            return Some(Error::new(ErrorKind::LimitReached, text));
        }
        call.broken.clone()
    }

    fn serve(
        self: &Arc<Self>,
        node: &Arc<NodeInner>,
        call: ReceivedCall,
        object: Arc<Exported>,
    ) -> Result<(), Violation> {
        let Call { call: number, method, fingerprint, thread, .. } = call.head;
        let thread = thread.map(|thread| self.thread_from_wire(thread));
        let handler = if method < RESERVED_METHODS {
            match builtin::of_object(object, method, thread, self.serial) {
                Builtin::Handler(handler) => Ok(handler),
                Builtin::Left(result) => return result.map_err(Violation::NotHeld),
            }
        } else {
            object.interfaces.handle(method, fingerprint, call.arguments)
        };
        match handler {
            Ok(handler) => {
                let thread = thread.unwrap_or_else(ThreadId::fresh);
                self.run(node, number, Handler { handler, thread });
            }
            Err(error) => self.reply(node, number, Reply::failed(error)),
        }
        Ok(())
    }

    /// Polls the handler once in place; what is not ready becomes a task.
    fn run(self: &Arc<Self>, node: &Arc<NodeInner>, number: u64, mut handler: Handler) {
        // Nobody is woken by this waker: the task polls again as soon as it exists.
        let polled = {
            let _in_place = self.incoming.in_place();
            handler.poll(&mut Context::from_waker(Waker::noop()))
        };
        match polled {
            Poll::Ready(reply) => self.reply(node, number, reply),
            Poll::Pending => {
                let answering = Answering::new(node, self, number);
                let task = async move {
                    let reply = poll_fn(|cx| handler.poll(cx)).await;
                    drop(handler);
                    answering.finish(reply);
                };
                self.incoming.spawn(node, number, task);
            }
        }
    }
}

/// An enter that is not answered could not be cancelled; an exit has no answer to wait for.
fn check_builtin(head: &Call) -> Result<(), Violation> {
    let of_object = head.target != Target::Export(NODE);
    let answered = head.call != 0;
    let wrong = (head.method == builtin::ENTER.id && !answered)
        || (head.method == builtin::EXIT.id && answered);
    if of_object && wrong { Err(Violation::EnterOrExitOfAnotherKind) } else { Ok(()) }
}

fn not_callable(reason: NotCallable, index: u64) -> Error {
    let kind = match reason {
        NotCallable::Gone => ErrorKind::NoSuchObject,
        NotCallable::WrongKey => ErrorKind::Denied,
    };
    Error::new(kind, format!("object o{index}"))
}

/// A handler and the distributed thread that it belongs to.
struct Handler {
    handler: BoxFuture<'static, Reply>,
    thread: ThreadId,
}

impl Handler {
    /// A panic is that call's error, and nothing else suffers.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Reply> {
        assert_unlocked("a handler runs");
        let _current = Entered::new(self.thread);
        match catch_unwind(AssertUnwindSafe(|| self.handler.as_mut().poll(cx))) {
            Ok(poll) => poll,
            Err(panic) => {
                // What is left of the future must not be polled again; its drop may panic too.
                let rest = std::mem::replace(&mut self.handler, Box::pin(std::future::pending()));
                let _ = catch_unwind(AssertUnwindSafe(|| drop(rest)));
                Poll::Ready(Reply::failed(panicked(&*panic)))
            }
        }
    }
}

/// The error that a panic is.
pub(super) fn panicked(panic: &(dyn Any + Send)) -> Error {
    let text = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (None, Some(text)) => text.clone(),
        (None, None) => "a panic without a message".to_owned(),
    };
    Error::new(ErrorKind::Panicked, text)
}

/// The handlers of one session that became tasks.
#[derive(Default)]
pub(crate) struct Incoming(Mutex<Tasks>);

#[derive(Default)]
struct Tasks {
    /// By call number, for cancellation.
    answered: HashMap<u64, Task>,
    /// Handlers of one-way calls: nobody can cancel them.
    one_way: usize,
    /// The one that is in its first poll, if any.
    in_place: usize,
    /// The session has ended: what is spawned now is aborted at once.
    closed: bool,
}

#[derive(Default)]
struct Task {
    /// None until the task was spawned.
    abort: Option<AbortHandle>,
    /// The caller has lost interest.
    cancelled: bool,
}

impl Task {
    /// What to abort, behind the lock.
    fn cancel(&mut self) -> Option<AbortHandle> {
        self.cancelled = true;
        self.abort.clone()
    }
}

impl Incoming {
    /// Handlers that run now.
    pub(crate) fn running(&self) -> usize {
        let tasks = self.0.lock();
        tasks.answered.len() + tasks.one_way + tasks.in_place
    }

    fn in_place(&self) -> InPlace<'_> {
        self.0.lock().in_place += 1;
        InPlace(self)
    }

    /// Is a call of that number being handled? A peer that uses it again breaks the protocol.
    pub(crate) fn is_running(&self, number: u64) -> bool {
        number != 0 && self.0.lock().answered.contains_key(&number)
    }

    pub(crate) fn spawn(
        &self,
        node: &NodeInner,
        number: u64,
        task: impl Future<Output = ()> + Send + 'static,
    ) {
        {
            let mut tasks = self.0.lock();
            if number == 0 {
                tasks.one_way += 1;
            } else {
                tasks.answered.insert(number, Task::default());
            }
        }
        // Not under the lock: a runtime that is ending drops the task, and the user's handler
        // with it, here and now; and the task may end before this returns.
        let abort = node.spawn(task).abort_handle();
        let cancelled = {
            let mut tasks = self.0.lock();
            let closed = tasks.closed;
            match tasks.answered.get_mut(&number) {
                Some(task) => {
                    task.abort = Some(abort.clone());
                    task.cancelled |= closed;
                    task.cancelled
                }
                None => false,
            }
        };
        if cancelled {
            abort.abort();
        }
    }

    /// A handler ended, in whatever way. True if its caller had cancelled it.
    pub(crate) fn ended(&self, number: u64) -> bool {
        let mut tasks = self.0.lock();
        if number == 0 {
            tasks.one_way -= 1;
            return false;
        }
        tasks.answered.remove(&number).is_some_and(|task| task.cancelled)
    }

    /// The caller has lost interest. A call that has been answered meanwhile is no error.
    pub(crate) fn cancel(&self, number: u64) {
        let abort = self.0.lock().answered.get_mut(&number).and_then(Task::cancel);
        abort.iter().for_each(AbortHandle::abort);
    }

    /// The session ended: nobody waits for these answers any more.
    pub(crate) fn cancel_all(&self) {
        let mut all: Vec<_> = {
            let mut tasks = self.0.lock();
            tasks.closed = true;
            let cancelled = |(number, task): (&u64, &mut Task)| Some((*number, task.cancel()?));
            tasks.answered.iter_mut().filter_map(cancelled).collect()
        };
        // In the order of the calls, so that a simulation replays.
        all.sort_by_key(|(number, _)| *number);
        all.iter().for_each(|(_, task)| task.abort());
    }
}

/// While it lives, a handler is in its first poll.
struct InPlace<'a>(&'a Incoming);

impl Drop for InPlace<'_> {
    fn drop(&mut self) {
        self.0.0.lock().in_place -= 1;
    }
}
