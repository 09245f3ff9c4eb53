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

mod bridge;
mod collector;
mod counts;
mod entry;
mod fate;
mod frame;
mod home;
mod ids;
mod imports;
mod ledger;
mod misbehaved;
mod pins;
mod policy;
mod releases;
mod snapshot;

pub use bridge::{Bridge, Parent, RECEIVED_MAX, Standing};
pub use collector::{Collector, Draft, Effects};
pub use entry::Entry;
pub use fate::{CannotForward, Fate, Release, Sent};
pub use frame::{Frame, WireReference, WireRelease};
pub use home::Home;
pub use ids::{ExportIndex, FrameNumber, NodeId, ObjectId, ObjectIndex};
pub use ledger::Ledger;
pub use misbehaved::PeerMisbehaved;
pub use policy::{BridgeInit, Policy};
pub use snapshot::{EntrySnapshot, EntryView, Snapshot, State};
