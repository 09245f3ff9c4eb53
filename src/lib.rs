//! `Arc<dyn Trait>` across machines.
#![doc = include_str!("../README.md")]

pub use rmi_core::error::{Error, ErrorKind, Executed, Result};
pub use rmi_core::limits::Limits;
pub use rmi_core::monitor::{MonitorGuard, enter, synchronized};
pub use rmi_core::node::{Builder, Node};
pub use rmi_core::reference::{AnyRef, RemoteRef, Weak};
pub use rmi_core::stats::{CollectorStats, Stats};
pub use rmi_core::thread::ThreadId;
pub use rmi_core::{Endpoint, NodeId, ObjectId};
pub use rmi_macros::remote;

/// The collector, to look at and to choose.
pub mod gc {
    pub use rmi_core::gc::{
        BridgeInit, EntrySnapshot, ExportIndex, Parent, Policy, Snapshot, Standing, State,
    };
    pub use rmi_core::node::Gc;
}

/// What code that `#[remote]` generates needs; not for use by hand.
#[doc(hidden)]
pub mod __private {
    pub use rmi_core::private::*;
}
