//! Blocks of memory, each of which contains one cell (task).

use std::mem::{align_of, size_of};
use std::ptr::NonNull;

use crate::cell::{CellPtr, Header};
use crate::pool;

/// The layout of a block: the header of a cell, followed by its task.
#[repr(C)]
pub(crate) struct Block<T> {
    header: Header,
    pub(crate) task: T,
}

/// Returns true if a task of type `T` does not fit into a block, because its size or its alignment
/// is too large. The block then contains a box with the task.
pub(crate) const fn is_boxed<T>() -> bool {
    size_of::<Block<T>>() > pool::CELL_BYTES_MAX || align_of::<Block<T>>() > 8
}

/// Returns the size class of the memory block for a task of type `T`.
#[inline]
pub(crate) const fn class_of<T>() -> usize {
    pool::cell_class(size_of::<Block<T>>())
}

/// Returns a pointer to the task of a cell.
#[inline]
pub(crate) fn task_of<T>(cell: CellPtr) -> NonNull<T> {
    cell.check_block(size_of::<Block<T>>());
    let block = cell.0.cast::<Block<T>>();
    // SAFETY: a field of a block that is there.
    unsafe { NonNull::new_unchecked(&raw mut (*block.as_ptr()).task) }
}
