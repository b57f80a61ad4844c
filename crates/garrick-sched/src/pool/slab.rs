//! Slabs: large pieces of memory that are divided into blocks of one size class.
//!
//! Each slab begins at a multiple of [`SLAB_BYTES`] and ends with a [`Tail`]. So the tail of a
//! block's slab follows from the address of the block. The tail records how much of the slab is
//! divided, and which workers may have cells in which *region* of the slab.
//!
//! A worker that ends must find all its cells, but no list contains the cells that only wait for
//! messages. The worker reads the home of each block in the regions that contain its [`Mark`]. So
//! the end of a small system beside millions of actors of other systems takes little time.
//!
//! 1. The pool of a worker marks the regions of all blocks that come to it: blocks that are taken
//!    from the depot, and blocks of other owners that are freed on the worker. So a cell that the
//!    worker creates needs no further step.
//! 2. A cell that comes from elsewhere is marked by the worker that takes it, or by the thread that
//!    creates it for the worker.
//! 3. The worker looks for its mark when it ends.
//! 4. When the number of the worker is released, its blocks are in the depot. If no other worker
//!    has the same mark, the mark is removed from all slabs.

use std::alloc::{self, Layout};
use std::ptr::NonNull;

use garrick_core::prim::unmodelled::{AtomicU64, AtomicUsize, Relaxed};

use super::{Rest, class_bytes};
use crate::cell::{CellPtr, Header, Home};

/// Size of a slab in bytes, and also its alignment. Only pages that are accessed use physical
/// memory.
pub(super) const SLAB_BYTES: usize = 1 << 20;
/// Number of slabs that are allocated at once. The allocation has room for one slab more, because
/// [`Fresh`] aligns the memory itself.
const SLABS_AT_ONCE: usize = 8;
/// Number of regions of a slab.
const REGIONS: usize = 64;
const REGION_BYTES: usize = SLAB_BYTES / REGIONS;
/// Number of different marks.
pub(super) const MARKS: usize = u64::BITS as usize;

/// The last bytes of a slab. A new tail contains only zeros.
#[repr(C, align(64))]
struct Tail {
    /// Address up to which the slab is divided into blocks, or 0 if there are no blocks. Written by
    /// the thread that divides the slab. A walk over the slab stops at this address.
    carved: AtomicUsize,
    /// The marks of all regions together, so that code that searches for a mark skips most slabs.
    any: AtomicU64,
    /// The marks of each region, one bit for each mark. A region contains the blocks that begin in
    /// it.
    marks: [AtomicU64; REGIONS],
}

const TAIL_AT: usize = SLAB_BYTES - size_of::<Tail>();

/// Returns the number of blocks in a slab of the size class `class`.
pub(super) const fn blocks_of(class: usize) -> usize {
    TAIL_AT / class_bytes(class)
}

/// Returns the number of the region in which the address `at` lies, counted from address 0.
pub(super) const fn region_number(at: usize) -> usize {
    at / REGION_BYTES
}

/// Returns the index of the region in which the address `at` lies.
const fn region_of(at: usize) -> usize {
    region_number(at) % REGIONS
}

/// Returns the tail of a slab.
///
/// # Safety
/// A slab contains `at`, and the pointer may access the whole slab.
#[inline]
unsafe fn tail_of<'a>(at: *mut u8) -> &'a Tail {
    let tail = at.map_addr(|at| at / SLAB_BYTES * SLAB_BYTES + TAIL_AT);
    // SAFETY: by contract. The tail is zeroed and aligned, and is only ever used as these atomics.
    unsafe { &*tail.cast::<Tail>() }
}

/// Records that a slab is divided into blocks up to `next`, and that the last of these blocks
/// begins at `block`. A walk over the slab stops at this address.
///
/// # Safety
/// The blocks of a slab of the calling thread, which has not divided the part behind `block` yet.
pub(super) unsafe fn set_carved(block: *mut u8, next: *mut u8) {
    // Relaxed: a thread that looks for its own cells has got them from here on, and so sees the
    // address.
    // SAFETY: by contract.
    unsafe { tail_of(block) }.carved.store(next.addr(), Relaxed);
}

/// The mark of a worker in the regions that may contain its cells. Workers have different marks as
/// long as a process has at most [`MARKS`] workers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark(u64);

impl Mark {
    pub(super) const fn of(home: Home) -> Self {
        Self(1 << (home.number() as usize % MARKS))
    }

    /// Returns the number of the mark, which is less than [`MARKS`].
    pub(super) const fn index(self) -> usize {
        self.0.trailing_zeros() as usize
    }

    /// Marks the region of a block.
    ///
    /// # Safety
    /// The block is part of a slab, and the pointer may access the whole slab.
    #[inline]
    pub(super) unsafe fn set(self, block: *mut u8) {
        // SAFETY: by contract.
        let tail = unsafe { tail_of(block) };
        let marks = &tail.marks[region_of(block.addr())];
        // Relaxed: only the worker that has the mark looks for it. If another thread creates a cell
        // for a worker, the worker closes only after the thread has released the lock of
        // `Shared::admits`.
        if marks.load(Relaxed) & self.0 != self.0 {
            tail.any.fetch_or(self.0, Relaxed);
            marks.fetch_or(self.0, Relaxed);
        }
    }
}

/// A slab and the size class of its blocks, for code that visits all cells.
#[derive(Clone, Copy)]
pub(super) struct Slab {
    pub(super) base: *mut u8,
    pub(super) class: usize,
}

// SAFETY: a slab stays mapped, and walking reads atomics only.
unsafe impl Send for Slab {}

impl Slab {
    fn tail(&self) -> &Tail {
        // SAFETY: the slab begins there.
        unsafe { tail_of(self.base) }
    }

    /// Returns the address at which the blocks of the slab end.
    fn end(&self) -> *mut u8 {
        // SAFETY: the blocks lie side by side inside of the slab.
        unsafe {
            self.base
                .add(blocks_of(self.class) * class_bytes(self.class))
        }
    }

    /// Returns the whole slab, for a thread that divides it into blocks.
    pub(super) fn rest(&self) -> Rest {
        Rest {
            at: self.base,
            end: self.end(),
        }
    }

    /// Returns the number of blocks into which the slab was divided so far. The value may be
    /// outdated, but it includes all cells of this thread.
    pub(super) fn carved(&self) -> usize {
        let end = self.tail().carved.load(Relaxed);
        end.saturating_sub(self.base.addr()) / class_bytes(self.class)
    }

    /// Records that the slab has no blocks any more, so that it can be divided again. No thread has
    /// a block of the slab.
    pub(super) fn clear(&self) {
        // Relaxed: no thread has a cell in there, and the next thread gets the slab under the lock
        // of the depot.
        self.tail().carved.store(0, Relaxed);
        self.tail().any.store(0, Relaxed);
        for marks in &self.tail().marks {
            marks.store(0, Relaxed);
        }
    }

    /// Returns true if a region has the mark.
    fn has(&self, mark: Mark) -> bool {
        // Relaxed: see `Mark::set`.
        self.tail().any.load(Relaxed) & mark.0 != 0
    }

    /// Removes a mark from all regions.
    pub(super) fn unmark(&self, mark: Mark) {
        if !self.has(mark) {
            return;
        }
        let tail = self.tail();
        for marks in tail.marks.iter().chain([&tail.any]) {
            // Relaxed: the depot's lock orders this before the next worker with this mark.
            if marks.load(Relaxed) & mark.0 != 0 {
                marks.fetch_and(!mark.0, Relaxed);
            }
        }
    }

    /// Calls `found` for each block, used or free, in the regions that have the mark, or in all
    /// regions if there is none.
    pub(super) fn each_block(&self, mark: Option<Mark>, mut found: impl FnMut(CellPtr)) {
        if mark.is_some_and(|mark| !self.has(mark)) {
            return;
        }
        let (bytes, carved) = (class_bytes(self.class), self.carved());
        let mut first = 0;
        for (region, marks) in self.tail().marks.iter().enumerate() {
            let end = ((region + 1) * REGION_BYTES).div_ceil(bytes).min(carved);
            if mark.is_none_or(|mark| marks.load(Relaxed) & mark.0 != 0) {
                for index in first..end {
                    // SAFETY: inside of the slab.
                    let block = unsafe { self.base.add(index * bytes) };
                    found(CellPtr(
                        NonNull::new(block.cast::<Header>()).expect("a slab is not at address 0"),
                    ));
                }
            }
            first = end;
        }
    }
}

/// Memory for slabs that is not used yet.
#[derive(Clone, Copy)]
pub(super) struct Fresh {
    at: *mut u8,
    slabs: usize,
}

// SAFETY: nobody else has the memory.
unsafe impl Send for Fresh {}

impl Fresh {
    pub(super) const NONE: Self = Self {
        at: std::ptr::null_mut(),
        slabs: 0,
    };

    /// Returns an unused slab for blocks of the size class `class`. The slab contains zeros.
    pub(super) fn take(&mut self, class: usize) -> Slab {
        if self.slabs == 0 {
            *self = Self::allocate();
        }
        let base = self.at;
        self.slabs -= 1;
        // Wrapping: behind the last slab, the pointer is not used.
        self.at = base.wrapping_add(SLAB_BYTES);
        Slab { base, class }
    }

    fn allocate() -> Self {
        // Aligned by hand: if the allocator aligns the memory, the standard library writes every
        // zero itself.
        let bytes = (SLABS_AT_ONCE + 1) * SLAB_BYTES;
        let layout = Layout::from_size_align(bytes, 16).expect("constants");
        // SAFETY: the layout is not empty.
        let start = unsafe { alloc::alloc_zeroed(layout) };
        if start.is_null() {
            alloc::handle_alloc_error(layout);
        }
        // There is room for less than a slab before the first one.
        let at = start.map_addr(|start| start.next_multiple_of(SLAB_BYTES));
        Self {
            at,
            slabs: SLABS_AT_ONCE,
        }
    }
}

#[cfg(all(test, not(any(garrick_loom, garrick_no_pool))))]
mod tests {
    use super::super::CELL_CLASSES;
    use super::*;

    /// Size classes of 40, 72, 248, 512 and 4,096 bytes.
    const CLASS_LIST: [usize; 5] = [5, 9, 31, CELL_CLASSES - 4, CELL_CLASSES - 1];

    fn divided(class: usize) -> Slab {
        let mut fresh = Fresh::NONE;
        let slab = fresh.take(class);
        // SAFETY: a new slab, which nobody else has.
        unsafe { set_carved(slab.base, slab.end()) };
        slab
    }

    fn block(slab: Slab, index: usize) -> *mut u8 {
        // SAFETY: inside of the slab.
        unsafe { slab.base.add(index * class_bytes(slab.class)) }
    }

    /// Returns the indexes of the blocks that a worker with the mark reads.
    fn read(slab: Slab, mark: Option<Mark>) -> Vec<usize> {
        let mut blocks = Vec::new();
        slab.each_block(mark, |cell| {
            blocks.push((cell.0.addr().get() - slab.base.addr()) / class_bytes(slab.class));
        });
        blocks
    }

    #[test]
    fn each_block_is_in_one_region_which_has_the_marks_of_its_workers() {
        let (one, other) = (Mark::of(Home::new(1)), Mark::of(Home::new(2)));
        for class in CLASS_LIST {
            let slab = divided(class);
            let mut reached = Vec::new();
            while reached.len() < blocks_of(class) {
                assert_eq!(read(slab, Some(one)), [0; 0]);
                // SAFETY: a block of the slab.
                unsafe { one.set(block(slab, reached.len())) };
                let blocks = read(slab, Some(one));
                assert_eq!(blocks.first(), Some(&reached.len()), "class {class}");
                assert!(blocks.len() <= REGION_BYTES.div_ceil(class_bytes(class)));
                reached.extend(blocks);
                slab.unmark(one);
            }
            assert_eq!(reached, read(slab, None));
            assert_eq!(read(slab, Some(other)), [0; 0]);
        }
    }

    #[test]
    fn a_mark_is_removed_alone() {
        let (one, other) = (Mark::of(Home::new(1)), Mark::of(Home::new(2)));
        let slab = divided(CLASS_LIST[0]);
        for mark in [one, other] {
            // SAFETY: a block of the slab.
            unsafe { mark.set(block(slab, 1000)) };
        }
        slab.unmark(one);
        assert!(read(slab, Some(one)).is_empty());
        assert!(read(slab, Some(other)).contains(&1000));
        // Workers with numbers 64 apart have the same mark.
        assert!(read(slab, Some(Mark::of(Home::new(66)))).contains(&1000));
        slab.clear();
        assert_eq!(slab.carved(), 0);
        assert!(read(slab, None).is_empty());
        // SAFETY: nobody else divides the slab.
        unsafe { set_carved(slab.base, slab.end()) };
        assert!(
            read(slab, Some(other)).is_empty(),
            "a cleared slab has no marks"
        );
    }
}
