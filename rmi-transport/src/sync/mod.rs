//! What threads meet at: the locks, flags and thread-locals of the two shells.
//!
//! In production these are `parking_lot`'s and the standard library's, with nothing around them.
//! Built with `--cfg shuttle` they are [shuttle](https://docs.rs/shuttle)'s, which runs the same
//! code under one schedule after the other (`docs/decisions/0009-shuttle.md`). In builds with debug
//! assertions every lock is checked against the one [order](rank).
//!
//! A `static` is shared by all schedules: it takes the standard library's. So do counters that
//! order nothing, such as those of `Stats`: a point of choice at each would only make schedules
//! longer.

#[cfg(shuttle)]
pub mod explore;
mod mutex;
#[cfg(shuttle)]
mod notify;
pub mod rank;

pub use self::mutex::{Mutex, MutexGuard};
pub use self::primitives::{
    AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Notify, Ordering, thread_local,
};
pub use self::rank::{Held, Rank, assert_unlocked};

#[cfg(not(shuttle))]
mod primitives {
    pub use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
    pub use std::thread_local;

    pub(super) use parking_lot::{Mutex, MutexGuard};
    pub use tokio::sync::Notify;

    pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock()
    }
}

#[cfg(shuttle)]
mod primitives {
    pub use shuttle::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
    pub use shuttle::thread_local;

    pub use super::notify::Notify;
    pub(super) use shuttle::sync::{Mutex, MutexGuard};

    pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
