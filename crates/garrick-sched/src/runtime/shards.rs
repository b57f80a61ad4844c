//! Registers for data that only few cells have. The key is the memory address of the cell. Each
//! register is divided into shards, each with its own lock.

use std::sync::PoisonError;

use garrick_core::prim::{Mutex, MutexGuard};

/// Number of shards of a register. Threads that use different shards do not wait for each other.
const SHARDS: usize = if cfg!(garrick_loom) { 1 } else { 16 };

/// A register that is divided into shards. Each shard has its own lock. Code that holds a lock
/// cannot panic.
#[derive(Default)]
pub(crate) struct Shards<T>([Mutex<T>; SHARDS]);

impl<T> Shards<T> {
    /// Returns the shard for the cell at address `address`.
    pub(crate) fn of(&self, address: usize) -> MutexGuard<'_, T> {
        // Cells are about 32 bytes or more apart.
        let shard = &self.0[(address >> 5) % SHARDS];
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
