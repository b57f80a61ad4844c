//! The memory of a ring. The number of slots is a power of two, so that a mask converts a count
//! into the index of a slot.
//!
//! All reads and writes of values go through this module. The module does not know which slots are
//! full. The two halves of the ring, the producer and the consumer, must keep track of the full
//! slots, and must meet the conditions of the `unsafe` methods.
use std::{cell::Cell, marker::PhantomData, mem::MaybeUninit, ptr, ptr::NonNull, slice};

use super::{
    CapacityError,
    spread::{FAR, Spread, is_before},
};
#[cfg(garrick_loom)]
use crate::prim::UnsafeCell;

/// A view of the slots of a ring. The producer and the consumer have separate views, so that the
/// fields of each view are in the same cache line as the counts of its owner. [`Storage`] owns the
/// memory.
pub(super) struct Slots<T> {
    /// First slot. Never changes.
    start: NonNull<T>,

    /// Mask that converts a count before `spread_from` into the index of a slot. It is one less
    /// than the capacity, which is a power of two. Never changes.
    mask: usize,

    /// Mask that converts a count of at least `spread_from` into the index of a slot. It is one
    /// less than the number of slots, which is a power of two. Never changes.
    mask_spread: usize,

    /// First count for which the ring uses all its slots instead of only the first `capacity`
    /// slots. The producer and the consumer have separate copies. A copy is valid for the counts
    /// that its owner can reach before it reads the other half's count again.
    spread_from: usize,

    /// Cells with which loom checks the accesses to the slots.
    claims: Claims,

    /// Marker that makes `T` invariant. Otherwise a producer of long-lived references could be used
    /// as a producer of short-lived references, although its consumer still reads long-lived
    /// references.
    _invariant: PhantomData<Cell<T>>,
}

/// Owner of the memory of the slots. The length of the `Vec` stays 0, so that its `Drop` frees the
/// slots without dropping values.
pub(super) struct Storage<T>(Vec<MaybeUninit<T>>);

/// One loom cell for each slot. Each access to a slot also accesses its cell, so that loom can
/// check the accesses. The slots themselves must be plain memory, so that they can be borrowed as
/// slices. Without loom, there are no cells.
#[derive(Clone)]
struct Claims {
    #[cfg(garrick_loom)]
    cells: std::sync::Arc<[UnsafeCell<()>]>,
}

impl<T> Storage<T> {
    /// Allocates `slots` slots. Slots that are never used need no physical memory on systems that
    /// commit memory on first access.
    pub(super) fn try_new(slots: usize) -> Result<Self, CapacityError> {
        let mut storage = Vec::new();
        match storage.try_reserve_exact(slots) {
            Ok(()) => Ok(Self(storage)),
            Err(_) => Err(CapacityError::OutOfMemory { capacity: slots }),
        }
    }

    /// Creates a view of the first `slots` slots, of which at most `capacity` are full at a time.
    /// Both numbers must be powers of two. The view is valid while the storage exists. The first
    /// count that is used with the view is `start`.
    pub(super) fn slots(&mut self, capacity: usize, slots: usize, start: usize) -> Slots<T> {
        assert!(
            capacity.is_power_of_two() && slots.is_power_of_two() && capacity <= slots,
            "the capacity and the number of slots must be powers of two"
        );
        let spare = &mut self.0.spare_capacity_mut()[..slots];
        let mut slots = Slots {
            start: NonNull::from(spare).cast(),
            mask: capacity - 1,
            mask_spread: slots - 1,
            spread_from: start,
            claims: Claims::new(slots),
            _invariant: PhantomData,
        };
        slots.settle(start, Spread::No);
        slots
    }
}

impl<T> Clone for Slots<T> {
    fn clone(&self) -> Self {
        Self {
            claims: self.claims.clone(),
            ..*self
        }
    }
}

impl<T> Slots<T> {
    #[inline]
    pub(super) fn capacity(&self) -> usize {
        self.mask + 1
    }

    /// Returns true if the number of slots is greater than the capacity.
    #[inline]
    pub(super) fn is_roomy(&self) -> bool {
        self.mask < self.mask_spread
    }

    /// Sets which slots belong to `count` and later counts, according to `spread`. The setting is
    /// valid for all counts that are ahead of `count` by less than half of the range of a `usize`.
    /// Counts before `count` must no longer be used.
    #[inline]
    pub(super) fn settle(&mut self, count: usize, spread: Spread) {
        self.spread_from = match spread {
            Spread::No => count.wrapping_add(FAR),
            Spread::From(from) if is_before(count, from) => from,
            Spread::From(_) | Spread::Whole => count,
        };
    }

    /// Returns the mask that converts `count` into an index.
    #[inline]
    fn mask_at(&self, count: usize) -> usize {
        if is_before(count, self.spread_from) {
            self.mask
        } else {
            self.mask_spread
        }
    }

    /// Returns the number of slots in the first contiguous part of the `len` slots that begin at
    /// `count`.
    #[inline]
    pub(super) fn run_len(&self, count: usize, len: usize) -> usize {
        let mask = self.mask_at(count);
        len.min(mask + 1 - (count & mask))
    }

    /// Returns the index of slot number `count`.
    #[inline]
    fn index(&self, count: usize) -> usize {
        count & self.mask_at(count)
    }

    /// Returns a pointer to slot number `count`.
    #[inline]
    fn slot(&self, count: usize) -> *mut T {
        // SAFETY:
        // - in bounds: a masked count is below the number of slots, and the storage was checked to
        //   have that many; it lives as long as `Shared`, which each user of a view keeps alive.
        unsafe { self.start.as_ptr().add(self.index(count)) }
    }

    /// Moves `value` into slot number `count`.
    ///
    /// # Safety
    ///
    /// The slot is free, and only the caller accesses it. A value in the slot is overwritten
    /// without a drop.
    #[inline]
    pub(super) unsafe fn write(&self, count: usize, value: T) {
        self.claims.write(self.index(count), 1);
        // SAFETY:
        // - valid: `slot` is in bounds.
        // - exclusive: the caller's word.
        unsafe { self.slot(count).write(value) }
    }

    /// Moves the value out of slot number `count`.
    ///
    /// # Safety
    ///
    /// The slot is full, and only the caller accesses it. The slot is free afterwards.
    #[inline]
    pub(super) unsafe fn read(&self, count: usize) -> T {
        self.claims.write(self.index(count), 1);
        // SAFETY:
        // - valid: `slot` is in bounds.
        // - initialized, exclusive and read once: the caller's word.
        unsafe { self.slot(count).read() }
    }

    /// Returns a pointer to `len` contiguous slots, for reading the values or moving them out.
    ///
    /// # Safety
    ///
    /// The slots are full, only the caller accesses them, and `len` is at most `run_len(count,
    /// len)`.
    #[inline]
    pub(super) unsafe fn run(&self, count: usize, len: usize) -> *mut [T] {
        debug_assert!(len <= self.run_len(count, len), "a run does not wrap");
        self.claims.write(self.index(count), len);
        ptr::slice_from_raw_parts_mut(self.slot(count), len)
    }

    /// Borrows `len` contiguous full slots.
    ///
    /// # Safety
    ///
    /// The slots are full, no other code writes them during `'a`, and `len` is at most
    /// `run_len(count, len)`.
    #[inline]
    pub(super) unsafe fn readable<'a>(&self, count: usize, len: usize) -> &'a [T] {
        debug_assert!(len <= self.run_len(count, len), "a run does not wrap");
        self.claims.read(self.index(count), len);
        // SAFETY:
        // - valid: the run is in bounds, since it does not wrap.
        // - initialized and not written during `'a`: the caller's word.
        unsafe { slice::from_raw_parts(self.slot(count), len) }
    }

    /// Borrows `len` contiguous free slots.
    ///
    /// # Safety
    ///
    /// The slots are free, only the caller accesses them during `'a`, and `len` is at most
    /// `run_len(count, len)`.
    #[inline]
    pub(super) unsafe fn writable<'a>(&self, count: usize, len: usize) -> &'a mut [MaybeUninit<T>] {
        debug_assert!(len <= self.run_len(count, len), "a run does not wrap");
        self.claims.write(self.index(count), len);
        // SAFETY:
        // - valid: the run is in bounds, since it does not wrap; `MaybeUninit` needs no value
        //   there.
        // - exclusive during `'a`: the caller's word.
        unsafe { slice::from_raw_parts_mut(self.slot(count).cast(), len) }
    }

    /// Drops the values of the `len` slots that begin at `count`, in place. Even if one of the
    /// drops panics, the other values are dropped.
    ///
    /// # Safety
    ///
    /// The slots are full, only the caller accesses them, and `len` is at most `capacity`. The
    /// slots are free afterwards, even after a panic.
    #[inline]
    pub(super) unsafe fn drop_range(&self, count: usize, len: usize) {
        debug_assert!(
            len <= self.capacity(),
            "the range has more slots than can be full"
        );
        let first_len = self.run_len(count, len);
        // SAFETY:
        // - full and exclusive: the caller's word for all `len` slots.
        // - no wrap: `first_len` ends at the last slot at most, the others start at the first slot.
        // - dropped once: each run is dropped by its own `DropRun` and never named again.
        let _second = unsafe { DropRun(self.run(count.wrapping_add(first_len), len - first_len)) };
        // SAFETY: as above.
        let _first = unsafe { DropRun(self.run(count, first_len)) };
    }
}

#[cfg(not(garrick_loom))]
impl Claims {
    fn new(_slots: usize) -> Self {
        Self {}
    }
}

#[cfg(garrick_loom)]
impl Claims {
    fn new(slots: usize) -> Self {
        Self {
            cells: (0..slots).map(|_| UnsafeCell::new(())).collect(),
        }
    }

    /// Returns the loom cells of the `len` slots that begin at `index`.
    fn cells(&self, index: usize, len: usize) -> impl Iterator<Item = &UnsafeCell<()>> {
        self.cells[index..index + len].iter()
    }
}

impl Claims {
    /// Reports to loom a shared access to the `len` slots that begin at `index`.
    #[inline(always)]
    fn read(&self, index: usize, len: usize) {
        #[cfg(garrick_loom)]
        self.cells(index, len).for_each(|cell| cell.with(|_| ()));
        #[cfg(not(garrick_loom))]
        let _ = (index, len);
    }

    /// Reports to loom an exclusive access to the `len` slots that begin at `index`.
    #[inline(always)]
    fn write(&self, index: usize, len: usize) {
        #[cfg(garrick_loom)]
        self.cells(index, len)
            .for_each(|cell| cell.with_mut(|_| ()));
        #[cfg(not(garrick_loom))]
        let _ = (index, len);
    }
}

/// Guard that drops contiguous values when it is dropped, even after a panic. Created only by
/// [`Slots::drop_range`].
struct DropRun<T>(*mut [T]);

impl<T> Drop for DropRun<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY:
        // - valid, initialized and exclusive: as `drop_range` asks of its caller.
        // - dropped once: `drop_range` makes one `DropRun` a run.
        unsafe { self.0.drop_in_place() }
    }
}
