//! Sharded tables for state that few actors have. The key is the [`TaskId`] of the actor.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

use garrick_sched::TaskId;
use indexmap::IndexMap;

/// Number of shards of a table, each with its own lock.
const SHARDS: usize = 16;

type Shard<V> = IndexMap<TaskId, V>;

/// A table that contains state of type `V` for some actors, with the ids of the actors as keys.
pub(crate) struct Table<V>([Mutex<Shard<V>>; SHARDS]);

impl<V> Default for Table<V> {
    fn default() -> Self {
        Self(Default::default())
    }
}

impl<V> Table<V> {
    /// Locks the shard that contains the entry of an actor.
    pub(crate) fn shard(&self, owner: TaskId) -> MutexGuard<'_, Shard<V>> {
        let mut hasher = DefaultHasher::new();
        owner.hash(&mut hasher);
        lock(&self.0[hasher.finish() as usize % SHARDS])
    }
}

/// Locks a mutex, and ignores poisoning. No code can panic while it holds one of these locks.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
