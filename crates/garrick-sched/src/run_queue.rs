//! A worker's private run queue: a ring of entries that only its worker touches.
//!
//! An entry names a cell and may hold the first message for it, so that a cell with one message to
//! handle, the common case, needs no mailbox at all; a message too large for an entry lies in an envelope, of which the entry
//! holds the address. The first push of a turn, known by its number, leaves
//! a mark; to undo the turn is to cut the ring back to it. Beside the ring there is a [`Handoff`], which has
//! room for the one cell that was woken first.

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
    /// An entry without a message.
    pub(crate) fn of(cell: CellPtr) -> Self {
        Self {
            tagged: cell.0.as_ptr(),
            slot: Slot::uninit(),
        }
    }

    /// An entry with the message in a slot, which is moved out; null for none.
    ///
    /// # Safety
    /// The slot holds a message for the cell, which is not used again.
    pub(crate) unsafe fn with_slot(cell: CellPtr, slot: *const Slot) -> Self {
        if slot.is_null() {
            return Self::of(cell);
        }
        Self {
            tagged: cell.0.as_ptr().map_addr(|addr| addr | 1),
            // SAFETY: by contract.
            slot: unsafe { *slot },
        }
    }

    /// The cell to run.
    #[inline]
    pub(crate) fn cell(&self) -> CellPtr {
        let cell = self.tagged.map_addr(|addr| addr & !1);
        // SAFETY: made from a `CellPtr` in `RunQueue::push`.
        CellPtr(unsafe { ptr::NonNull::new_unchecked(cell) })
    }

    /// Where the message is, or null if there is none.
    #[inline]
    pub(crate) fn message(&self) -> *const Slot {
        if self.tagged.addr() & 1 == 1 {
            &raw const self.slot
        } else {
            ptr::null()
        }
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
    /// The last turn that pushed.
    turn: Cell<u64>,
    /// `tail` before the first push of that turn.
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
            turn: Cell::new(0),
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
    fn next_free(&self, turn: u64) -> *mut Entry {
        if self.tail.get() == self.room_end.get() {
            self.make_room();
        }
        self.claim_free(turn)
    }

    /// The same if there is room for sure.
    #[inline]
    fn claim_free(&self, turn: u64) -> *mut Entry {
        let tail = self.tail.get();
        if self.turn.get() != turn {
            self.turn.set(turn);
            self.mark.set(tail);
        }
        self.tail.set(tail.wrapping_add(1));
        self.at(tail)
    }

    /// Appends `cell` with `message`, which must fit (see [`fits_slot`]), in the turn of that number.
    #[inline]
    pub(crate) fn push_message<M>(&self, turn: u64, cell: CellPtr, message: M) {
        debug_assert!(fits_slot::<M>(), "checked by the caller");
        cell.check_alive();
        if self.tail.get() == self.room_end.get() {
            return self.push_message_without_room(turn, cell, message);
        }
        let entry = self.claim_free(turn);
        // SAFETY:
        // - the entry is free, so nobody reads it while we write;
        // - the message fits by size and alignment, as asserted.
        unsafe {
            (*entry).tagged = cell.0.as_ptr().map_addr(|addr| addr | 1);
            (&raw mut (*entry).slot).cast::<M>().write(message);
        }
    }

    /// The same from here again, so that what calls it needs to keep nothing for later.
    #[cold]
    #[inline(never)]
    fn push_message_without_room<M>(&self, turn: u64, cell: CellPtr, message: M) {
        self.make_room();
        self.push_message(turn, cell, message);
    }

    /// Appends `cell` without a message.
    #[inline]
    pub(crate) fn push_cell(&self, turn: u64, cell: CellPtr) {
        cell.check_alive();
        let entry = self.next_free(turn);
        // SAFETY: the entry is free.
        unsafe { (*entry).tagged = cell.0.as_ptr() };
    }

    /// Appends an entry taken from another queue.
    pub(crate) fn push_entry(&self, turn: u64, entry: Entry) {
        let free = self.next_free(turn);
        // SAFETY: the entry is free.
        unsafe { free.write(entry) };
    }

    /// Puts an entry before all others, to be taken next: one that was taken, and is to be where it was.
    pub(crate) fn push_oldest(&self, entry: Entry) {
        if self.len() > self.mask.get() {
            self.grow();
        }
        let head = self.head.get().wrapping_sub(1);
        self.head.set(head);
        self.room_end.set(head.wrapping_add(self.mask.get() + 1));
        // SAFETY: there was room for one more, so the place before the oldest is free.
        unsafe { self.at(head).write(entry) };
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

    /// Takes the newest entry if that turn pushed it, for undoing the turn.
    pub(crate) fn pop_of_turn(&self, turn: u64) -> Option<Entry> {
        if self.turn.get() == turn && self.tail.get() != self.mark.get() {
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

/// Room for one cell with a message: the first that was woken while the room was empty. It is run next,
/// while both are warm, and costs none of the ring's index arithmetic.
pub(crate) struct Handoff {
    /// The cell, or null.
    cell: Cell<*mut Header>,
    /// The turn that put it there.
    turn: Cell<u64>,
    slot: Cell<Slot>,
}

impl Handoff {
    pub(crate) fn new() -> Self {
        Self {
            cell: Cell::new(ptr::null_mut()),
            turn: Cell::new(0),
            slot: Cell::new(Slot::uninit()),
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.cell.get().is_null()
    }

    /// Puts `cell` there with `message`, which must fit (see [`fits_slot`]), in the turn of that number.
    #[inline]
    pub(crate) fn put<M>(&self, turn: u64, cell: CellPtr, message: M) {
        debug_assert!(fits_slot::<M>() && self.is_empty(), "checked by the caller");
        cell.check_alive();
        self.cell.set(cell.0.as_ptr());
        self.turn.set(turn);
        // SAFETY: the slot is ours, free, and the message fits by size and alignment, as asserted.
        unsafe { self.slot.as_ptr().cast::<M>().write(message) };
    }

    /// Takes the cell; its message can be read until the next [`Handoff::put`].
    #[inline]
    pub(crate) fn take(&self) -> Option<(CellPtr, *const Slot)> {
        let cell = ptr::NonNull::new(self.cell.get())?;
        self.cell.set(ptr::null_mut());
        Some((CellPtr(cell), self.slot.as_ptr()))
    }

    /// Takes the cell with its message.
    pub(crate) fn take_entry(&self) -> Option<Entry> {
        let (CellPtr(cell), _) = self.take()?;
        Some(Entry {
            tagged: cell.as_ptr().map_addr(|addr| addr | 1),
            slot: self.slot.get(),
        })
    }

    /// The last turn that put a cell there.
    pub(crate) fn last_turn(&self) -> u64 {
        self.turn.get()
    }

    /// The same if that turn put it there, for undoing the turn.
    pub(crate) fn take_of_turn(&self, turn: u64) -> Option<Entry> {
        if self.turn.get() == turn {
            self.take_entry()
        } else {
            None
        }
    }
}
