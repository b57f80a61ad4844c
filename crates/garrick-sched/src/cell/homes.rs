//! A record for loom models: the cells (tasks) that each worker (home) has ever had.
//!
//! A worker that shuts down searches all blocks for its cells. A model must not read a block in
//! which another thread may be creating a cell. The reason is that loom treats the creation of an
//! atomic as a non-atomic write. Moreover, a model must not depend on addresses. So models search
//! this record instead.

use std::cell::RefCell;

use super::header::CellPtr;
use super::state::Home;

thread_local! {
    /// Pairs of a cell and its home (the owner), oldest first. They belong to the loom model that
    /// this thread of the operating system runs.
    static HOMES: RefCell<Vec<(CellPtr, Home)>> = const { RefCell::new(Vec::new()) };
}

/// Records that the home (the owner) of the cell is now `home`.
pub(super) fn note(cell: CellPtr, home: Home) {
    HOMES.with_borrow_mut(|homes| {
        homes.retain(|known| *known != (cell, home));
        homes.push((cell, home));
    });
}

/// Returns all cells whose home (owner) is or was `home`.
pub(crate) fn once_at(home: Home) -> Vec<CellPtr> {
    HOMES.with_borrow(|homes| {
        let there = homes.iter().filter(|(_, other)| *other == home);
        there.map(|(cell, _)| *cell).collect()
    })
}

/// Removes all recorded pairs of a cell and its owner, after a run of a loom model.
#[cfg(test)]
pub(crate) fn reset() {
    HOMES.take();
}
