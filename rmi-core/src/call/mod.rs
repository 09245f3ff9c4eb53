//! Calls: out ([`outgoing`], [`pending`], [`way`]), in ([`incoming`], [`answer`]), and the
//! runtime's own methods ([`builtin`]).

mod answer;
pub(crate) mod builtin;
mod incoming;
mod outgoing;
mod pending;
mod way;

pub(crate) use self::answer::Answering;
pub(crate) use self::incoming::{Aim, Incoming, ReceivedCall};
pub(crate) use self::outgoing::{RelayedCall, read};
pub(crate) use self::pending::Pending;
pub(crate) use self::pending::{Answer, Orphan, PendingCall, Undo};
pub(crate) use self::way::Way;
