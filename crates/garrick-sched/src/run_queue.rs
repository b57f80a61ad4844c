//! A worker's private run queue: a ring of entries that only its worker touches.
//!
//! An entry names a cell and may hold the first message for it, so that a cell with one message to
//! handle, the common case, needs no envelope at all. What a turn pushes stays above a mark until the
//! turn commits; to undo the turn is to cut the ring back to the mark.

use std::alloc::{self, Layout};
use std::cell::Cell;
use std::mem::{align_of, size_of};
use std::ptr;

use crate::cell::{CellPtr, Header, Slot};

/// Entries in a ring at first; it doubles when full.
const CAPACITY_FIRST: usize = 256;
/// A larger ring is given back when it is empty.
const CAPACITY_KEPT: usize = 1 << 16;

/// Whether messages of type `M` fit in an entry.
pub(crate) const fn fits_slot<M>() -> bool {
    size_of::<M>() <= size_of::<Slot>() && align_of::<M>() <= align_of::<Slot>()
}

/// One cell to run.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Entry {
    /// The cell, with bit 0 set if the slot holds a message.
    tagged: *mut Header,
    slot: Slot,
}

// SAFETY: an entry owns its cell's run and its message; both go to whoever takes it (README, step 3).
// A cell that can be given away has a task and messages that are `Send`.
unsafe impl Send for Entry {}

impl Entry {
    /// The cell to run.
    #[inline]
    pub(crate) fn cell(&self) -> CellPtr {
        let cell = self.tagged.map_addr(|addr| addr & !1);
        // SAFETY: made from a `CellPtr` in `RunQueue::push`.
        CellPtr(unsafe { ptr::NonNull::new_unchecked(cell) })
    }

    /// Whether there is a message in the slot.
    #[inline]
    pub(crate) fn has_message(&self) -> bool {
        self.tagged.addr() & 1 == 1
    }

    /// Where the message is, if there is one.
    #[inline]
    pub(crate) fn slot(&self) -> *const Slot {
        &raw const self.slot
    }
}

/// The ring. Not `Sync`: one worker's own.
pub(crate) struct RunQueue {
    entries: Cell<*mut Entry>,
    /// Capacity less one; the capacity is a power of two.
    mask: Cell<usize>,
    /// Number of the oldest entry. Counts, never wraps to an index.
    head: Cell<usize>,
    /// Number of the next entry to push.
    tail: Cell<usize>,
    /// `head + capacity` when it was last looked at: below it there is room for sure.
    room_end: Cell<usize>,
    /// `tail` when the last turn ended.
    mark: Cell<usize>,
}

fn layout(capacity: usize) -> Layout {
    Layout::array::<Entry>(capacity).expect("a run queue fits into the address space")
}

fn allocate(capacity: usize) -> *mut Entry {
    // SAFETY: the layout is not empty.
    let entries = unsafe { alloc::alloc(layout(capacity)) };
    if entries.is_null() {
        alloc::handle_alloc_error(layout(capacity));
    }
    entries.cast()
}

impl RunQueue {
    pub(crate) fn new() -> Self {
        Self {
            entries: Cell::new(allocate(CAPACITY_FIRST)),
            mask: Cell::new(CAPACITY_FIRST - 1),
            head: Cell::new(0),
            tail: Cell::new(0),
            room_end: Cell::new(CAPACITY_FIRST),
            mark: Cell::new(0),
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.tail.get().wrapping_sub(self.head.get())
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    fn at(&self, number: usize) -> *mut Entry {
        // SAFETY: the masked number is below the capacity.
        unsafe { self.entries.get().add(number & self.mask.get()) }
    }

    #[inline]
    fn next_free(&self) -> *mut Entry {
        let tail = self.tail.get();
        if tail == self.room_end.get() {
            self.make_room();
        }
        self.tail.set(tail.wrapping_add(1));
        self.at(tail)
    }

    /// Appends `cell` with `message`, which must fit (see [`fits_slot`]).
    #[inline]
    pub(crate) fn push_message<M>(&self, cell: CellPtr, message: M) {
        debug_assert!(fits_slot::<M>(), "checked by the caller");
        cell.check_alive();
        let entry = self.next_free();
        // SAFETY:
        // - the entry is free, so nobody reads it while we write;
        // - the message fits by size and alignment, as asserted.
        unsafe {
            (*entry).tagged = cell.0.as_ptr().map_addr(|addr| addr | 1);
            (&raw mut (*entry).slot).cast::<M>().write(message);
        }
    }

    /// Appends `cell` without a message.
    #[inline]
    pub(crate) fn push_cell(&self, cell: CellPtr) {
        cell.check_alive();
        let entry = self.next_free();
        // SAFETY: the entry is free.
        unsafe { (*entry).tagged = cell.0.as_ptr() };
    }

    /// Appends an entry taken from another queue.
    pub(crate) fn push_entry(&self, entry: Entry) {
        let free = self.next_free();
        // SAFETY: the entry is free.
        unsafe { free.write(entry) };
    }

    /// Takes the oldest entry; it can be read until the next push.
    #[inline]
    pub(crate) fn pop_oldest(&self) -> Option<&Entry> {
        let head = self.head.get();
        if head == self.tail.get() {
            return None;
        }
        self.head.set(head.wrapping_add(1));
        // SAFETY: an entry between head and tail is initialized; the worker reads it before it pushes.
        Some(unsafe { &*self.at(head) })
    }

    /// Takes the newest entry; it can be read until the next push.
    #[inline]
    pub(crate) fn pop_newest(&self) -> Option<&Entry> {
        let tail = self.tail.get();
        if tail == self.head.get() {
            return None;
        }
        let newest = tail.wrapping_sub(1);
        self.tail.set(newest);
        // SAFETY: as in `pop_oldest`.
        Some(unsafe { &*self.at(newest) })
    }

    /// The number of the next entry to push.
    #[inline]
    pub(crate) fn tail(&self) -> usize {
        self.tail.get()
    }

    /// Whether something was pushed since the mark.
    #[inline]
    fn is_past_mark(&self) -> bool {
        self.tail.get() != self.mark.get()
    }

    /// Makes what was pushed so far final.
    #[inline]
    pub(crate) fn set_mark(&self) {
        self.mark.set(self.tail.get());
    }

    /// Takes the newest entry if it was pushed since the mark, for undoing a turn.
    pub(crate) fn pop_past_mark(&self) -> Option<Entry> {
        if self.is_past_mark() {
            self.pop_newest().copied()
        } else {
            None
        }
    }

    #[cold]
    #[inline(never)]
    fn make_room(&self) {
        if self.len() > self.mask.get() {
            self.grow();
        }
        self.room_end
            .set(self.head.get().wrapping_add(self.mask.get() + 1));
    }

    /// Gives memory back that a flood of ready cells took, now that none is left.
    pub(crate) fn shrink(&self) {
        let capacity = self.mask.get() + 1;
        if capacity <= CAPACITY_KEPT || !self.is_empty() {
            return;
        }
        // SAFETY: allocated by `allocate` with this capacity; it holds nothing.
        unsafe { alloc::dealloc(self.entries.get().cast(), layout(capacity)) };
        self.entries.set(allocate(CAPACITY_FIRST));
        self.mask.set(CAPACITY_FIRST - 1);
        self.room_end
            .set(self.head.get().wrapping_add(CAPACITY_FIRST));
    }

    fn grow(&self) {
        let (old_mask, old) = (self.mask.get(), self.entries.get());
        let capacity = (old_mask + 1) * 2;
        let new = allocate(capacity);
        let mut number = self.head.get();
        while number != self.tail.get() {
            // SAFETY: both indices are below their capacities, and the old entry is initialized.
            unsafe {
                new.add(number & (capacity - 1))
                    .write(old.add(number & old_mask).read());
            }
            number = number.wrapping_add(1);
        }
        self.entries.set(new);
        self.mask.set(capacity - 1);
        // SAFETY: allocated by `allocate` with this capacity; nobody refers to its entries.
        unsafe { alloc::dealloc(old.cast(), layout(old_mask + 1)) };
    }
}

impl Drop for RunQueue {
    fn drop(&mut self) {
        debug_assert!(
            self.is_empty() || std::thread::panicking(),
            "a worker empties its queues before it ends"
        );
        // SAFETY: allocated by `allocate` with this capacity.
        unsafe { alloc::dealloc(self.entries.get().cast(), layout(self.mask.get() + 1)) };
    }
}
