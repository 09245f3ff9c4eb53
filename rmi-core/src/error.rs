//! What can go wrong with a call, for the one who has to decide what to do next.

use std::fmt;
use std::sync::Arc;

use rmi_gc::ObjectId;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The result of everything that may reach another node.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What kind of failure an [`Error`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
#[repr(u8)]
pub enum ErrorKind {
    /// No connection to the node could be made.
    Unreachable = 1,
    /// The connection was lost while the call was under way, or the object's home is gone.
    Disconnected = 2,
    /// The object is not there any more.
    NoSuchObject = 3,
    /// Nothing is bound under that name.
    NoSuchName = 4,
    /// The object has no such method.
    NoSuchMethod = 5,
    /// The object does not implement the interface that was asked for.
    WrongInterface = 6,
    /// Both sides know the method, with different argument or result types.
    SignatureMismatch = 7,
    /// The time given to the call is over.
    DeadlineExceeded = 8,
    /// The call was cancelled.
    Cancelled = 9,
    /// The handler panicked; the message carries the panic's.
    Panicked = 10,
    /// An argument or a result could not be encoded.
    Encode = 11,
    /// An argument or a result could not be decoded.
    Decode = 12,
    /// The message is larger than the receiver accepts.
    TooLarge = 13,
    /// A limit was reached; the message names it and its value.
    LimitReached = 14,
    /// The peer may not do that.
    Denied = 15,
    /// A peer broke the protocol, or speaks another one.
    Protocol = 16,
    /// This node, or the one called, is shutting down.
    ShutDown = 17,
    /// A failure of the application's own, without a type of its own.
    Application = 18,
}

impl ErrorKind {
    const ALL: [ErrorKind; 18] = [
        ErrorKind::Unreachable,
        ErrorKind::Disconnected,
        ErrorKind::NoSuchObject,
        ErrorKind::NoSuchName,
        ErrorKind::NoSuchMethod,
        ErrorKind::WrongInterface,
        ErrorKind::SignatureMismatch,
        ErrorKind::DeadlineExceeded,
        ErrorKind::Cancelled,
        ErrorKind::Panicked,
        ErrorKind::Encode,
        ErrorKind::Decode,
        ErrorKind::TooLarge,
        ErrorKind::LimitReached,
        ErrorKind::Denied,
        ErrorKind::Protocol,
        ErrorKind::ShutDown,
        ErrorKind::Application,
    ];

    /// The kind's number on the wire.
    pub(crate) fn code(self) -> u8 {
        self as u8
    }

    /// The kind of a number from the wire; one that this version does not know reads as a
    /// protocol error.
    pub(crate) fn from_code(code: u8) -> Self {
        Self::ALL.into_iter().find(|kind| kind.code() == code).unwrap_or(ErrorKind::Protocol)
    }

    fn describe(self) -> &'static str {
        match self {
            ErrorKind::Unreachable => "unreachable",
            ErrorKind::Disconnected => "disconnected",
            ErrorKind::NoSuchObject => "no such object",
            ErrorKind::NoSuchName => "no such name",
            ErrorKind::NoSuchMethod => "no such method",
            ErrorKind::WrongInterface => "wrong interface",
            ErrorKind::SignatureMismatch => "signature mismatch",
            ErrorKind::DeadlineExceeded => "deadline exceeded",
            ErrorKind::Cancelled => "cancelled",
            ErrorKind::Panicked => "the handler panicked",
            ErrorKind::Encode => "cannot encode",
            ErrorKind::Decode => "cannot decode",
            ErrorKind::TooLarge => "message too large",
            ErrorKind::LimitReached => "limit reached",
            ErrorKind::Denied => "denied",
            ErrorKind::Protocol => "protocol error",
            ErrorKind::ShutDown => "shut down",
            ErrorKind::Application => "application error",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.describe())
    }
}

/// Whether the method may have run: the one question of a caller who wants to repeat a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Executed {
    /// Certainly not: repeating is safe.
    No = 0,
    /// Not known.
    Maybe = 1,
    /// The method ran, or began to.
    Yes = 2,
}

impl Executed {
    pub(crate) fn code(self) -> u8 {
        self as u8
    }

    pub(crate) fn from_code(code: u8) -> Self {
        match code {
            0 => Executed::No,
            2 => Executed::Yes,
            _ => Executed::Maybe,
        }
    }
}

/// A call that did not succeed.
///
/// Opaque, like [`std::io::Error`]: ask [`kind`](Error::kind) and [`executed`](Error::executed).
/// Cheap to clone, and serializable, so that a remote method can return one. Its message names
/// the interface, the method, the object and the peer, as far as they are known.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Arc<Inner>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Inner {
    kind: ErrorKind,
    executed: Executed,
    detail: Option<String>,
    peer: Option<String>,
    interface: Option<String>,
    method: Option<String>,
    object: Option<ObjectId>,
}

impl Error {
    /// An error of `kind`, with what failed in words.
    pub(crate) fn new(kind: ErrorKind, detail: impl Into<String>) -> Self {
        Self::from(kind).with(|inner| inner.detail = Some(detail.into()))
    }

    /// A failure of the application's own, for a handler that has no error type of its own.
    pub fn application(detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Application, detail).executed_as(Executed::Yes)
    }

    /// What kind of failure this is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Whether the method may have run. `No` means that repeating the call is safe.
    pub fn executed(&self) -> Executed {
        self.0.executed
    }

    /// The node that was called, as far as known: its incarnation and address.
    pub fn peer(&self) -> Option<&str> {
        self.0.peer.as_deref()
    }

    /// The interface of the method that was called.
    pub fn interface(&self) -> Option<&str> {
        self.0.interface.as_deref()
    }

    /// The method that was called.
    pub fn method(&self) -> Option<&str> {
        self.0.method.as_deref()
    }

    /// The object that was called.
    pub fn object(&self) -> Option<ObjectId> {
        self.0.object
    }

    /// The peer was lost, or could not be reached in the first place.
    pub fn is_disconnect(&self) -> bool {
        matches!(self.kind(), ErrorKind::Disconnected | ErrorKind::Unreachable)
    }

    /// The call certainly did not run, and the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        self.executed() == Executed::No
            && matches!(
                self.kind(),
                ErrorKind::Disconnected | ErrorKind::Unreachable | ErrorKind::LimitReached
            )
    }

    /// What failed, in words, without the call's coordinates.
    pub(crate) fn detail(&self) -> &str {
        self.0.detail.as_deref().unwrap_or_default()
    }

    pub(crate) fn executed_as(self, executed: Executed) -> Self {
        self.with(|inner| inner.executed = executed)
    }

    /// Names the peer, unless one is named already: the innermost knows best.
    pub(crate) fn at_peer(self, peer: impl fmt::Display) -> Self {
        self.with(|inner| {
            inner.peer.get_or_insert_with(|| peer.to_string());
        })
    }

    /// Names what was called, where it is not named yet.
    pub(crate) fn in_call(self, interface: &str, method: &str, object: ObjectId) -> Self {
        self.with(|inner| {
            inner.interface.get_or_insert_with(|| interface.to_owned());
            inner.method.get_or_insert_with(|| method.to_owned());
            inner.object.get_or_insert(object);
        })
    }

    /// Names the object, where none is named yet.
    pub(crate) fn on_object(self, object: ObjectId) -> Self {
        self.with(|inner| {
            inner.object.get_or_insert(object);
        })
    }

    fn with(mut self, change: impl FnOnce(&mut Inner)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }
}

impl From<ErrorKind> for Error {
    /// An error of this kind that names no call. It claims `Executed::No` only where the kind
    /// itself says so.
    fn from(kind: ErrorKind) -> Self {
        let executed = match kind {
            ErrorKind::Unreachable
            | ErrorKind::NoSuchObject
            | ErrorKind::NoSuchName
            | ErrorKind::NoSuchMethod
            | ErrorKind::WrongInterface
            | ErrorKind::SignatureMismatch
            | ErrorKind::Encode
            | ErrorKind::TooLarge
            | ErrorKind::LimitReached
            | ErrorKind::Denied
            | ErrorKind::ShutDown => Executed::No,
            ErrorKind::Panicked | ErrorKind::Application => Executed::Yes,
            ErrorKind::Disconnected
            | ErrorKind::DeadlineExceeded
            | ErrorKind::Cancelled
            | ErrorKind::Decode
            | ErrorKind::Protocol => Executed::Maybe,
        };
        Self(Arc::new(Inner {
            kind,
            executed,
            detail: None,
            peer: None,
            interface: None,
            method: None,
            object: None,
        }))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.0.interface, &self.0.method) {
            (Some(interface), Some(method)) => write!(f, "{interface}::{method}")?,
            (Some(name), None) | (None, Some(name)) => write!(f, "{name}")?,
            (None, None) => {}
        }
        if let Some(object) = self.0.object {
            let space = if self.0.method.is_some() { " on " } else { "" };
            write!(f, "{space}{object}")?;
        }
        if let Some(peer) = &self.0.peer {
            let space =
                if self.0.method.is_some() || self.0.object.is_some() { " at " } else { "" };
            write!(f, "{space}{peer}")?;
        }
        if self.0.peer.is_some() || self.0.object.is_some() || self.0.method.is_some() {
            f.write_str(": ")?;
        }
        write!(f, "{}", self.0.kind)?;
        if let Some(detail) = &self.0.detail {
            write!(f, ": {detail}")?;
        }
        match self.0.executed {
            Executed::Maybe => f.write_str(" (the method may have run)"),
            Executed::No | Executed::Yes => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("executed", &self.0.executed)
            .field("message", &self.to_string())
            .finish()
    }
}

impl std::error::Error for Error {}

impl Serialize for Error {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Error {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Inner::deserialize(deserializer).map(|inner| Self(Arc::new(inner)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmi_gc::{NodeId, ObjectIndex};

    #[test]
    fn every_kind_survives_the_wire() {
        for kind in ErrorKind::ALL {
            assert_eq!(ErrorKind::from_code(kind.code()), kind, "{kind:?}");
        }
        assert_eq!(ErrorKind::from_code(0), ErrorKind::Protocol);
        assert_eq!(ErrorKind::from_code(255), ErrorKind::Protocol);
    }

    #[test]
    fn the_message_names_everything_that_is_known() {
        let object = ObjectId { home: NodeId(0x3f2a), index: ObjectIndex(17) };
        let error = Error::new(ErrorKind::Disconnected, "connection reset")
            .in_call("Account", "balance", object)
            .at_peer("tcp://10.0.0.1:99");
        let message = error.to_string();
        for part in ["Account::balance", "o17", "tcp://10.0.0.1:99", "connection reset", "may have"]
        {
            assert!(message.contains(part), "{part} is missing in {message:?}");
        }
    }

    #[test]
    fn only_what_certainly_did_not_run_may_be_repeated() {
        assert!(Error::from(ErrorKind::Unreachable).is_retryable());
        assert!(!Error::from(ErrorKind::Disconnected).is_retryable());
        let never_left = Error::from(ErrorKind::Disconnected).executed_as(Executed::No);
        assert!(never_left.is_retryable());
        assert!(!Error::application("full").is_retryable());
    }

    #[test]
    fn the_innermost_peer_is_the_one_that_is_named() {
        let error = Error::from(ErrorKind::Protocol).at_peer("inner").at_peer("outer");
        assert_eq!(error.peer(), Some("inner"));
    }
}
