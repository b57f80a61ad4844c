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
#[inline(always)]
pub(super) unsafe fn drop_orphan(cell: CellPtr) {
    let depth = DEPTH.get();
    if depth >= DEPTH_MAX && is_kept(cell) {
        return;
    }
    DEPTH.set(depth + 1);
    let mut next = cell;
    loop {
        // SAFETY: by contract, also of the calls that have put cells into the list.
        unsafe { drop_now(next) };
        if depth + 1 < DEPTH_MAX {
            break;
        }
        let Some(waiting) = take_waiting() else {
            break;
        };
        next = waiting;
    }
    DEPTH.set(depth);
}

/// Puts a cell into the list of the cells that the innermost drop must still drop. Returns false if
/// the list is gone, because the thread ends.
#[cold]
fn is_kept(cell: CellPtr) -> bool {
    let kept = WAITING.try_with(|waiting| waiting.borrow_mut().push(cell));
    kept.is_ok()
}

/// Takes a cell out of the list of the cells that the innermost drop must still drop.
#[cold]
fn take_waiting() -> Option<CellPtr> {
    let next = WAITING.try_with(|waiting| waiting.borrow_mut().pop());
    next.ok().flatten()
}

/// Drops the value in a cell that has no owner, and frees the cell.
///
/// # Safety
/// The requirements of [`drop_orphan`] apply.
#[inline(always)]
unsafe fn drop_now(cell: CellPtr) {
    // SAFETY: by contract.
    unsafe {
        let class = pool::cell_class(cell.table().block_bytes);
        // The value of a door, or the remains of a task that its owner has dropped.
        let _ = quiet::call(|| (cell.table().drop_task)(cell));
        current::with_pool(|pool| pool.give_cell_of_any(class, cell));
    }
}
