//! For models: the cells that ever had a given home.
//!
//! A worker that ends searches all blocks for its own cells. A model must not read a block in which
//! another thread may just be creating a cell, because loom treats the creation of an atomic as a
//! non-atomic write. The search must not depend on addresses either.

use std::cell::RefCell;

use super::header::CellPtr;
use super::state::Home;

thread_local! {
    /// Cells and their homes, oldest first, of the model that this system thread runs.
    static HOMES: RefCell<Vec<(CellPtr, Home)>> = const { RefCell::new(Vec::new()) };
}

/// Records that a cell has got this home.
pub(super) fn note(cell: CellPtr, home: Home) {
    HOMES.with_borrow_mut(|homes| {
        homes.retain(|known| *known != (cell, home));
        homes.push((cell, home));
    });
}

/// Returns the cells that ever had this home.
pub(crate) fn once_at(home: Home) -> Vec<CellPtr> {
    HOMES.with_borrow(|homes| {
        let there = homes.iter().filter(|(_, other)| *other == home);
        there.map(|(cell, _)| *cell).collect()
    })
}

/// Ends a run.
#[cfg(test)]
pub(crate) fn reset() {
    HOMES.take();
}
