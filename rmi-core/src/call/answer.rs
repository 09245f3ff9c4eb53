//! Answers: every call is answered exactly once, whatever becomes of its handler.

use std::sync::Arc;

use rmi_gc::BridgeInit;
use rmi_transport::{Body, Failure, Outcome};

use crate::error::{Error, ErrorKind, Executed};
use crate::marshal::{Message, Payload, Reply, ReplyBody};
use crate::node::NodeInner;
use crate::reference::Untyped;
use crate::session::{Session, Unsent};

impl Session {
    /// Enqueues the answer of a call; call 0 is not answered.
    pub(crate) fn reply(self: &Arc<Self>, node: &Arc<NodeInner>, number: u64, reply: Reply) {
        if number == 0 {
            return;
        }
        let Reply(body) = reply;
        if node.bridges == BridgeInit::Eager && passes_on_for_the_first_time(node, &body) {
            self.describe_then_reply(node, number, body);
        } else {
            self.write_reply(node, number, body);
        }
    }

    fn write_reply(self: &Arc<Self>, node: &Arc<NodeInner>, number: u64, mut body: ReplyBody) {
        let sent = match &mut body {
            ReplyBody::Ok(message) => self.write_answer(node, number, Outcome::Ok, message),
            ReplyBody::Err(message) => self.write_answer(node, number, Outcome::Err, message),
            ReplyBody::Relayed(message) => {
                self.write_answer(node, number, Outcome::Failed, message)
            }
            ReplyBody::Failed(error) => Err(Unsent::Failed(error.clone())),
        };
        let error = match sent {
            Ok(()) => return,
            Err(Unsent::NotYet) => return self.wait_then_reply(node, number, body),
            Err(Unsent::Failed(error)) => error,
        };
        if self.is_open() {
            // An answer that cannot be sent becomes one that can.
            let mut failure = Message { payload: encode_failure(&error), ..Default::default() };
            let sent = self.write_answer(node, number, Outcome::Failed, &mut failure);
            if let Err(error) = sent.map_err(Unsent::into_error) {
                tracing::debug!(peer = %self.peer_name, %error, "an answer was lost");
            }
        }
    }

    fn write_answer(
        &self,
        node: &NodeInner,
        number: u64,
        outcome: Outcome,
        message: &mut Message,
    ) -> Result<(), Unsent> {
        match self.send(node, Body::Answer { call: number, outcome }, message) {
            Ok(_) => Ok(()),
            Err(Unsent::NotYet) => Err(Unsent::NotYet),
            Err(Unsent::Failed(error)) => Err(Unsent::Failed(error.executed_as(Executed::Yes))),
        }
    }

    /// A reference in the result may not be passed on yet: the answer waits, and no other with it.
    fn wait_then_reply(self: &Arc<Self>, node: &Arc<NodeInner>, number: u64, body: ReplyBody) {
        let answering = Answering::new(node, self, number);
        let (node, to) = (Arc::clone(node), self.peer);
        self.incoming.spawn(&Arc::clone(&node), number, async move {
            let objects: Vec<_> = message_of(&body)
                .iter()
                .flat_map(|message| &message.references)
                .map(Untyped::id)
                .collect();
            let body = match node.may_pass_on(&objects, to).await {
                Ok(()) => body,
                Err(error) => ReplyBody::Failed(error.executed_as(Executed::Yes)),
            };
            answering.finish(Reply(body));
        });
    }

    /// `BridgeInit::Eager`: a result that passes a bridge on has to wait for its description.
    fn describe_then_reply(self: &Arc<Self>, node: &Arc<NodeInner>, number: u64, body: ReplyBody) {
        let answering = Answering::new(node, self, number);
        let task = async move {
            let body = match describe_all(&body).await {
                Ok(()) => body,
                Err(error) => ReplyBody::Failed(error.executed_as(Executed::Yes)),
            };
            answering.finish(Reply(body));
        };
        self.incoming.spawn(node, number, task);
    }
}

fn passes_on_for_the_first_time(node: &NodeInner, body: &ReplyBody) -> bool {
    message_of(body).is_some_and(|message| {
        message.references.iter().any(|reference| node.table.first_passing_on(reference.id()))
    })
}

async fn describe_all(body: &ReplyBody) -> Result<(), Error> {
    for reference in message_of(body).iter().flat_map(|message| &message.references) {
        reference.describe_before_passing_on().await?;
    }
    Ok(())
}

fn message_of(body: &ReplyBody) -> Option<&Message> {
    match body {
        ReplyBody::Ok(message) | ReplyBody::Err(message) => Some(message),
        ReplyBody::Failed(_) | ReplyBody::Relayed(_) => None,
    }
}

fn encode_failure(error: &Error) -> Payload {
    let failure = Failure {
        kind: error.kind().code(),
        executed: error.executed().code(),
        message: error.detail().to_owned(),
        interface: None,
        method: None,
        object: None,
    };
    let mut bytes = Vec::new();
    failure.encode(&mut bytes);
    Payload::Encoded(bytes)
}

/// The duty to answer a call whose handler is a task: if the task is cancelled, or its runtime
/// ends, the caller is told so.
pub(crate) struct Answering {
    node: Arc<NodeInner>,
    session: Arc<Session>,
    number: u64,
    answered: bool,
}

impl Answering {
    pub(crate) fn new(node: &Arc<NodeInner>, session: &Arc<Session>, number: u64) -> Self {
        Self { node: Arc::clone(node), session: Arc::clone(session), number, answered: false }
    }

    pub(crate) fn finish(mut self, reply: Reply) {
        self.answered = true;
        // First, so that a peer which has the answer may use the number again.
        self.session.incoming.ended(self.number);
        self.session.reply(&self.node, self.number, reply);
        self.session.flush();
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        if self.answered {
            return;
        }
        let error = if self.session.incoming.ended(self.number) {
            Error::from(ErrorKind::Cancelled)
        } else {
            Error::new(ErrorKind::ShutDown, "the runtime of the handler has ended")
        };
        let error = error.executed_as(Executed::Maybe);
        self.session.reply(&self.node, self.number, Reply::failed(error));
        self.session.flush();
    }
}
