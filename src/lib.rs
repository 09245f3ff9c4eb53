#![doc = include_str!("../README.md")]
//!
//! # A tour
//!
//! **An interface** is a trait with `#[remote]` on it. Its methods are `async`, take `&self`, and
//! return a [`Result`]: a call can fail by itself. The trait is implemented with plain
//! `async fn`s, by as many types as there are. The macro makes a reference type for it:
//! `AccountRef` for `Account`, which implements the trait too.
//!
//! ```
//! use std::sync::atomic::{AtomicI64, Ordering};
//! use rmi::prelude::*;
//!
//! /// A bank account.
//! #[remote]
//! pub trait Account {
//!     async fn deposit(&self, cents: i64) -> Result<i64>;
//!     /// An error type of one's own, and a reference to another account.
//!     async fn transfer(&self, to: AccountRef, cents: i64) -> Result<(), BankError>;
//!     /// Not answered: resolves once it is handed to the session.
//!     #[remote(oneway)]
//!     async fn note(&self, text: &str) -> Result<()>;
//! }
//!
//! #[derive(Debug, serde::Serialize, serde::Deserialize)]
//! pub enum BankError {
//!     Short { missing: i64 },
//!     Call(rmi::Error),
//! }
//!
//! impl From<rmi::Error> for BankError {
//!     fn from(error: rmi::Error) -> Self {
//!         BankError::Call(error)
//!     }
//! }
//!
//! #[derive(Default)]
//! struct Savings(AtomicI64);
//!
//! impl Account for Savings {
//!     async fn deposit(&self, cents: i64) -> Result<i64> {
//!         Ok(self.0.fetch_add(cents, Ordering::SeqCst) + cents)
//!     }
//!     async fn transfer(&self, to: AccountRef, cents: i64) -> Result<(), BankError> {
//!         let left = self.0.load(Ordering::SeqCst) - cents;
//!         if left < 0 {
//!             return Err(BankError::Short { missing: -left });
//!         }
//!         self.0.store(left, Ordering::SeqCst);
//!         to.deposit(cents).await?; // here or on any other node
//!         Ok(())
//!     }
//!     async fn note(&self, _text: &str) -> Result<()> {
//!         Ok(())
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<()> {
//! // A node has objects that others may refer to. Names are for the first reference only.
//! let bank = Node::builder().listen("inproc://bank").start().await?;
//! let savings: AccountRef = bank.export(Savings::default());
//! bank.bind("savings", &savings)?;
//!
//! // A reference works the same whether its object is near or far.
//! let home = Node::builder().start().await?;
//! let far: AccountRef = home.lookup("inproc://bank/savings").await?;
//! let near: AccountRef = home.export(Savings::default());
//! far.deposit(100).await?;
//! far.transfer(near.clone(), 30).await.expect("there is enough");
//! assert_eq!((near.deposit(0).await?, near.is_local()), (30, true));
//! match far.transfer(near, 1_000).await {
//!     Err(BankError::Short { missing }) => assert_eq!(missing, 930),
//!     other => panic!("{other:?}"),
//! }
//!
//! // Inside the object's monitor; whatever it calls back may enter again.
//! rmi::synchronized(&far, async { far.deposit(1).await }).await??;
//! # Ok(())
//! # }
//! ```
//!
//! **Lifetime.** Every clone of a reference, on every node, keeps its object alive; when the last
//! is gone the object is dropped. [`Weak`] does not keep alive, [`AnyRef`] holds any interface.
//! [`Node::gc`] shows what keeps what.
//!
//! **Errors** say what failed ([`ErrorKind`]) and whether the method may have run ([`Executed`]).

pub use rmi_core::error::{Error, ErrorKind, Executed, Result};
pub use rmi_core::limits::Limits;
pub use rmi_core::monitor::{MonitorGuard, enter, synchronized};
pub use rmi_core::node::{Builder, Node};
pub use rmi_core::reference::{AnyRef, RemoteRef, Weak};
pub use rmi_core::stats::{CollectorStats, PeerStats, Stats};
pub use rmi_core::thread::ThreadId;
pub use rmi_core::{Endpoint, NodeId, ObjectId};
pub use rmi_macros::remote;

/// The collector, to look at and to choose.
pub mod gc {
    pub use rmi_core::gc::{
        BridgeInit, EntrySnapshot, ExportIndex, Parent, Policy, Snapshot, Standing, State, dot,
    };
    pub use rmi_core::node::{Gc, Holder, Holders};
}

/// Transports of one's own ([`Builder::transport`]): what they have to offer, and those that are
/// built in.
pub mod transport {
    pub use rmi_core::transport::{
        BoxFuture, Endpoint, InProcess, Listener, Tcp, Transport, Unix, Wire,
    };
}

/// What most programs need: `use rmi::prelude::*`.
///
/// A method of one's own that is named like one of [`RemoteRef`]'s (`id`, `home`, `is_local`,
/// `ping`) is then ambiguous on a reference; import the names one by one there.
pub mod prelude {
    pub use crate::{AnyRef, Error, ErrorKind, Executed, Node, RemoteRef, Result, Weak, remote};
}

/// What code that `#[remote]` generates needs; not for use by hand.
#[doc(hidden)]
pub mod __private {
    pub use rmi_core::private::*;
    pub use rmi_core::surroundings::Surroundings;
}
