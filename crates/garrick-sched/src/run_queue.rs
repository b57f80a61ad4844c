//! The run queue of a worker: a ring of entries. Only the worker changes the ring.
//!
//! An entry has the address of a cell, and may contain the first message for this cell. So a cell
//! with one message, which is the common case, needs no mailbox. A message that is too large for an
//! entry is in an envelope, whose address is in the entry. Each turn has a number. The first push
//! in a turn records the end of the ring as a mark. To undo the turn, the entries after the mark
//! are removed. In addition to the ring, there is a [`Handoff`], a separate place for one cell.
//!
//! Only the worker writes to the ring. During a long turn of the worker, other threads may read the
//! entries that were in the ring before this turn (`runtime/sponsor/README.md`, rescue). For this
//! purpose the words of the ring are atomics, which the models do not check. The worker writes an
//! entry before the word that announces the entry (release). A reader reads this word first
//! (acquire), and then the entry. The result is valid only if the worker is in the same turn before
//! and after the read.

use std::alloc::{self, Layout};
use std::cell::{Cell, UnsafeCell};
use std::mem::{align_of, size_of};
use std::ptr;
use std::sync::PoisonError;

use garrick_core::prim::Mutex;
use garrick_core::prim::unmodelled::{
    Acquire, AtomicPtr, AtomicU64, AtomicUsize, Relaxed, Release,
};

use crate::cell::{CellPtr, Header, Slot};

/// Initial capacity of a ring, in entries. The capacity doubles when the ring is full.
const CAPACITY_FIRST: usize = 256;
/// Largest capacity, in entries, of a ring that is kept. A larger ring is freed when it is empty.
const CAPACITY_KEPT: usize = 1 << 16;

/// Returns true if a message of type `M` fits into an entry of the run queue.
pub(crate) const fn fits_slot<M>() -> bool {
    size_of::<M>() <= size_of::<Slot>() && align_of::<M>() <= align_of::<Slot>()
}

/// Entry of a run queue: a cell to run.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Entry {
    /// Address of the cell. Bit 0 is set if the slot contains a message.
    tagged: *mut Header,
    slot: Slot,
}

// SAFETY: an entry owns its cell's run and its message; both go to whoever takes it (README, step
// 3). A cell that can be given away has a task and messages that are `Send`.
unsafe impl Send for Entry {}

impl Entry {
    /// Creates an entry without a message.
    pub(crate) fn of(cell: CellPtr) -> Self {
        Self {
            tagged: cell.0.as_ptr(),
            slot: Slot::uninit(),
        }
    }

    /// Creates an entry, and moves the message in `slot` to it. If `slot` is null, creates an entry
    /// without a message.
    ///
    /// # Safety
    /// If `slot` is not null, it contains a message for the cell. The message in `slot` is not used
    /// again.
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

    /// Returns the cell to run.
    #[inline]
    pub(crate) fn cell(&self) -> CellPtr {
        let cell = self.tagged.map_addr(|addr| addr & !1);
        // SAFETY: made from a `CellPtr` in `RunQueue::push`.
        CellPtr(unsafe { ptr::NonNull::new_unchecked(cell) })
    }

    /// Returns a pointer to the message in this entry, or null if there is none.
    #[inline]
    pub(crate) fn message(&self) -> *const Slot {
        if self.tagged.addr() & 1 == 1 {
            &raw const self.slot
        } else {
            ptr::null()
        }
    }
}

/// The ring of entries of one worker: its run queue.
pub(crate) struct RunQueue {
    entries: AtomicPtr<Entry>,
    /// Capacity minus one. The capacity is a power of two.
    mask: AtomicUsize,
    /// Sequence number of the oldest entry. A mask converts sequence numbers into indices.
    head: AtomicUsize,
    /// Sequence number of the next entry to push.
    tail: AtomicUsize,
    /// Value of `head + capacity` when `head` was last read. The ring certainly has room for
    /// entries whose sequence numbers are smaller than this value.
    room_end: Cell<usize>,
    /// Sequence number of the latest turn that pushed an entry.
    turn: AtomicU64,
    /// Value of `tail` when the latest turn that has pushed entries began to push them.
    mark: AtomicUsize,
    /// Lock that is held while the ring is replaced, and while other threads read entries.
    ring: Mutex<()>,
}

/// The entries that were in a run queue before the current turn of its worker, as a range of
/// sequence numbers.
#[derive(Clone, Copy)]
pub(crate) struct Stood {
    pub(crate) next: usize,
    end: usize,
}

impl Stood {
    /// Returns the number of entries in this range.
    pub(crate) fn len(self) -> usize {
        self.end.wrapping_sub(self.next)
    }

    /// Extends this range to the end of `later`, a range that was read later from the same ring. In
    /// the meantime, entries were only appended to the ring.
    pub(crate) fn extend(&mut self, later: Self) {
        if later.end.wrapping_sub(self.end) as isize > 0 {
            self.end = later.end;
        }
    }
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
            entries: AtomicPtr::new(allocate(CAPACITY_FIRST)),
            mask: AtomicUsize::new(CAPACITY_FIRST - 1),
            head: AtomicUsize::new(0),
            tail: AtomicUsize::new(0),
            room_end: Cell::new(CAPACITY_FIRST),
            turn: AtomicU64::new(0),
            mark: AtomicUsize::new(0),
            ring: Mutex::new(()),
        }
    }

    #[inline]
    fn head(&self) -> usize {
        self.head.load(Relaxed)
    }

    #[inline]
    fn set_head(&self, head: usize) {
        self.head.store(head, Relaxed);
    }

    #[inline]
    fn tail(&self) -> usize {
        self.tail.load(Relaxed)
    }

    #[inline]
    fn mask(&self) -> usize {
        self.mask.load(Relaxed)
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.tail().wrapping_sub(self.head())
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the entry with the given index, or `None` if there is none. The oldest entry has
    /// index 0. Only the worker calls this. The reference is valid until the next push.
    pub(crate) fn nth(&self, index: usize) -> Option<&Entry> {
        // SAFETY: an entry between head and tail is initialized.
        (index < self.len()).then(|| unsafe { &*self.at(self.head().wrapping_add(index)) })
    }

    #[inline]
    fn at(&self, number: usize) -> *mut Entry {
        // SAFETY: the masked number is below the capacity.
        unsafe { self.entries.load(Relaxed).add(number & self.mask()) }
    }

    /// Pushes an entry in turn number `turn`. `write` writes the entry.
    #[inline]
    fn push(&self, turn: u64, write: impl FnOnce(*mut Entry)) {
        if self.tail() == self.room_end.get() {
            self.make_room();
        }
        self.push_where_there_is_room(turn, write);
    }

    /// Pushes an entry as `push` does. The ring must have room for the entry.
    #[inline]
    fn push_where_there_is_room(&self, turn: u64, write: impl FnOnce(*mut Entry)) {
        let tail = self.tail();
        if self.turn.load(Relaxed) != turn {
            self.turn.store(turn, Relaxed);
            self.mark.store(tail, Relaxed);
        }
        write(self.at(tail));
        // Release: pairs with the Acquire in `stood_before`.
        self.tail.store(tail.wrapping_add(1), Release);
    }

    /// Appends `cell` with `message` in turn number `turn`. The message must fit ([`fits_slot`]).
    #[inline]
    pub(crate) fn push_message<M>(&self, turn: u64, cell: CellPtr, message: M) {
        debug_assert!(fits_slot::<M>(), "checked by the caller");
        cell.check_alive();
        if self.tail() == self.room_end.get() {
            return self.push_message_without_room(turn, cell, message);
        }
        // SAFETY:
        // - the entry is free, so nobody reads it while we write;
        // - the message fits by size and alignment, as asserted.
        self.push_where_there_is_room(turn, |entry| unsafe {
            (*entry).tagged = cell.0.as_ptr().map_addr(|addr| addr | 1);
            (&raw mut (*entry).slot).cast::<M>().write(message);
        });
    }

    /// Makes room in the ring, and then pushes the entry. Called as a tail call, so that the caller
    /// need not save registers.
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
        // SAFETY: the entry is free.
        self.push(turn, |entry| unsafe {
            (*entry).tagged = cell.0.as_ptr();
        });
    }

    /// Appends an entry taken from another queue.
    pub(crate) fn push_entry(&self, turn: u64, entry: Entry) {
        // SAFETY: the entry is free.
        self.push(turn, |free| unsafe { free.write(entry) });
    }

    /// Puts back an entry that was taken as the oldest entry, so that it is taken next.
    pub(crate) fn push_oldest(&self, entry: Entry) {
        if self.len() > self.mask() {
            self.grow();
        }
        let head = self.head().wrapping_sub(1);
        self.set_head(head);
        self.room_end.set(head.wrapping_add(self.mask() + 1));
        // SAFETY: there was room for one more, so the place before the oldest is free.
        unsafe { self.at(head).write(entry) };
    }

    /// Takes the oldest entry. The reference is valid until the next push.
    #[inline]
    pub(crate) fn pop_oldest(&self) -> Option<&Entry> {
        let head = self.head();
        if head == self.tail() {
            return None;
        }
        self.set_head(head.wrapping_add(1));
        // SAFETY: an entry between head and tail is initialized; the worker reads it before it
        // pushes.
        Some(unsafe { &*self.at(head) })
    }

    /// Takes the newest entry. The reference is valid until the next push.
    #[inline]
    pub(crate) fn pop_newest(&self) -> Option<&Entry> {
        let tail = self.tail();
        if tail == self.head() {
            return None;
        }
        let newest = tail.wrapping_sub(1);
        self.tail.store(newest, Relaxed);
        // SAFETY: as in `pop_oldest`.
        Some(unsafe { &*self.at(newest) })
    }

    /// Takes the newest entry if the turn with the number `turn` has pushed it. Used to undo the
    /// turn.
    pub(crate) fn pop_of_turn(&self, turn: u64) -> Option<Entry> {
        if self.was_pushed_in(turn) {
            self.pop_newest().copied()
        } else {
            None
        }
    }

    /// Returns true if the turn with the number `turn` has pushed an entry that is still in the
    /// ring.
    pub(crate) fn was_pushed_in(&self, turn: u64) -> bool {
        self.turn.load(Relaxed) == turn && self.tail() != self.mark.load(Relaxed)
    }

    /// Returns the entries that were in the ring before the current turn. `turn` returns the number
    /// of the current turn. Called by other threads while the worker is in a turn. Returns no
    /// entries if the turn ends during the call.
    pub(crate) fn stood_before(&self, turn: impl Fn() -> u64) -> Stood {
        let now = turn();
        // Acquire: pairs with the Release in `push`. An entry of this turn is seen with the number
        // of its turn, and that with the mark, or with an older one, which leaves some out.
        let tail = self.tail.load(Acquire);
        let is_marked = self.turn.load(Acquire) == now;
        let (head, mark) = (self.head(), self.mark.load(Acquire));
        let end = if is_marked { mark } else { tail };
        // Outdated values may give any result, even an end that comes before the head.
        let is_sound = end.wrapping_sub(head) <= tail.wrapping_sub(head);
        if turn() != now || !is_sound {
            return Stood {
                next: head,
                end: head,
            };
        }
        Stood { next: head, end }
    }

    /// Reads the next entry in the range `stood`. Returns `None` at the end of the range. If the
    /// next entry contains the running cell `runs`, ends the range before this entry and returns
    /// `None`. Called by threads that do not run the worker. The worker must not take the entry
    /// during the call.
    pub(crate) fn read_stood(&self, stood: &mut Stood, runs: *const Header) -> Option<Entry> {
        if stood.len() == 0 {
            return None;
        }
        let entry = {
            let _ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
            // SAFETY: an entry that stood there is whole, and stays as it is in each ring.
            unsafe { *self.at(stood.next) }
        };
        if ptr::eq(entry.cell().0.as_ptr(), runs) {
            stood.end = stood.next;
            return None;
        }
        stood.next = stood.next.wrapping_add(1);
        Some(entry)
    }

    /// Removes the entries with sequence numbers below `next`, because other threads have taken
    /// these entries. The worker may already have removed the newest of these entries from the
    /// other end of the ring.
    pub(crate) fn skip_to(&self, next: usize) {
        let (head, tail) = (self.head(), self.tail());
        let taken = next.wrapping_sub(head);
        // The last entry may have been taken from the other end.
        if taken as isize > 0 {
            self.set_head(head.wrapping_add(taken.min(tail.wrapping_sub(head))));
        }
    }

    #[cold]
    #[inline(never)]
    fn make_room(&self) {
        if self.len() > self.mask() {
            self.grow();
        }
        self.room_end.set(self.head().wrapping_add(self.mask() + 1));
    }

    /// Frees the memory of a large ring that is now empty.
    pub(crate) fn shrink(&self) {
        let capacity = self.mask() + 1;
        if capacity <= CAPACITY_KEPT || !self.is_empty() {
            return;
        }
        let _ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: allocated by `allocate` with this capacity; it holds nothing.
        unsafe { alloc::dealloc(self.entries.load(Relaxed).cast(), layout(capacity)) };
        self.entries.store(allocate(CAPACITY_FIRST), Relaxed);
        self.mask.store(CAPACITY_FIRST - 1, Relaxed);
        self.room_end.set(self.head().wrapping_add(CAPACITY_FIRST));
    }

    fn grow(&self) {
        let _ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        let (old_mask, old) = (self.mask(), self.entries.load(Relaxed));
        let capacity = (old_mask + 1) * 2;
        let new = allocate(capacity);
        let mut number = self.head();
        while number != self.tail() {
            // SAFETY: both indices are below their capacities, and the old entry is initialized.
            unsafe {
                new.add(number & (capacity - 1))
                    .write(old.add(number & old_mask).read());
            }
            number = number.wrapping_add(1);
        }
        self.entries.store(new, Relaxed);
        self.mask.store(capacity - 1, Relaxed);
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
        unsafe { alloc::dealloc(self.entries.load(Relaxed).cast(), layout(self.mask() + 1)) };
    }
}

/// The handoff: a place for one cell with a message. A cell that is woken while the place is empty
/// can be put there. It then runs next, while the cell and its message are still in the cache.
/// Moreover, putting a cell in this place needs no index arithmetic, unlike a push to the ring.
pub(crate) struct Handoff {
    /// The cell that the worker runs next, or null if there is none.
    cell: AtomicPtr<Header>,
    /// Sequence number of the turn that made the cell the handoff cell (the cell that runs next).
    turn: AtomicU64,
    slot: UnsafeCell<Slot>,
}

impl Handoff {
    pub(crate) fn new() -> Self {
        Self {
            cell: AtomicPtr::default(),
            turn: AtomicU64::new(0),
            slot: UnsafeCell::new(Slot::uninit()),
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.cell.load(Relaxed).is_null()
    }

    /// Makes `cell`, with the message `message`, the handoff cell: the cell that runs next. `turn`
    /// is the number of the current turn. The message must fit ([`fits_slot`]).
    #[inline]
    pub(crate) fn put<M>(&self, turn: u64, cell: CellPtr, message: M) {
        debug_assert!(fits_slot::<M>() && self.is_empty(), "checked by the caller");
        cell.check_alive();
        self.turn.store(turn, Relaxed);
        // SAFETY: the slot is ours, free, and the message fits by size and alignment, as asserted.
        unsafe { self.slot.get().cast::<M>().write(message) };
        // Release: pairs with the Acquire in `stood_before`.
        self.cell.store(cell.0.as_ptr(), Release);
    }

    /// Returns the handoff cell (the cell that runs next), if there is one. Such a cell has a
    /// message. Only the worker calls this.
    pub(crate) fn cell(&self) -> Option<CellPtr> {
        ptr::NonNull::new(self.cell.load(Relaxed)).map(CellPtr)
    }

    /// Takes the handoff cell (the cell that runs next). The pointer to the message of the cell is
    /// valid until the next [`Handoff::put`].
    #[inline]
    pub(crate) fn take(&self) -> Option<(CellPtr, *const Slot)> {
        let cell = ptr::NonNull::new(self.cell.load(Relaxed))?;
        self.cell.store(ptr::null_mut(), Relaxed);
        Some((CellPtr(cell), self.slot.get()))
    }

    /// Takes the handoff cell (the cell that runs next), together with its message.
    pub(crate) fn take_entry(&self) -> Option<Entry> {
        let (cell, slot) = self.take()?;
        // SAFETY: the message was put there with the cell.
        Some(unsafe { Entry::with_slot(cell, slot) })
    }

    /// Returns the handoff cell (the cell that runs next) and its message, if the cell was woken
    /// before the current turn. `turn` returns the number of the current turn. Called by other
    /// threads, like [`RunQueue::stood_before`].
    pub(crate) fn stood_before(&self, turn: impl Fn() -> u64) -> Option<Entry> {
        let now = turn();
        // Acquire: pairs with the Release in `put`.
        let cell = ptr::NonNull::new(self.cell.load(Acquire))?;
        let is_older = self.turn.load(Acquire) != now;
        if !is_older || turn() != now {
            return None;
        }
        // SAFETY: put there with the cell, in an earlier turn; the worker takes neither away in
        // this one.
        Some(unsafe { Entry::with_slot(CellPtr(cell), self.slot.get()) })
    }

    /// Empties the place for the cell that runs next, if it still contains `cell`. Called after
    /// another thread has taken `cell`.
    pub(crate) fn forget(&self, cell: CellPtr) {
        if self.cell.load(Relaxed) == cell.0.as_ptr() {
            self.cell.store(ptr::null_mut(), Relaxed);
        }
    }

    /// Returns the sequence number of the latest turn that has set a handoff cell (a cell that runs
    /// next).
    pub(crate) fn last_turn(&self) -> u64 {
        self.turn.load(Relaxed)
    }

    /// Returns true if the turn with the number `turn` has set the handoff cell (the cell that runs
    /// next), and nothing has taken the cell yet.
    pub(crate) fn was_put_in(&self, turn: u64) -> bool {
        self.turn.load(Relaxed) == turn && !self.is_empty()
    }

    /// Takes the handoff cell (the cell that runs next) and its message, if the turn with the
    /// number `turn` has set them. Used to undo the turn.
    pub(crate) fn take_of_turn(&self, turn: u64) -> Option<Entry> {
        if self.was_put_in(turn) {
            self.take_entry()
        } else {
            None
        }
    }
}
