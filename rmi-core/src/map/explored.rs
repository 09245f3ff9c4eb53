//! The map that schedules are explored with: as few shards as show that there are several.

use std::borrow::Borrow;
use std::hash::{DefaultHasher, Hash, Hasher};

pub(super) use shuttle_dashmap::mapref::entry::Entry;
use shuttle_dashmap::{DashMap, mapref};

pub(super) type Ref<'a, K, V> = mapref::one::Ref<'a, K, V>;
pub(super) type RefMut<'a, K, V> = mapref::one::RefMut<'a, K, V>;
pub(super) type Occupied<'a, K, V> = mapref::entry::OccupiedEntry<'a, K, V>;
pub(super) type Vacant<'a, K, V> = mapref::entry::VacantEntry<'a, K, V>;
pub(super) type Each<'a, K, V> = mapref::multiple::RefMulti<'a, K, V>;
pub(super) type EachMut<'a, K, V> = mapref::multiple::RefMutMulti<'a, K, V>;

const SHARDS: usize = 2;

/// Each shard is one lock: shuttle's own stand-in for a map has only one in all.
pub(super) struct Map<K, V>([DashMap<K, V>; SHARDS]);

pub(super) fn seeded<K: Eq + Hash, V>(_: impl Fn() -> u64) -> Map<K, V> {
    Map::default()
}

/// The shard of a key: the same in every run, so that a schedule can be replayed.
pub(crate) fn shard_of(key: &(impl Hash + ?Sized)) -> usize {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    usize::from(hasher.finish() % 2 == 1)
}

impl<K: Eq + Hash, V> Default for Map<K, V> {
    fn default() -> Self {
        Self(Default::default())
    }
}

impl<K: Clone + Eq + Hash, V> Map<K, V> {
    fn of<Q: Hash + ?Sized>(&self, key: &Q) -> &DashMap<K, V> {
        &self.0[shard_of(key)]
    }

    pub(super) fn get<Q>(&self, key: &Q) -> Option<Ref<'_, K, V>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.of(key).get(key)
    }

    pub(super) fn get_mut(&self, key: &K) -> Option<RefMut<'_, K, V>> {
        self.of(key).get_mut(key)
    }

    pub(super) fn entry(&self, key: K) -> Entry<'_, K, V> {
        self.of(&key).entry(key)
    }

    pub(super) fn insert(&self, key: K, value: V) -> Option<V> {
        self.of(&key).insert(key, value)
    }

    pub(super) fn remove<Q>(&self, key: &Q) -> Option<(K, V)>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.of(key).remove(key)
    }

    pub(super) fn remove_if(&self, key: &K, is: impl FnOnce(&K, &V) -> bool) -> Option<(K, V)> {
        self.of(key).remove_if(key, is)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Each<'_, K, V>> {
        self.0.iter().flat_map(DashMap::iter)
    }

    pub(super) fn iter_mut(&self) -> impl Iterator<Item = EachMut<'_, K, V>> {
        self.0.iter().flat_map(DashMap::iter_mut)
    }

    pub(super) fn len(&self) -> usize {
        self.0.iter().map(DashMap::len).sum()
    }
}
