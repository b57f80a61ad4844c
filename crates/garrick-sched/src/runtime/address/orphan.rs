//! Dropping of cells that no worker owns, such as doors.
//!
//! A door may have the last address of another door, and so on, for any number of doors. If the
//! drop of each door dropped the next one, a long chain would overflow the stack. So at most
//! [`DEPTH_MAX`] drops are nested, and the innermost one drops the further cells one after another.

use std::cell::{Cell, RefCell};

#[cfg(garrick_loom)]
use garrick_core::prim::CellKey;
use garrick_core::thread_values;

use crate::cell::CellPtr;
use crate::pool;
use crate::quiet;
use crate::runtime::current;

/// Maximum number of nested drops of cells without an owner on one stack.
const DEPTH_MAX: u32 = 32;

thread_values! {
    /// Number of nested drops of cells without an owner on the stack of this thread.
    static DEPTH: Cell<u32> = Cell::new(0);
    /// Cells that the innermost drop on this thread must still drop.
    static WAITING: RefCell<Vec<CellPtr>> = RefCell::new(Vec::new());
}

/// Drops the value in a cell that has no owner, and frees the cell. If too many such calls are
/// nested, the cell is dropped a moment later, before the outermost call returns.
///
/// # Safety
/// The cell has no owner and no references, and is not used again.
pub(super) unsafe fn drop_orphan(cell: CellPtr) {
    let depth = DEPTH.get();
    if depth >= DEPTH_MAX {
        // At the end of the thread, the list may be gone.
        let kept = WAITING.try_with(|waiting| waiting.borrow_mut().push(cell));
        if kept.is_ok() {
            return;
        }
    }
    DEPTH.set(depth + 1);
    // SAFETY: by contract.
    unsafe { drop_now(cell) };
    while depth + 1 == DEPTH_MAX
        && let Ok(Some(next)) = WAITING.try_with(|waiting| waiting.borrow_mut().pop())
    {
        // SAFETY: by the contract of the call that has put it there.
        unsafe { drop_now(next) };
    }
    DEPTH.set(depth);
}

/// Drops the value in a cell that has no owner, and frees the cell.
///
/// # Safety
/// The requirements of [`drop_orphan`] apply.
unsafe fn drop_now(cell: CellPtr) {
    // SAFETY: by contract.
    unsafe {
        let class = pool::cell_class(cell.table().block_bytes);
        // The value of a door, or the remains of a task that its owner has dropped.
        let _ = quiet::call(|| (cell.table().drop_task)(cell));
        current::with_pool(|pool| pool.give_cell_of_any(class, cell));
    }
}
