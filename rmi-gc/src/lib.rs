//! The distributed collector of `rmi`, without I/O.
//!
//! Reference counting over a tree of bridges: passing a reference on costs no message and no waiting; the only routine
//! message of the collector is a release, merged with others and riding on a frame that goes out anyway.
//!
//! | type | what it decides | who keeps it |
//! |---|---|---|
//! | [`Entry`] | what keeps one object alive at one node, and how a reference to it is named on a frame | a table, by [`ObjectId`] |
//! | [`Ledger`] | what stands between us and one peer: releases owed, indices remembered, frames not yet acknowledged | one a session |
//! | [`Collector`] | joins the entries and ledgers of one node | models and scripts; a runtime does the same over its own table |
//!
//! Nothing here reads a clock, draws a random number, locks or waits, so the code that is model-checked is the code that
//! ships. `docs/GC.md` is the specification; rules are cited by their number there.

mod adoption;
mod bridge;
mod collector;
mod counts;
mod dot;
mod entry;
mod estate;
mod fate;
mod faults;
mod frame;
mod home;
mod ids;
mod imports;
mod ledger;
mod misbehaved;
#[cfg(feature = "mutants")]
mod mutant;
mod notices;
mod orders;
mod pins;
mod policy;
mod releases;
mod snapshot;
mod survival;
mod time;

pub use bridge::{Bridge, Parent, RECEIVED_MAX, Standing};
pub use collector::{Collector, Draft, Effects, Rules};
pub use dot::dot;
pub use entry::Entry;
pub use fate::{CannotForward, Fate, Release, Sent};
pub use frame::{Frame, Notice, WireReference, WireRelease};
pub use home::Home;
pub use ids::{ExportIndex, FrameNumber, NodeId, ObjectId, ObjectIndex};
pub use ledger::Ledger;
pub use misbehaved::PeerMisbehaved;
#[cfg(feature = "mutants")]
pub use mutant::Mutant;
pub use orders::{Forwarding, HomeSession, News, Orders, Tell, Waiting};
pub use policy::{BridgeInit, Policy};
pub use snapshot::{EntrySnapshot, EntryView, Snapshot, State};
pub use time::{Clock, Millis, Tick, Timings};
