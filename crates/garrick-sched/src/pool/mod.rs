//! Memory blocks for cells (tasks) and envelopes (messages): free lists per thread and size class,
//! on top of a shared depot.
//!
//! The method is described by Bonwick and Adams, "Magazines and Vmem" (USENIX 2001). A thread
//! allocates from its own lists and frees to them without atomics. If a list contains more than two
//! batches, one batch moves to the depot. If a list is empty, a batch moves from the depot to the
//! list. So blocks that were freed by another thread come back in batches. Blocks are parts of
//! slabs (`slab`), which keep their addresses until the process exits. So the memory of a cell
//! stays valid even if addresses of the cell outlive its system. If no block of a slab is used for
//! some time, the pages of the slab are given back to the operating system (`reclaim`).

mod slab;

mod reclaim;

pub(crate) use reclaim::{reclaim, time_left, watch};

use garrick_core::prim::unmodelled::{AtomicU64, Mutex, MutexGuard, Relaxed};
use std::cell::Cell;
use std::ptr::{self, NonNull};
use std::sync::PoisonError;

use self::reclaim::Reclaim;
use self::slab::{Fresh, MARKS, Mark, Slab, blocks_of};
use crate::cell::{CellPtr, Envelope, Header, Home, Kind};

/// Size limit in bytes. For cells of up to this size (including the header), there is a size class
/// for every 8 bytes.
const FINE_BYTES: usize = 256;
const FINE_CLASSES: usize = FINE_BYTES / 8 + 1;
/// Largest size of a cell. Above `FINE_BYTES`, there is a size class for every power of two. A task
/// that needs a larger cell is boxed.
pub(crate) const CELL_BYTES_MAX: usize = 4096;
const CELL_CLASSES: usize = FINE_CLASSES + 4;
/// Sizes of envelopes. Each size is four times the previous size, so that a sequence of many
/// messages soon uses large envelopes.
const ENVELOPE_BYTES: [usize; 4] = if cfg!(garrick_loom) {
    // Loom's cells are larger.
    [256, 512, 1024, 4096]
} else {
    [64, 256, 1024, 4096]
};

/// True if blocks come directly from the allocator, so that sanitizers and models detect every use
/// after free.
const UNPOOLED: bool = cfg!(any(garrick_no_pool, garrick_loom));
const CLASSES: usize = CELL_CLASSES + ENVELOPE_BYTES.len();

/// Number of blocks in a batch. Blocks move in batches between a thread and the depot (the free
/// blocks that all threads share).
const BATCH: u32 = 128;

/// Returns the size class of a block for a cell of `bytes` bytes, including the header of the cell.
#[inline]
pub(crate) const fn cell_class(bytes: usize) -> usize {
    if bytes <= FINE_BYTES {
        bytes.div_ceil(8)
    } else {
        assert!(bytes <= CELL_BYTES_MAX, "larger tasks are boxed");
        FINE_CLASSES + (bytes.next_power_of_two().trailing_zeros() as usize - 9)
    }
}

/// Returns the size in bytes of each block in the size class `class`.
const fn class_bytes(class: usize) -> usize {
    if class < FINE_CLASSES {
        class * 8
    } else if class < CELL_CLASSES {
        512 << (class - FINE_CLASSES)
    } else {
        ENVELOPE_BYTES[class - CELL_CLASSES]
    }
}

/// Returns the index of the smallest size of envelopes with room for `bytes` bytes. Returns the
/// index of the largest size if no envelope is large enough.
pub(crate) const fn envelope_step(bytes: usize) -> u8 {
    let mut step = 0;
    while step + 1 < ENVELOPE_BYTES.len() && ENVELOPE_BYTES[step] - Envelope::HEADER_BYTES < bytes {
        step += 1;
    }
    step as u8
}

/// The index of the largest size of envelopes.
pub(crate) const ENVELOPE_STEP_MAX: u8 = ENVELOPE_BYTES.len() as u8 - 1;

/// Returns how many bytes an envelope has for messages. `step` is the index of the envelope's size.
pub(crate) const fn envelope_room(step: u8) -> usize {
    ENVELOPE_BYTES[step as usize] - Envelope::HEADER_BYTES
}

/// A free block. If the block is for a cell, its second word is where a cell has its state word,
/// and is 0 while the block is free. The value 0 means that no worker owns the block. So code that
/// walks over the slabs skips free blocks.
struct Free {
    next: *mut Free,
}

/// A list of free blocks. Each block contains the link to the next one.
#[derive(Clone, Copy)]
struct List {
    head: *mut Free,
    count: u32,
    /// In the depot, the pool from which the list came, if all its blocks have the mark of this
    /// pool. Otherwise not used.
    from: PoolId,
}

/// A number that identifies the pool of a worker, or 0.
type PoolId = u32;

// SAFETY: the blocks of a list belong to the thread that has the list.
unsafe impl Send for List {}

impl List {
    const EMPTY: Self = Self {
        head: ptr::null_mut(),
        count: 0,
        from: 0,
    };
}

/// The part of a slab (a large piece of memory) that is not divided into blocks yet.
#[derive(Clone, Copy)]
struct Rest {
    at: *mut u8,
    end: *mut u8,
}

// SAFETY: as for `List`.
unsafe impl Send for Rest {}

impl Rest {
    const EMPTY: Self = Self {
        at: ptr::null_mut(),
        end: ptr::null_mut(),
    };
}

struct Depot {
    /// Full batches of free blocks, by size class.
    batches: [Vec<List>; CLASSES],
    /// For each size class, the parts of slabs (large pieces of memory) that are not divided into
    /// blocks yet. These parts come from threads that gave back their spare memory, and from slabs
    /// whose pages were given back to the operating system.
    rests: [Vec<Rest>; CLASSES],
    /// All slabs (large pieces of memory, divided into blocks) of the process.
    slabs: Vec<Slab>,
    fresh: Fresh,
    /// Number of pools of workers that were created so far, and identifier of the latest one.
    pools: PoolId,
    /// For each mark, the number of claimed homes (numbers of workers) that have it.
    owners: [u16; MARKS],
    reclaim: Reclaim,
}

static DEPOT: Mutex<Depot> = Mutex::new(Depot::new());

/// Number of envelopes taken from pools minus the number given back, according to the reports of
/// the threads. The number is exact when the threads are idle.
static ENVELOPES_OUT: AtomicU64 = AtomicU64::new(0);
/// Number of cells taken from pools minus the number given back, according to the reports of the
/// threads.
static CELLS_OUT: AtomicU64 = AtomicU64::new(0);

fn depot() -> MutexGuard<'static, Depot> {
    // No code that holds the lock can panic halfway.
    DEPOT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The free blocks of one worker, or of one thread that is not a worker, by size class.
pub(crate) struct Pool {
    lists: [Cell<List>; CLASSES],
    rests: [Cell<Rest>; CLASSES],
    /// The mark of the worker, in all regions that contain a block of this pool or a cell of the
    /// worker. A thread that is not a worker owns no cells, and has no mark.
    mark: Option<Mark>,
    /// Identifier of this pool among all pools of the process. 0 for the pool of a thread that is
    /// not a worker.
    id: PoolId,
}

impl Pool {
    /// Creates a pool for a thread that is not a worker.
    pub(crate) const fn new() -> Self {
        Self {
            lists: [const { Cell::new(List::EMPTY) }; CLASSES],
            rests: [const { Cell::new(Rest::EMPTY) }; CLASSES],
            mark: None,
            id: 0,
        }
    }

    /// Creates the pool of a worker, with which [`cells_of`] finds the cells of the worker.
    pub(crate) fn of(home: Home) -> Self {
        let mut pool = Self::new();
        if !UNPOOLED {
            pool.mark = Some(Mark::of(home));
            pool.id = depot().next_pool();
        }
        pool
    }

    /// Marks a block that comes to this pool.
    #[inline]
    fn mark(&self, block: NonNull<u8>) {
        if let Some(mark) = self.mark {
            // SAFETY: blocks are parts of slabs.
            unsafe { mark.set(block.as_ptr()) };
        }
    }

    #[inline]
    fn take(&self, class: usize) -> NonNull<u8> {
        if UNPOOLED {
            return unpooled::take(class);
        }
        let list = self.lists[class].get();
        let Some(block) = NonNull::new(list.head) else {
            return self.refill(class);
        };
        // SAFETY: a block in our list is ours and holds its link.
        let next = unsafe { block.as_ref().next };
        self.lists[class].set(List {
            head: next,
            count: list.count.wrapping_sub(1),
            ..list
        });
        block.cast()
    }

    /// Gives a block back, so that it can be used again.
    ///
    /// # Safety
    /// The block is of `class` and was taken from a pool. No code accesses it any more.
    #[inline]
    unsafe fn give(&self, class: usize, block: NonNull<u8>) {
        if UNPOOLED {
            // SAFETY: by contract.
            return unsafe { unpooled::give(class, block) };
        }
        let list = self.lists[class].get();
        let block = block.cast::<Free>();
        // Before the write to the block: the compiler then knows that `from` stays as it is.
        self.lists[class].set(List {
            head: block.as_ptr(),
            count: list.count + 1,
            ..list
        });
        // SAFETY: the block is ours, large enough and aligned for a link.
        unsafe { block.write(Free { next: list.head }) };
        if list.count >= 2 * BATCH {
            self.spill(class);
        }
    }

    /// Moves the newest batch of a list to the depot: the free blocks that all threads share.
    #[cold]
    #[inline(never)]
    fn spill(&self, class: usize) {
        let list = self.lists[class].get();
        let mut last = list.head;
        for _ in 1..BATCH {
            // SAFETY: the list is longer than a batch.
            last = unsafe { (*last).next };
        }
        // SAFETY: as above.
        let rest = unsafe { ptr::replace(&raw mut (*last).next, ptr::null_mut()) };
        self.lists[class].set(List {
            head: rest,
            count: list.count - BATCH,
            ..list
        });
        let batch = List {
            head: list.head,
            count: BATCH,
            from: self.id,
        };
        depot().push(class, batch);
    }

    #[cold]
    #[inline(never)]
    fn refill(&self, class: usize) -> NonNull<u8> {
        let rest = self.rests[class].get();
        if rest.at == rest.end {
            let mut depot = depot();
            if let Some(batch) = depot.pop(class) {
                drop(depot);
                if class < CELL_CLASSES {
                    self.mark_all(batch);
                }
                self.lists[class].set(batch);
                return self.take(class);
            }
            let rest = depot.rests[class]
                .pop()
                .unwrap_or_else(|| depot.new_slab(class));
            drop(depot);
            self.rests[class].set(rest);
        }
        self.carve(class)
    }

    fn carve(&self, class: usize) -> NonNull<u8> {
        let Rest { at, end } = self.rests[class].get();
        // SAFETY: a rest holds a whole number of blocks, at least one here.
        let next = unsafe { at.add(class_bytes(class)) };
        // SAFETY: this thread has the rest of the slab.
        unsafe { slab::set_carved(at, next) };
        self.rests[class].set(Rest { at: next, end });
        let block = NonNull::new(at).expect("a slab is not at address 0");
        if class < CELL_CLASSES {
            self.mark(block);
        }
        block
    }

    /// Marks all blocks of a list that comes from the depot.
    fn mark_all(&self, list: List) {
        // Blocks that come back to the pool of a worker have its mark.
        if self.mark.is_none() || (list.from == self.id && self.id != 0) {
            return;
        }
        let (mut block, mut marked) = (list.head, None);
        while let Some(free) = NonNull::new(block) {
            // Blocks of one region often follow each other.
            let region = slab::region_number(free.addr().get());
            if marked.replace(region) != Some(region) {
                self.mark(free.cast());
            }
            // SAFETY: a block of a list that is ours holds its link.
            block = unsafe { free.as_ref().next };
        }
    }

    /// Takes a block for a cell of the size class `class`. The block is uninitialized, except for
    /// the state word, which is 0.
    #[inline]
    pub(crate) fn take_cell(&self, class: usize) -> NonNull<u8> {
        self.take(class)
    }

    /// Gives the block of a cell back to this pool.
    ///
    /// # Safety
    /// The cell is of `class`, and its task was dropped. No code accesses the cell any more.
    #[inline]
    pub(crate) unsafe fn give_cell(&self, class: usize, cell: CellPtr) {
        debug_assert!(
            cfg!(garrick_loom) || cell_class(cell.table().block_bytes) == class,
            "a block goes back to its class"
        );
        cell.vacate();
        cell.poison();
        // SAFETY: by contract.
        unsafe { self.give(class, cell.0.cast()) };
    }

    /// Gives the block of a closed cell back to this pool. The cell may have belonged to another
    /// worker.
    ///
    /// # Safety
    /// As for [`Pool::give_cell`].
    pub(crate) unsafe fn give_cell_of_any(&self, class: usize, cell: CellPtr) {
        self.mark(cell.0.cast());
        // SAFETY: by contract.
        unsafe { self.give_cell(class, cell) };
    }

    /// Takes an empty envelope with room for `capacity` messages. `step` is the index of the
    /// envelope's size.
    #[inline]
    pub(crate) fn take_envelope(&self, kind: Kind, step: u8, capacity: u16) -> *mut Envelope {
        let block = self.take(CELL_CLASSES + step as usize).cast::<Envelope>();
        // SAFETY: the block is ours, large enough and aligned.
        unsafe { block.write(Envelope::new(kind, step, capacity)) };
        block.as_ptr()
    }

    /// Gives the block of an envelope back to this pool.
    ///
    /// # Safety
    /// All messages of the envelope were moved out or dropped, and no code has a pointer to the
    /// envelope.
    #[inline]
    pub(crate) unsafe fn give_envelope(&self, envelope: *mut Envelope) {
        // SAFETY: by contract.
        unsafe {
            debug_assert_eq!((*envelope).unread(), 0, "its messages are read or dropped");
            let class = CELL_CLASSES + (*envelope).class() as usize;
            self.give(class, NonNull::new_unchecked(envelope).cast());
        }
    }
}

impl Pool {
    /// Moves all spare blocks of this thread to the depot: the free blocks that all threads share.
    pub(crate) fn flush(&self) {
        let mut depot = depot();
        for class in 0..CLASSES {
            let list = self.lists[class].replace(List::EMPTY);
            if list.count > 0 {
                let from = self.id;
                depot.push(class, List { from, ..list });
            }
            let rest = self.rests[class].replace(Rest::EMPTY);
            if rest.at != rest.end {
                depot.rests[class].push(rest);
            }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.flush();
    }
}

impl Depot {
    const fn new() -> Self {
        Self {
            batches: [const { Vec::new() }; CLASSES],
            rests: [const { Vec::new() }; CLASSES],
            slabs: Vec::new(),
            fresh: Fresh::NONE,
            pools: 0,
            owners: [0; MARKS],
            reclaim: Reclaim::CALM,
        }
    }

    fn new_slab(&mut self, class: usize) -> Rest {
        let slab = self.fresh.take(class);
        self.slabs.push(slab);
        let out = if class < CELL_CLASSES {
            &CELLS_OUT
        } else {
            &ENVELOPES_OUT
        };
        out.fetch_add(blocks_of(class) as u64, Relaxed);
        slab.rest()
    }

    /// Returns the identifier of a new pool. Returns 0 if there are no more identifiers: then this
    /// pool also marks blocks that it had before.
    fn next_pool(&mut self) -> PoolId {
        let next = self.pools.checked_add(1);
        self.pools = next.unwrap_or(self.pools);
        next.unwrap_or(0)
    }

    /// Counts a home (number of a worker) that has the mark.
    fn enter(&mut self, mark: Mark) {
        self.owners[mark.index()] += 1;
    }

    /// Removes the mark from all slabs if no home (number of a worker) has it any more.
    fn leave(&mut self, mark: Mark) {
        self.owners[mark.index()] -= 1;
        if self.owners[mark.index()] == 0 {
            for slab in self.slabs.iter().filter(|slab| slab.class < CELL_CLASSES) {
                slab.unmark(mark);
            }
        }
    }

    fn free_blocks(&self, classes: std::ops::Range<usize>) -> u64 {
        classes
            .map(|class| {
                let listed: u64 = self.batches[class]
                    .iter()
                    .map(|list| u64::from(list.count))
                    .sum();
                let carved: usize = self.rests[class]
                    .iter()
                    .map(|rest| (rest.end.addr() - rest.at.addr()) / class_bytes(class))
                    .sum();
                listed + carved as u64 + self.reclaim.held(class)
            })
            .sum()
    }
}

/// Blocks that come directly from the allocator, under `--cfg garrick_no_pool` and in models.
mod unpooled {
    use std::alloc::{self, Layout};
    use std::collections::BTreeMap;
    use std::ptr::NonNull;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    /// The size class of each block in use, by the address of the block.
    type Blocks = Mutex<BTreeMap<usize, usize>>;

    /// The blocks in use, with their size classes.
    #[cfg(not(garrick_loom))]
    static BLOCKS: Blocks = Mutex::new(BTreeMap::new());

    #[cfg(garrick_loom)]
    thread_local! {
        /// Blocks that the loom model on this system thread uses. All threads of the model run on
        /// this system thread.
        static BLOCKS: &'static Blocks = Box::leak(Box::default());
        /// Blocks that the model has freed. Their memory is kept until the run is over. So loom
        /// detects a use after free, and no other block gets the same address.
        static FREED: std::cell::RefCell<Vec<(usize, usize)>> = const { std::cell::RefCell::new(Vec::new()) };
    }

    /// Finishes a run of a loom model. Frees all memory and returns the number of blocks that were
    /// in use.
    #[cfg(all(test, garrick_loom))]
    pub(super) fn reset() -> usize {
        let used = std::mem::take(&mut *blocks());
        let freed = FREED.take();
        crate::cell::homes::reset();
        let in_use = used.len();
        for (address, class) in used.into_iter().chain(freed) {
            // SAFETY: made by `take` with that class; the run that used it is over.
            unsafe {
                alloc::dealloc(
                    std::ptr::with_exposed_provenance_mut(address),
                    layout(class),
                );
            }
        }
        in_use
    }

    pub(super) fn blocks() -> MutexGuard<'static, BTreeMap<usize, usize>> {
        #[cfg(not(garrick_loom))]
        let blocks = &BLOCKS;
        #[cfg(garrick_loom)]
        let blocks = BLOCKS.with(|blocks| *blocks);
        blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn layout(class: usize) -> Layout {
        Layout::from_size_align(super::class_bytes(class), 16).expect("classes are small")
    }

    pub(super) fn take(class: usize) -> NonNull<u8> {
        // SAFETY: no class is empty.
        let block = NonNull::new(unsafe { alloc::alloc_zeroed(layout(class)) });
        let block = block.unwrap_or_else(|| alloc::handle_alloc_error(layout(class)));
        blocks().insert(block.as_ptr().expose_provenance(), class);
        block
    }

    /// Gives a block back, so that it can be used again.
    ///
    /// # Safety
    /// The block came from `take` with the same `class`. No code accesses it any more.
    pub(super) unsafe fn give(class: usize, block: NonNull<u8>) {
        let known = blocks().remove(&block.as_ptr().addr());
        assert_eq!(known, Some(class), "a block is freed once, with its class");
        #[cfg(garrick_loom)]
        FREED.with_borrow_mut(|freed| freed.push((block.as_ptr().addr(), class)));
        #[cfg(not(garrick_loom))]
        // SAFETY: by contract.
        unsafe {
            alloc::dealloc(block.as_ptr(), layout(class));
        }
    }
}

/// Prepares a number that was claimed for a worker. Called before the worker can have cells.
pub(crate) fn enter(home: Home) {
    if !UNPOOLED {
        depot().enter(Mark::of(home));
    }
}

/// Forgets where a worker had cells. Called before its number is released. The worker has no pool
/// and no cells any more.
pub(crate) fn leave(home: Home) {
    if !UNPOOLED {
        depot().leave(Mark::of(home));
    }
}

/// Records that a cell has come to its worker from elsewhere, so that [`cells_of`] finds the cell.
/// Called by this worker, or by the creator of the cell while the worker cannot close.
#[inline]
pub(crate) fn mark(cell: CellPtr) {
    if !UNPOOLED {
        // SAFETY: the block of a cell is part of a slab.
        unsafe { Mark::of(cell.home()).set(cell.0.cast().as_ptr()) };
    }
}

/// Calls `found` for every cell of the worker with the number `home`, in any order. Only this
/// worker may call this function. Reads the regions of slabs in which the worker has had blocks, so
/// the time does not depend on the cells of other workers elsewhere.
pub(crate) fn cells_of(home: Home, found: impl FnMut(CellPtr)) {
    cells_in(Some(Mark::of(home)), home, found);
}

/// Returns true if a cell belongs to the worker with the number `home`, which may never have had a
/// pool. Reads all blocks of the process.
pub(crate) fn has_cells(home: Home) -> bool {
    let mut has_some = false;
    cells_in(None, home, |_| has_some = true);
    has_some
}

/// Calls `found` for every cell of the worker `home` in the regions that have the mark, or in all
/// regions if there is none.
fn cells_in(mark: Option<Mark>, home: Home, mut found: impl FnMut(CellPtr)) {
    if UNPOOLED {
        return unpooled_cells_of(home, &mut found);
    }
    let slabs = depot().slabs.clone();
    for slab in slabs.iter().filter(|slab| slab.class < CELL_CLASSES) {
        slab.each_block(mark, |cell| {
            // SAFETY: a block of a slab, which is zeroed where no cell ever was; the state word of
            // a block is an atomic at all times.
            if unsafe { Header::home_of_block(cell.0) } == home {
                found(cell);
            }
        });
    }
}

/// Calls `found` for every cell of the worker `home`, in builds in which memory blocks come
/// directly from the allocator.
fn unpooled_cells_of(home: Home, found: &mut dyn FnMut(CellPtr)) {
    let at = |address: usize| {
        let header = NonNull::new(ptr::with_exposed_provenance_mut::<Header>(address));
        CellPtr(header.expect("a block is not at address 0"))
    };
    #[cfg(garrick_loom)]
    let addresses: Vec<usize> = {
        let cells = crate::cell::homes::once_at(home);
        cells.into_iter().map(|cell| cell.0.addr().get()).collect()
    };
    #[cfg(not(garrick_loom))]
    let addresses: Vec<usize> = {
        let blocks = unpooled::blocks();
        let cells = blocks.iter().filter(|(_, class)| **class < CELL_CLASSES);
        // SAFETY: in use while the lock is held.
        let mine = |address: &usize| unsafe { Header::home_of_block(at(*address).0) == home };
        cells.map(|(&address, _)| address).filter(mine).collect()
    };
    for address in addresses {
        let blocks = unpooled::blocks();
        // A cell that stops may free another cell of the list.
        let is_alive = blocks.contains_key(&address);
        // In models a freed block keeps its memory, and loom may switch threads below.
        let held = (!cfg!(garrick_loom)).then_some(blocks);
        // SAFETY: in use while the lock is held.
        let is_ours = is_alive && unsafe { Header::home_of_block(at(address).0) } == home;
        drop(held);
        if is_ours {
            found(at(address));
        }
    }
}

/// The numbers of memory blocks that the whole process is using. The numbers are exact once each
/// thread that has used Garrick either has exited, or is idle and has no spare blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Audit {
    /// Number of cells in use. A cell is the memory block of a task, or of a door (an address that
    /// leads to a function). The cells of tasks that have stopped are included until the last
    /// address is dropped.
    pub cells: u64,
    /// Number of envelopes in use. An envelope is a memory block that contains messages.
    pub envelopes: u64,
}

/// Returns the numbers of cells and envelopes in use. Spare blocks that running threads keep in
/// their own lists count as in use.
pub(crate) fn blocks_in_use() -> Audit {
    if UNPOOLED {
        let blocks = unpooled::blocks();
        let cells = blocks
            .values()
            .filter(|class| **class < CELL_CLASSES)
            .count() as u64;
        return Audit {
            cells,
            envelopes: blocks.len() as u64 - cells,
        };
    }
    let depot = depot();
    Audit {
        cells: CELLS_OUT.load(Relaxed) - depot.free_blocks(0..CELL_CLASSES),
        envelopes: ENVELOPES_OUT.load(Relaxed) - depot.free_blocks(CELL_CLASSES..CLASSES),
    }
}

/// Finishes a run of a loom model, and returns the number of blocks that are still in use.
#[cfg(all(test, garrick_loom))]
pub(crate) fn reset_model() -> usize {
    unpooled::reset()
}
