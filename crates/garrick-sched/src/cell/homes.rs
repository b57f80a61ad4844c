//! For models: which cells ever had which home.
//!
//! A worker that ends looks at all blocks for those that are its own. A model must not look into a block that another thread may
//! just be making a cell of, because loom takes the making of an atomic for a write that is none; and it must not depend on
//! addresses.

use std::cell::RefCell;

use super::header::CellPtr;
use super::state::Home;

thread_local! {
    /// Cells and their homes, oldest first, of the model that this thread of the system runs.
    static HOMES: RefCell<Vec<(CellPtr, Home)>> = const { RefCell::new(Vec::new()) };
}

/// A cell has got this home.
pub(super) fn note(cell: CellPtr, home: Home) {
    HOMES.with_borrow_mut(|homes| {
        homes.retain(|known| *known != (cell, home));
        homes.push((cell, home));
    });
}

/// The cells that ever had this home.
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
