//! Names of simulated tasks. In contrast to the address of a cell, a name is the same in every run.

#[cfg(feature = "sim")]
mod registered {
    use std::cell::RefCell;
    use std::collections::BTreeMap;

    use garrick_core::thread_values;

    thread_values! {
        /// Names of the tasks that this thread simulates, by the addresses of their cells.
        static NAMES: RefCell<BTreeMap<usize, u64>> = RefCell::new(BTreeMap::new());
    }

    /// Returns the name of the task whose cell is at `address`, if this thread simulates it.
    pub(crate) fn name_at(address: usize) -> Option<u64> {
        NAMES.with(|names| names.borrow().get(&address).copied())
    }

    /// Records the name of a task, or removes it if `name` is `None`.
    pub(crate) fn set(address: usize, name: Option<u64>) {
        NAMES.with(|names| match name {
            Some(name) => names.borrow_mut().insert(address, name),
            None => names.borrow_mut().remove(&address),
        });
    }

    /// Removes all names.
    pub(crate) fn clear() {
        NAMES.take();
    }
}

#[cfg(feature = "sim")]
pub(crate) use registered::{clear, name_at, set};

/// Returns `None`, because no task is simulated.
#[cfg(not(feature = "sim"))]
pub(crate) fn name_at(_: usize) -> Option<u64> {
    None
}
