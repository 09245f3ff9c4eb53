//! Methods of the runtime's own: what every node and every object answers without user code.

use std::sync::Arc;

use crate::error::{Error, ErrorKind};
use crate::interface::{BoxFuture, Exported, Method};
use crate::marshal::{self, Arguments, Message, Reply, ReplyBody};
use crate::monitor::Holder;
use crate::node::NodeInner;
use crate::thread::ThreadId;

/// Target 0 of every session: the node itself.
pub(crate) const NODE: u64 = 0;

const fn builtin(interface: &'static str, name: &'static str, id: u32) -> Method {
    Method { interface, name, signature: "", id, fingerprint: 0 }
}

/// Of the node: the reference that is bound under a name.
pub(crate) const LOOKUP: Method = builtin("Node", "lookup", 1);
/// Of an object: nothing, but from there.
pub(crate) const PING: Method = builtin("Object", "ping", 1);
/// Of an object: answered once the calling thread is inside its monitor.
pub(crate) const ENTER: Method = builtin("Object", "enter", 2);
/// Of an object: the calling thread leaves its monitor. One-way.
pub(crate) const EXIT: Method = builtin("Object", "exit", 3);
/// Of an object: its interfaces and their methods (`BridgeInit::Eager`).
pub(crate) const DESCRIBE: Method = builtin("Object", "describe", 4);

/// What a builtin method of an object comes to.
pub(crate) enum Builtin {
    Handler(BoxFuture<'static, Reply>),
    /// The thread left a monitor; there is no answer to that.
    Left(Result<(), crate::monitor::NotHeld>),
}

/// A builtin method of an object that lives here.
pub(crate) fn of_object(
    object: Arc<Exported>,
    method: u32,
    thread: Option<ThreadId>,
    session: u64,
) -> Builtin {
    let holder = Holder::Session(session);
    match (method, thread) {
        (id, _) if id == PING.id => done(Ok(Message::default())),
        (id, _) if id == DESCRIBE.id => done(Message::encode(&object.interfaces.describe())),
        (id, Some(thread)) if id == ENTER.id => Builtin::Handler(Box::pin(async move {
            object.monitor.enter(thread, holder).await;
            Reply(ReplyBody::Ok(Message::default()))
        })),
        (id, Some(thread)) if id == EXIT.id => Builtin::Left(object.monitor.exit(thread, holder)),
        (id, None) if id == ENTER.id || id == EXIT.id => {
            done(Err(Error::new(ErrorKind::Protocol, "a monitor is entered by a thread")))
        }
        (id, _) => done(Err(unknown(id))),
    }
}

/// A method of the node itself.
pub(crate) fn of_node(node: &NodeInner, method: u32, arguments: Arguments) -> Reply {
    if method != LOOKUP.id {
        return Reply::failed(unknown(method));
    }
    let found = marshal::decode::<String>(&arguments.payload, arguments.references)
        .and_then(|name| node.names.lookup(&name));
    match found.and_then(|reference| Message::encode(&reference)) {
        Ok(message) => Reply(ReplyBody::Ok(message)),
        Err(error) => Reply::failed(error),
    }
}

fn done(result: Result<Message, Error>) -> Builtin {
    let reply = match result {
        Ok(message) => Reply(ReplyBody::Ok(message)),
        Err(error) => Reply::failed(error),
    };
    Builtin::Handler(Box::pin(std::future::ready(reply)))
}

fn unknown(method: u32) -> Error {
    Error::new(ErrorKind::NoSuchMethod, format!("the runtime has no method {method}"))
}
