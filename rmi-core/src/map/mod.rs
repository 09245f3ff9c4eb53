//! A map that many threads change at once: sharded, each shard under a lock of its own.
//!
//! In production it is `dashmap`'s, which hashes with keys that nobody can foresee. Built with
//! `--cfg shuttle`, its locks are points where schedules branch. As every lock it has a place in
//! the one [order](rmi_transport::sync::rank); two shards are never held at once.

use std::borrow::Borrow;
use std::hash::Hash;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use rmi_transport::sync::{Held, Rank};

#[cfg(shuttle)]
mod explored;
#[cfg(not(shuttle))]
mod sharded;

#[cfg(shuttle)]
use self::explored as raw;
#[cfg(all(test, shuttle))]
pub(crate) use self::explored::shard_of;
#[cfg(not(shuttle))]
use self::sharded as raw;

/// The keys and values, and the rank of the shards' locks.
pub(crate) struct Map<K, V, R> {
    raw: raw::Map<K, V>,
    rank: PhantomData<fn() -> R>,
}

/// While it lives, a shard is locked.
pub(crate) struct Locked<G> {
    guard: G,
    // Behind the shard's own guard, so that it is dropped after it.
    _held: Held,
}

/// The place of a key, which may be taken.
pub(crate) enum Entry<'a, K, V> {
    Occupied(Occupied<'a, K, V>),
    Vacant(Vacant<'a, K, V>),
}

pub(crate) struct Occupied<'a, K, V>(Locked<raw::Occupied<'a, K, V>>);

pub(crate) struct Vacant<'a, K, V>(Locked<raw::Vacant<'a, K, V>>);

type Shared<'a, K, V> = Locked<raw::Ref<'a, K, V>>;
type Exclusive<'a, K, V> = Locked<raw::RefMut<'a, K, V>>;

impl<K: Clone + Eq + Hash, V, R: Rank> Map<K, V, R> {
    /// The same on every machine, its order being that of the numbers given.
    pub(crate) fn seeded(number: impl Fn() -> u64) -> Self {
        Self { raw: raw::seeded(number), rank: PhantomData }
    }

    #[inline]
    fn lock<'a, G>(&'a self, lock: impl FnOnce(&'a raw::Map<K, V>) -> G) -> Locked<G> {
        let held = Held::take::<R>();
        Locked { guard: lock(&self.raw), _held: held }
    }

    #[inline]
    pub(crate) fn get<Q>(&self, key: &Q) -> Option<Shared<'_, K, V>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.lock(|map| map.get(key)).present()
    }

    #[inline]
    pub(crate) fn get_mut(&self, key: &K) -> Option<Exclusive<'_, K, V>> {
        self.lock(|map| map.get_mut(key)).present()
    }

    #[inline]
    pub(crate) fn entry(&self, key: K) -> Entry<'_, K, V> {
        let Locked { guard, _held } = self.lock(|map| map.entry(key));
        match guard {
            raw::Entry::Occupied(guard) => Entry::Occupied(Occupied(Locked { guard, _held })),
            raw::Entry::Vacant(guard) => Entry::Vacant(Vacant(Locked { guard, _held })),
        }
    }

    /// Gives what was there before.
    pub(crate) fn insert(&self, key: K, value: V) -> Option<V> {
        self.lock(|map| map.insert(key, value)).guard
    }

    pub(crate) fn remove<Q>(&self, key: &Q) -> Option<(K, V)>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.lock(|map| map.remove(key)).guard
    }

    pub(crate) fn remove_if(&self, key: &K, is: impl FnOnce(&K, &V) -> bool) -> Option<(K, V)> {
        self.lock(|map| map.remove_if(key, is)).guard
    }

    /// Shard after shard, each locked while its items are looked at.
    pub(crate) fn iter(&self) -> impl Iterator<Item = raw::Each<'_, K, V>> {
        let Locked { guard, _held } = self.lock(raw::Map::iter);
        Iter { items: guard, _held }
    }

    pub(crate) fn iter_mut(&self) -> impl Iterator<Item = raw::EachMut<'_, K, V>> {
        let Locked { guard, _held } = self.lock(raw::Map::iter_mut);
        Iter { items: guard, _held }
    }

    pub(crate) fn len(&self) -> usize {
        self.lock(raw::Map::len).guard
    }
}

impl<K: Clone + Eq + Hash, V, R> Default for Map<K, V, R> {
    fn default() -> Self {
        Self { raw: raw::Map::default(), rank: PhantomData }
    }
}

/// While it lives, some shard may be locked.
struct Iter<I> {
    items: I,
    _held: Held,
}

impl<I: Iterator> Iterator for Iter<I> {
    type Item = I::Item;

    #[inline]
    fn next(&mut self) -> Option<I::Item> {
        self.items.next()
    }
}

impl<G> Locked<Option<G>> {
    #[inline]
    fn present(self) -> Option<Locked<G>> {
        let Self { guard, _held } = self;
        Some(Locked { guard: guard?, _held })
    }
}

impl<G: Deref> Deref for Locked<G> {
    type Target = G::Target;

    #[inline]
    fn deref(&self) -> &G::Target {
        &self.guard
    }
}

impl<G: DerefMut> DerefMut for Locked<G> {
    #[inline]
    fn deref_mut(&mut self) -> &mut G::Target {
        &mut self.guard
    }
}

impl<'a, K: Clone + Eq + Hash, V> Occupied<'a, K, V> {
    #[inline]
    pub(crate) fn get_mut(&mut self) -> &mut V {
        self.0.guard.get_mut()
    }

    /// The shard is free again when this returns.
    #[inline]
    pub(crate) fn remove_entry(self) -> (K, V) {
        self.0.guard.remove_entry()
    }
}

impl<'a, K: Clone + Eq + Hash, V> Vacant<'a, K, V> {
    #[inline]
    pub(crate) fn insert(self, value: V) -> Exclusive<'a, K, V> {
        let Locked { guard, _held } = self.0;
        Locked { guard: guard.insert(value), _held }
    }
}
