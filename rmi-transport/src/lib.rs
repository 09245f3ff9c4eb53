//! Moving frames between two nodes: what stands between a socket and the node that calls over it.
//!
//! Two kinds of code live here. *State machines* decide and do no I/O: [`frame`] (bytes to values
//! and back), [`handshake`], [`rendezvous`] (one connection per pair of nodes) and [`session`]
//! (numbering, acknowledging, resending, liveness). *Shells* do: the transports ([`tcp`], [`unix`],
//! [`inproc`]), [`shake`], which runs a hand-shake over a wire, and [`link`], which stands around
//! the wires of a session, one after the other.
//!
//! The bytes are specified in `docs/WIRE.md`, whose rules (W1, W2, …) the tests name.

pub mod endpoint;
pub mod frame;
pub mod handshake;
pub mod inproc;
pub mod link;
pub mod rendezvous;
pub mod session;
pub mod shake;
#[doc(hidden)]
pub mod sync;
pub mod tcp;
pub mod transport;
pub mod unix;

mod socket;

#[doc(no_inline)]
pub use endpoint::{Endpoint, EndpointError};
#[doc(no_inline)]
pub use frame::{
    Body, Call, Description, Failure, Frame, FrameBuffer, FrameError, FrameLimits, FrameWriter,
    Goodbye, Head, News, Notice, Origin, Outcome, Reference, Target, Thread, TooLarge, decode,
};
#[doc(no_inline)]
pub use handshake::{
    Accepted, Handshake, HandshakeError, Hello, PROTOCOL_VERSION, PeerLimits, Progress, Refusal,
    Relation, Stranger,
};
#[doc(no_inline)]
pub use link::{Awaited, Event, Link, NotAttached, Parked};
#[doc(no_inline)]
pub use rendezvous::{Rendezvous, Verdict};
#[doc(no_inline)]
pub use session::{
    ACK_BYTES_MAX, ACK_FRAMES_MAX, Backoff, Lifetime, Numbering, Outgoing, SessionError, Tick,
    Timings,
};
#[doc(no_inline)]
pub use shake::{Greeting, Shaken, Welcome, dial, greet};
#[doc(no_inline)]
pub use transport::{BoxFuture, Listener, Transport, Wire, transport_for};
