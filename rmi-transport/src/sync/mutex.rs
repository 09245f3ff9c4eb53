//! A lock that has its place in the order of all.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use super::primitives;
use super::rank::{Alone, Held, Rank};

/// Mutual exclusion, for as long as a few instructions take.
pub struct Mutex<T, R = Alone> {
    inner: primitives::Mutex<T>,
    rank: PhantomData<fn() -> R>,
}

/// While it lives, the lock is held.
pub struct MutexGuard<'a, T> {
    inner: primitives::MutexGuard<'a, T>,
    // Behind the lock's own guard, so that it is dropped after it.
    _held: Held,
}

impl<T, R: Rank> Mutex<T, R> {
    /// A lock that nobody holds.
    pub const fn new(value: T) -> Self {
        Self { inner: primitives::Mutex::new(value), rank: PhantomData }
    }

    /// Waits for the lock.
    ///
    /// # Panics
    ///
    /// With debug assertions: if this thread holds a lock that does not stand above this one.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        // Before waiting: an inversion is one also where nobody is in the way.
        let held = Held::take::<R>();
        MutexGuard { inner: primitives::lock(&self.inner), _held: held }
    }
}

impl<T: Default, R: Rank> Default for Mutex<T, R> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T, R: Rank> fmt::Debug for Mutex<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mutex").field("rank", &R::NAME).finish_non_exhaustive()
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}
