//! The [`Room`] of a cell (task) with a bounded mailbox: the semaphore that limits the number of
//! messages in its mailbox. The room lies in the block of the cell, behind the header.

use std::mem::size_of;
use std::sync::Arc;

use super::Room;
use crate::cell::{CellPtr, Header};

/// Returns a pointer to the room of a bounded cell. The room is the semaphore that limits the
/// mailbox of the cell.
fn place_of(cell: CellPtr) -> *mut Arc<Room> {
    debug_assert!(cell.is_bounded(), "others have no room");
    // SAFETY: the first field of what follows the header in the block.
    unsafe { cell.0.as_ptr().byte_add(size_of::<Header>()).cast() }
}

/// Returns the room of a bounded cell: the semaphore that limits its mailbox.
///
/// # Safety
/// The cell is bounded. The caller must hold a reference to the cell as long as it uses the room.
#[inline]
pub(crate) unsafe fn room_of<'a>(cell: CellPtr) -> &'a Arc<Room> {
    // SAFETY: by contract; the room is there as long as the block, and its place is not written.
    unsafe { &*place_of(cell) }
}

/// Drops the room of a bounded cell: the semaphore that limits its mailbox.
///
/// # Safety
/// The cell is bounded, its task was dropped, and its block is about to be freed.
pub(crate) unsafe fn drop_room(cell: CellPtr) {
    // SAFETY: by contract: the count of the block, which nobody can reach any more.
    unsafe { place_of(cell).drop_in_place() };
}
