//! The crate as its users see it: bytes, state machines, wires and links. The rules that
//! are named (W1, W2, …) are those of `docs/WIRE.md`.

mod fixtures;
mod frames_random;
mod frames_refused;
mod golden;
mod handshake;
mod handshake_refused;
mod link;
mod link_resumed;
mod link_writers;
mod rendezvous;
mod sizes;
mod transports;
