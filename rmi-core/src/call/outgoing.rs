//! The caller's side of a call: encode, send, wait, decode.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;

use rmi_gc::{BridgeInit, ObjectId};
use rmi_transport::{Failure, Outcome};
use serde::Serialize;
use serde::de::DeserializeOwned;
use smallvec::SmallVec;

use super::builtin::{DESCRIBE, PING};
use super::incoming::panicked;
use super::{Answer, Undo, Way};
use crate::error::{Error, ErrorKind, Executed, Result};
use crate::interface::{BoxFuture, Method};
use crate::marshal::{self, Message};
use crate::reference::Untyped;
use crate::session::Unsent;
use crate::thread::ThreadId;
use crate::traits::Outcome as MethodOutcome;

impl Untyped {
    /// Calls `method` of an object that lives elsewhere. The arguments are encoded before this
    /// returns, so that they may be borrowed; the request leaves at the future's first poll.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future cancels the handler, and leaves nothing behind here or there.
    pub fn call<'a, A, T, E>(
        &'a self,
        method: Method,
        arguments: &A,
    ) -> impl Future<Output = std::result::Result<T, E>> + Send + use<'a, A, T, E>
    where
        A: Serialize,
        T: DeserializeOwned,
        E: DeserializeOwned + From<Error> + 'static,
    {
        let message = Message::encode(arguments);
        async move {
            let answer = match message {
                Ok(message) => self.invoke(&method, message).await,
                Err(error) => Err(error),
            };
            answer
                .map_err(|error| self.name(error, &method))
                .map_or_else(|error| Err(E::from(error)), |answer| self.read(answer, &method))
        }
    }

    /// Calls a one-way method: resolves once the frame is handed to the session.
    pub fn send<'a, A, E>(
        &'a self,
        method: Method,
        arguments: &A,
    ) -> impl Future<Output = std::result::Result<(), E>> + Send + use<'a, A, E>
    where
        A: Serialize,
        E: From<Error>,
    {
        let message = Message::encode(arguments);
        async move {
            let sent = match message {
                Ok(message) => self.post(&method, message).await,
                Err(error) => Err(error),
            };
            sent.map_err(|error| E::from(self.name(error, &method)))
        }
    }

    /// One round trip to the home, none if it is here.
    pub(crate) async fn ping(&self) -> Result<()> {
        if self.is_local() {
            return match self.node().table.exported(self.id()) {
                Some(_) => Ok(()),
                None => Err(Error::from(ErrorKind::NoSuchObject).on_object(self.id())),
            };
        }
        let answer = self.invoke(&PING, Message::default()).await;
        match answer.map_err(|error| self.name(error, &PING)) {
            Ok(answer) => self.read(answer, &PING),
            Err(error) => Err(error),
        }
    }

    async fn invoke(&self, method: &Method, mut message: Message) -> Result<Answer> {
        let node = self.node();
        loop {
            let (way, _under_way) = self.prepare(&message).await?;
            match way.start(node, method, self.current(), Undo::Nothing, &mut message) {
                Ok(call) => return call.await,
                Err(unsent) => self.wait_or_fail(unsent, &way, &message).await?,
            }
        }
    }

    async fn post(&self, method: &Method, mut message: Message) -> Result<()> {
        let node = self.node();
        loop {
            let (way, _under_way) = self.prepare(&message).await?;
            match way.send(node, method, self.current(), &mut message) {
                Ok(()) => return Ok(()),
                Err(unsent) => self.wait_or_fail(unsent, &way, &message).await?,
            }
        }
    }

    /// A request was not sent: waits until it may be, if it ever may.
    async fn wait_or_fail(&self, unsent: Unsent, way: &Way, message: &Message) -> Result<()> {
        match unsent {
            Unsent::Failed(error) => Err(error),
            Unsent::NotYet => {
                let objects = message.references.iter().map(Untyped::id);
                let objects: SmallVec<[ObjectId; 4]> = objects.collect();
                self.node().may_pass_on(&objects, way.session.peer).await
            }
        }
    }

    /// Everything that a call may have to wait for before its request can be written.
    async fn prepare(&self, message: &Message) -> Result<(Way, Option<RelayedCall>)> {
        let node = self.node();
        let (way, under_way) = self.way().await?;
        if node.bridges == BridgeInit::Eager {
            for reference in &message.references {
                reference.describe_before_passing_on().await?;
            }
        }
        way.session.wait_for_room().await;
        Ok((way, under_way))
    }

    /// KaRMI before its ticket 147: a bridge that is passed on for the first time asks the home
    /// for the interface's description and builds its relay.
    pub(crate) async fn describe_before_passing_on(&self) -> Result<()> {
        let node = self.node();
        if self.is_local() || !node.table.first_passing_on(self.id()) {
            return Ok(());
        }
        node.stats.descriptions_asked.add(1);
        let (way, _under_way) = self.way().await?;
        let mut nothing = Message::default();
        let call = way.start(node, &DESCRIBE, None, Undo::Nothing, &mut nothing);
        let answer = call.map_err(Unsent::into_error)?.await?;
        let described: Result<Vec<(String, Vec<String>)>> = self.read(answer, &DESCRIBE);
        described?;
        node.table.relay_built(self.id());
        Ok(())
    }

    fn current(&self) -> Option<ThreadId> {
        self.node().threads.then(ThreadId::current)
    }

    /// The answer as the method's result; an error of the runtime's names the call.
    pub(crate) fn read<T, E>(&self, answer: Answer, method: &Method) -> std::result::Result<T, E>
    where
        T: DeserializeOwned,
        E: DeserializeOwned + From<Error> + 'static,
    {
        match outcome(answer, method) {
            Ok(result) => self.it_ran(method, result),
            Err(error) => Err(E::from(self.name(error, method))),
        }
    }

    /// Awaits a call of an object that is here: a plain call, but a panic is the call's error, and
    /// nothing else suffers.
    pub async fn near<O>(&self, method: Method, mut call: BoxFuture<'_, O>) -> O
    where
        O: MethodOutcome,
        O::Error: From<Error> + 'static,
    {
        let polled = poll_fn(|cx| {
            let poll = catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(cx)));
            match poll {
                Ok(Poll::Pending) => Poll::Pending,
                Ok(Poll::Ready(outcome)) => Poll::Ready(Ok(outcome.into_result())),
                Err(panic) => Poll::Ready(Err(panicked(&*panic))),
            }
        });
        O::from_result(match polled.await {
            Ok(result) => self.it_ran(&method, result),
            Err(error) => Err(O::Error::from(self.name(error, &method))),
        })
    }

    /// What a method returned that certainly ran. A handler that passes on the error of a call of
    /// its own ran itself, whatever that call did; an error of its own names no call yet.
    fn it_ran<T, E: 'static>(
        &self,
        method: &Method,
        result: std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        result.map_err(|mut error| {
            if let Some(error) = (&mut error as &mut dyn Any).downcast_mut::<Error>() {
                *error = self.name(error.clone().executed_as(Executed::Yes), method);
            }
            error
        })
    }

    /// Names what was called.
    pub(crate) fn name(&self, error: Error, method: &Method) -> Error {
        error
            .in_call(method.interface, method.name, self.id())
            .at_peer(self.identity().home_in_words())
    }
}

/// The answer of a method of the runtime's own, to the node itself.
pub(crate) fn read<T: DeserializeOwned>(answer: Answer, method: &Method) -> Result<T> {
    outcome(answer, method).and_then(|result| result)
}

/// What the method returned, or why it returned nothing.
fn outcome<T, E>(answer: Answer, method: &Method) -> Result<std::result::Result<T, E>>
where
    T: DeserializeOwned,
    E: DeserializeOwned + 'static,
{
    let Answer { outcome, payload, references } = answer;
    match outcome {
        Outcome::Ok => decode_result(&payload, references).map(Ok),
        Outcome::Err => decode_result(&payload, references).map(Err),
        Outcome::Failed => Err(failure(&payload, method)),
    }
}

/// A result that does not decode comes from a method that ran.
fn decode_result<T: DeserializeOwned>(
    payload: &[u8],
    references: marshal::References,
) -> Result<T> {
    marshal::decode(payload, references).map_err(|error| error.executed_as(Executed::Yes))
}

/// The error that the peer reports.
fn failure(payload: &[u8], method: &Method) -> Error {
    let Ok(failure) = Failure::decode(payload) else {
        return Error::new(ErrorKind::Protocol, "a failure that cannot be read");
    };
    let kind = ErrorKind::from_code(failure.kind);
    let text = if kind == ErrorKind::SignatureMismatch {
        format!("this node has {}, {}", method.signature, failure.message)
    } else {
        failure.message
    };
    let error = if text.is_empty() { kind.into() } else { Error::new(kind, text) };
    error.executed_as(Executed::from_code(failure.executed))
}

/// Keeps later calls of the reference on the same way while it lives, and that way open.
#[derive(Debug)]
pub(crate) struct RelayedCall(Untyped);

impl RelayedCall {
    pub(crate) fn begin(reference: &Untyped) -> Self {
        reference.node().table.relayed_call_began(reference.id());
        Self(reference.clone())
    }
}

impl Drop for RelayedCall {
    fn drop(&mut self) {
        let node = self.0.node();
        node.table.relayed_call_ended(self.0.id(), &node.sessions);
    }
}
