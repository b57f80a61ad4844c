//! Names of simulated tasks. In contrast to the memory address of a task's cell, the name of a task
//! is the same in every run.

#[cfg(feature = "sim")]
mod name;

#[cfg(feature = "sim")]
mod registered {
    use std::cell::RefCell;
    use std::collections::BTreeMap;

    use garrick_core::thread_values;

    thread_values! {
        /// Names of the tasks that this thread simulates, by the addresses of their cells.
        static NAMES: RefCell<BTreeMap<usize, u64>> = RefCell::new(BTreeMap::new());
    }

    /// Returns the name of the task whose cell is at `address`. Returns `None` if this thread does
    /// not simulate the task.
    pub(crate) fn name_at(address: usize) -> Option<u64> {
        NAMES.with(|names| names.borrow().get(&address).copied())
    }

    /// Records the name of a task when it is created. The name stays after the task has ended,
    /// until another task is created at the same address. While a hash table contains the id of a
    /// task, the name of the task must not change, because the hash of the id depends on the name.
    pub(crate) fn set(address: usize, name: u64) {
        NAMES.with(|names| names.borrow_mut().insert(address, name));
    }

    pub(crate) fn clear() {
        NAMES.take();
    }
}

#[cfg(feature = "sim")]
pub use name::TaskName;
#[cfg(feature = "sim")]
pub(crate) use registered::{clear, name_at, set};

/// Returns `None`, because no task is simulated.
#[cfg(not(feature = "sim"))]
pub(crate) fn name_at(_: usize) -> Option<u64> {
    None
}
