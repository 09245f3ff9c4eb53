//! Moving frames between two nodes: what stands between a socket and the node that calls over it.
//!
//! Two kinds of code live here. *State machines* decide and do no I/O: [`frame`] (bytes to values
//! and back), [`handshake`], [`rendezvous`] (one session per pair of nodes) and [`session`]
//! (numbering and acknowledging). *Shells* do: the transports ([`tcp`], [`unix`], [`inproc`]),
//! [`shake`], which runs a hand-shake over a wire, and [`connection`], which stands around one
//! connected wire for as long as it lasts.
//!
//! The bytes are specified in `docs/WIRE.md`, whose rules (W1, W2, …) the tests name.

pub mod connection;
pub mod endpoint;
pub mod frame;
pub mod handshake;
pub mod inproc;
pub mod rendezvous;
pub mod session;
pub mod shake;
pub mod tcp;
pub mod transport;
pub mod unix;

mod outbox;
mod socket;

#[doc(no_inline)]
pub use connection::{Connection, Event, Outgoing};
#[doc(no_inline)]
pub use endpoint::{Endpoint, EndpointError};
#[doc(no_inline)]
pub use frame::{
    Body, Call, Description, Failure, Frame, FrameBuffer, FrameError, FrameLimits, FrameWriter,
    Goodbye, Head, News, Notice, Origin, Outcome, Reference, Target, Thread, TooLarge, decode,
};
#[doc(no_inline)]
pub use handshake::{
    Handshake, HandshakeError, Hello, PROTOCOL_VERSION, PeerLimits, Progress, Refusal, Stranger,
};
#[doc(no_inline)]
pub use rendezvous::{Rendezvous, Verdict};
#[doc(no_inline)]
pub use session::{Session, SessionError};
#[doc(no_inline)]
pub use shake::{shake_as_acceptor, shake_as_dialler};
#[doc(no_inline)]
pub use transport::{BoxFuture, Listener, Transport, Wire, transport_for};
