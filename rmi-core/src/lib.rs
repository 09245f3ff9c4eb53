//! The node of `rmi`: references, calls, dispatch, distributed threads, monitors.
//!
//! Users depend on the facade crate `rmi`. Here is what it is made of, above the frames of
//! `rmi-transport` and the counts of `rmi-gc`:
//!
//! | module | question it answers |
//! |---|---|
//! | [`node`] | how does a node start, dial, accept, and end? |
//! | `session` | what happens to frames on their way out and in? |
//! | `call` | how does a call leave, get dispatched, and get its answer? |
//! | `marshal` | how do values with references in them become messages? |
//! | [`mod@reference`] | what does a user hold? |
//! | `table` | which objects does the node know, and what keeps each alive? |
//! | `relay` | how does a node carry calls for another? |
//! | [`thread`], [`monitor`] | who waits for whom? |
//! | `surroundings` | what does a node take from outside itself? |
//! | `pulse` | who says that it is time to look? |

mod call;
pub mod error;
pub mod interface;
pub mod limits;
mod map;
pub mod marshal;
pub mod monitor;
mod names;
pub mod node;
mod pulse;
mod reaper;
pub mod reference;
mod relay;
#[cfg(all(test, shuttle))]
mod schedules;
mod session;
pub mod stats;
#[doc(hidden)]
pub mod surroundings;
mod table;
pub mod thread;
pub mod traits;

pub use self::error::{Error, ErrorKind, Executed, Result};
pub use rmi_gc::{NodeId, ObjectId};
pub use rmi_transport::Endpoint;

/// What a transport of one's own is made of.
pub mod transport {
    pub use rmi_transport::inproc::InProcess;
    pub use rmi_transport::tcp::Tcp;
    pub use rmi_transport::unix::Unix;
    pub use rmi_transport::{BoxFuture, Endpoint, Listener, Transport, Wire};
}

/// The collector's public types.
pub mod gc {
    pub use rmi_gc::{
        BridgeInit, EntrySnapshot, ExportIndex, Parent, Policy, Snapshot, Standing, State, dot,
    };
}

/// What code that `#[remote]` generates needs.
#[doc(hidden)]
pub mod private {
    pub use std::future::Future;
    pub use std::sync::Arc;

    pub use serde;

    pub use crate::interface::{BoxFuture, Interface, InterfaceInfo, Interfaces, Method, Skeleton};
    pub use crate::marshal::{Arguments, Reply, deserialize_reference};
    pub use crate::reference::{
        ByArc, ByValue, Exports, Extends, FromObject, Inherits, Reference, Remote, Typed, Untyped,
    };
    pub use crate::traits::{
        Argument, BorrowedArgument, Deferred, ErrorValue, Outcome, Value, assert_argument,
        assert_borrowed_argument, assert_oneway_result, assert_result,
    };
}
