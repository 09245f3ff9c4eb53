//! The map of production.

pub(super) use dashmap::Entry;
use dashmap::mapref;

/// Keyed by what peers choose, so with a hash that is fast and that they cannot foresee.
pub(super) type Map<K, V> = dashmap::DashMap<K, V, ahash::RandomState>;
pub(super) type Ref<'a, K, V> = mapref::one::Ref<'a, K, V>;
pub(super) type RefMut<'a, K, V> = mapref::one::RefMut<'a, K, V>;
pub(super) type Occupied<'a, K, V> = mapref::entry::OccupiedEntry<'a, K, V>;
pub(super) type Vacant<'a, K, V> = mapref::entry::VacantEntry<'a, K, V>;
pub(super) type Each<'a, K, V> = mapref::multiple::RefMulti<'a, K, V>;
pub(super) type EachMut<'a, K, V> = mapref::multiple::RefMutMulti<'a, K, V>;

/// How many parts a map has that is to be the same on every machine.
const SHARDS_SEEDED: usize = 4;

pub(super) fn seeded<K: Eq + std::hash::Hash, V>(number: impl Fn() -> u64) -> Map<K, V> {
    let hash = ahash::RandomState::with_seeds(number(), number(), number(), number());
    Map::with_hasher_and_shard_amount(hash, SHARDS_SEEDED)
}
