//! What two nodes owe each other for as long as both run, whatever becomes of the connections
//! between them. No I/O, no clock.
//!
//! [`Numbering`] counts frames and acknowledgements. The [outbox](Outgoing) decides who writes
//! what, keeps what is not acknowledged, and finds where to go on with another connection.
//! [`Lifetime`] tells when a connection is dead, and when the peer is to be given up;
//! [`Backoff`] when to dial again.
//!
//! # Why every frame takes effect exactly once
//!
//! The frames of one direction, laid end to end, are a *lane*: the very bytes that one connection
//! would have carried that is never lost. A frame enters it once, with its number and with the
//! acknowledgement that it carries, and neither changes any more; resending repeats bytes of the
//! lane and makes no new ones. A receiver counts the frames that it has taken, and says so when
//! a connection replaces another; the sender goes on right behind. Therefore no frame is taken
//! twice, none is left out, and every relative acknowledgement is added up exactly once, as if
//! nothing had happened.

mod lifetime;
mod numbering;
mod outbox;
#[cfg(test)]
mod pair;
mod retained;

pub use lifetime::{Backoff, Lifetime, Tick, Timings};
pub use numbering::{ACK_BYTES_MAX, ACK_FRAMES_MAX, Numbering, SessionError};
pub use outbox::Outgoing;
pub(crate) use outbox::{Batch, Outbox, Written};
