//! What stands beside all cells, by address: registers of what few of them have.

use std::sync::PoisonError;

use garrick_core::prim::{Mutex, MutexGuard};

/// Parts of a register, against contention.
const SHARDS: usize = if cfg!(garrick_loom) { 1 } else { 16 };

/// A register in parts, each with a lock. No code that holds one can panic half way.
#[derive(Default)]
pub(crate) struct Shards<T>([Mutex<T>; SHARDS]);

impl<T> Shards<T> {
    /// Returns the part for what has that address.
    pub(crate) fn of(&self, address: usize) -> MutexGuard<'_, T> {
        // Cells are some 32 bytes or more apart.
        let shard = &self.0[(address >> 5) % SHARDS];
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
