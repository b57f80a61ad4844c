//! Reclaims memory: if the blocks of a slab were not used for a while, the pages of the slab are
//! given back to the operating system.
//!
//! The depot's lists of batches are stacks. A batch was not used in a period if it lies below the
//! lowest height that its stack had in this period. Bonwick and Adams (USENIX 2001) determine the
//! working set of a depot in this way. After a period of a few seconds, a sleeping worker takes the
//! unused batches out and processes them twice. First it counts the free blocks of each slab. Then
//! it removes the blocks of slabs that are completely free. The pages of these slabs are given back
//! to the operating system. But the addresses of the slabs stay mapped, and the slabs then contain
//! zeros. The addresses must stay mapped because code that walks over all cells reads the state
//! words in every slab.
//!
//! ```text
//!   Calm -- much has come to the depot --> Watching -- UNUSED_FOR later, by a sleeping worker ----.
//!     ^                                       ^                                                     v
//!     '-- nothing was found to give back --- Over <-- class by class: Counting --> Sorting --> Zapping
//! ```
//!
//! A worker processes one batch or one slab at a time, so a message to the worker waits for at most
//! a few microseconds.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use garrick_core::prim::unmodelled::{AtomicU64, Relaxed};

use super::slab::{SLAB_BYTES, Slab, blocks_of};
use super::{BATCH, CLASSES, Depot, Free, List, UNPOOLED, class_bytes, depot};

/// Time for which blocks must be unused before their memory is given back to the operating system.
const UNUSED_FOR: Duration = Duration::from_secs(2);
/// Number of bytes that must have come to the depot (the free blocks that all threads share) before
/// the depot is checked for unused memory.
const WORTH_BYTES: usize = 4 * SLAB_BYTES;
/// True if pages can be given back to the system while they stay mapped.
const TAKES_PAGES: bool = cfg!(all(target_os = "linux", not(garrick_portable))) && !UNPOOLED;

/// Sequence number of the latest watch, while a sleeping worker must later check the depot (the
/// free blocks that all threads share) for unused memory. A watch is a period in which the depot
/// records which batches are used. 0 if there is nothing to check. Written under the lock of the
/// depot. Read without the lock, because every thread that leaves a worker reads it.
static WATCH: AtomicU64 = AtomicU64::new(0);

/// Lock that a worker holds while it searches for unused blocks.
static SWEEPER: Mutex<()> = Mutex::new(());

/// Returns the sequence number of the latest watch: the period in which the depot (the free blocks
/// that all threads share) records which batches are used. Returns `None` if there is no watch now,
/// and the search for unused memory after the latest watch is over. A watch does not see unused
/// blocks that a thread keeps in its own lists.
pub(crate) fn watch() -> Option<u64> {
    // Relaxed: no correctness depends on the number. A worker that reads an old one keeps its spare
    // blocks until its next rest.
    Some(WATCH.load(Relaxed)).filter(|watch| *watch != 0)
}

/// Returns the time after which a sleeping worker must call [`reclaim`]. Returns `None` if no call
/// is needed.
pub(crate) fn time_left() -> Option<Duration> {
    watch()?;
    match &depot().reclaim.stage {
        Stage::Calm => None,
        Stage::Watching { until } => Some(until.saturating_duration_since(Instant::now())),
        Stage::Sweeping(_) if SWEEPER.try_lock().is_err() => None,
        Stage::Sweeping(_) => Some(Duration::ZERO),
    }
}

/// Gives unused memory back to the operating system, if the current period of observation is over.
/// Memory is unused if no thread has used it for [`UNUSED_FOR`]. Works step by step, and stops
/// early if `is_wanted` returns true, which means that the thread has other work.
pub(crate) fn reclaim(is_wanted: impl Fn() -> bool) {
    let Ok(_sweeper) = SWEEPER.try_lock() else {
        return;
    };
    while watch().is_some() && !is_wanted() {
        if !depot().reclaim_step(Instant::now()) {
            return;
        }
    }
}

/// Gives the pages of a slab (a large piece of memory) back to the operating system. The pages stay
/// mapped, and then read as zero.
#[cfg(all(target_os = "linux", not(garrick_portable)))]
fn give_back(base: *mut u8, bytes: usize) {
    // SAFETY: the call takes a number and returns one.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let Ok(page) = usize::try_from(page) else {
        return;
    };
    let start = base.addr().next_multiple_of(page);
    let end = (base.addr() + bytes) / page * page;
    if start < end {
        let pages = base.with_addr(start).cast();
        // SAFETY: the pages lie inside of the slab, and no block of it is in use. Whoever walks
        // over all cells reads state words only, which are zero before and after. A refusal leaves
        // the pages as they are.
        let _ = unsafe { libc::madvise(pages, end - start, libc::MADV_DONTNEED) };
    }
}

#[cfg(any(not(target_os = "linux"), garrick_portable))]
fn give_back(_base: *mut u8, _bytes: usize) {}

/// The part of the depot (the free blocks that all threads share) that is needed to give memory
/// back to the operating system.
pub(super) struct Reclaim {
    stage: Stage,
    /// Number of bytes that have come to the depot (the free blocks that all threads share) since
    /// the latest period of observation (watch) began.
    arrived: usize,
    /// For each stack of the depot (the free blocks that all threads share), its lowest height
    /// since the latest period of observation (watch) began.
    lows: [usize; CLASSES],
    /// Number of periods of observation (watches) that have begun so far.
    watches: u64,
}

/// The phases in which memory is reclaimed. The module documentation has a diagram of the phases.
enum Stage {
    Calm,
    Watching { until: Instant },
    Sweeping(Box<Sweep>),
}

impl Reclaim {
    pub(super) const CALM: Self = Self {
        stage: Stage::Calm,
        arrived: 0,
        lows: [0; CLASSES],
        watches: 0,
    };

    /// Returns the number of blocks of the size class that the current search for unused memory has
    /// taken out of the depot (the free blocks that all threads share).
    pub(super) fn held(&self, class: usize) -> u64 {
        match &self.stage {
            Stage::Sweeping(sweep) if sweep.class == class => sweep.held,
            _ => 0,
        }
    }
}

/// A slab (large piece of memory), and the number of free blocks that were found in it.
struct Found {
    slab: Slab,
    free: usize,
}

impl Found {
    fn is_free(&self) -> bool {
        self.free == blocks_of(self.slab.class)
    }

    /// Returns the address at which the slab begins.
    fn start(&self) -> usize {
        self.slab.base.addr()
    }
}

enum Pass {
    /// The search for unused memory counts the free blocks of each slab (large piece of memory).
    Counting,
    /// The search for unused memory keeps the free blocks of slabs (large pieces of memory) that
    /// are in use, and removes the other blocks. This list collects the kept blocks, until they are
    /// a full batch.
    Sorting(List),
    /// The search for unused memory gives the pages of completely free slabs (large pieces of
    /// memory) back to the operating system, one slab after another.
    Zapping,
}

/// A search for completely free slabs (large pieces of memory that are divided into blocks) among
/// the unused blocks of one size class.
struct Sweep {
    class: usize,
    pass: Pass,
    /// Lists of blocks that the current pass of the search has not processed yet. The field `done`
    /// contains the processed lists.
    left: Vec<List>,
    done: Vec<List>,
    /// All slabs (large pieces of memory) of the size class, sorted by address. In the last pass,
    /// this list contains only the slabs to give back.
    slabs: Vec<Found>,
    /// Index of the slab (large piece of memory) that contains the previously processed block.
    last: usize,
    /// Number of blocks that the search for unused memory has taken out of the depot (the free
    /// blocks that all threads share). These blocks are neither in the depot nor in use.
    held: u64,
    /// Number of slabs (large pieces of memory), of all size classes, that were given back to the
    /// operating system since the latest period of observation ended.
    given: usize,
}

// SAFETY: the blocks of the lists are the sweep's, and the slabs are only named.
unsafe impl Send for Sweep {}

impl Sweep {
    /// Returns the index of the slab (large piece of memory) in which a block lies.
    fn slab_of(&mut self, block: *mut Free) -> usize {
        let address = block.addr();
        let base = self.slabs[self.last].start();
        if !(base..base + SLAB_BYTES).contains(&address) {
            let behind = (self.slabs).partition_point(|found| found.start() <= address);
            self.last = behind - 1;
        }
        self.last
    }

    /// Counts the free blocks in a list, by slab (the large piece of memory that contains the
    /// block).
    fn count(&mut self, list: List) {
        let mut block = list.head;
        while !block.is_null() {
            let slab = self.slab_of(block);
            self.slabs[slab].free += 1;
            // SAFETY: a block of the list is the sweep's, and holds its link.
            block = unsafe { (*block).next };
        }
        self.done.push(list);
    }

    /// Sorts the blocks of `list`. Adds each block of a slab (a large piece of memory) that is in
    /// use to `kept`, and removes all other blocks. Returns the batches that became full, and the
    /// remaining kept blocks, which are not a full batch yet.
    fn sort(&mut self, list: List, mut kept: List) -> (Vec<List>, List) {
        let (mut full, mut block) = (Vec::new(), list.head);
        while !block.is_null() {
            // SAFETY: as above.
            let next = unsafe { (*block).next };
            let slab = self.slab_of(block);
            if !self.slabs[slab].is_free() {
                // SAFETY: as above.
                unsafe { (*block).next = kept.head };
                (kept.head, kept.count) = (block, kept.count + 1);
                if kept.count == BATCH {
                    full.push(std::mem::replace(&mut kept, List::EMPTY));
                }
            }
            block = next;
        }
        (full, kept)
    }
}

impl Depot {
    /// Pushes a list of free blocks to the stack of its size class.
    pub(super) fn push(&mut self, class: usize, list: List) {
        self.batches[class].push(list);
        self.reclaim.arrived += list.count as usize * class_bytes(class);
        if TAKES_PAGES
            && self.reclaim.arrived >= WORTH_BYTES
            && matches!(self.reclaim.stage, Stage::Calm)
        {
            self.watch(Instant::now());
        }
    }

    /// Pops the newest list of free blocks from the stack of a size class.
    pub(super) fn pop(&mut self, class: usize) -> Option<List> {
        if self.batches[class].is_empty() {
            self.break_off(class);
        }
        let list = self.batches[class].pop();
        let low = &mut self.reclaim.lows[class];
        *low = self.batches[class].len().min(*low);
        list
    }

    /// Begins a period of observation (watch), in which the depot (the free blocks that all threads
    /// share) records which batches are used.
    fn watch(&mut self, now: Instant) {
        let until = now + UNUSED_FOR;
        self.reclaim.arrived = 0;
        self.reclaim.watches += 1;
        self.reclaim.stage = Stage::Watching { until };
        for (low, batches) in self.reclaim.lows.iter_mut().zip(&self.batches) {
            *low = batches.len();
        }
        WATCH.store(self.reclaim.watches, Relaxed);
    }

    /// Stops a search that is still counting the free blocks of this size class, because a thread
    /// needs one of these blocks. Gives the blocks of the search back to the depot (the free blocks
    /// that all threads share).
    fn break_off(&mut self, class: usize) {
        if let Stage::Sweeping(sweep) = &mut self.reclaim.stage
            && sweep.class == class
            && matches!(sweep.pass, Pass::Counting)
        {
            self.batches[class].append(&mut sweep.left);
            self.batches[class].append(&mut sweep.done);
            // Counted blocks may be in use from now on.
            sweep.slabs.clear();
            sweep.held = 0;
        }
    }

    /// Finds the first size class, from `class` on, that may have an unused slab (large piece of
    /// memory). Begins to search the unused blocks of this size class. If there is no such size
    /// class, ends the search, and begins another period of observation if slabs were given back or
    /// much memory has come to the depot (the free blocks that all threads share). `given` is the
    /// number of slabs that were given back so far.
    fn sweep_from(&mut self, class: usize, given: usize, now: Instant) {
        let lows = self.reclaim.lows;
        let is_worth = |class: &usize| lows[*class] * BATCH as usize >= blocks_of(*class);
        let Some(class) = (class.max(1)..CLASSES).find(is_worth) else {
            // A worker's own blocks may have kept a slab, and much may have come since the watch
            // began.
            if given > 0 || self.reclaim.arrived >= WORTH_BYTES {
                return self.watch(now);
            }
            self.reclaim.stage = Stage::Calm;
            return WATCH.store(0, Relaxed);
        };
        let left: Vec<List> = self.batches[class].drain(..lows[class]).collect();
        let slabs = self.slabs.iter().copied();
        let slabs = slabs.filter(|slab| slab.class == class);
        let mut slabs: Vec<_> = slabs.map(|slab| Found { slab, free: 0 }).collect();
        slabs.sort_unstable_by_key(Found::start);
        self.reclaim.stage = Stage::Sweeping(Box::new(Sweep {
            class,
            pass: Pass::Counting,
            held: left.iter().map(|list| u64::from(list.count)).sum(),
            left,
            done: Vec::new(),
            slabs,
            last: 0,
            given,
        }));
    }

    /// Processes one batch of blocks, or one slab (large piece of memory). Returns false if there
    /// is nothing to do now.
    fn reclaim_step(&mut self, now: Instant) -> bool {
        match std::mem::replace(&mut self.reclaim.stage, Stage::Calm) {
            Stage::Calm => false,
            Stage::Watching { until } if now < until => {
                self.reclaim.stage = Stage::Watching { until };
                false
            }
            Stage::Watching { .. } => {
                self.sweep_from(0, 0, now);
                true
            }
            Stage::Sweeping(mut sweep) => {
                if self.sweep_step(&mut sweep) {
                    self.reclaim.stage = Stage::Sweeping(sweep);
                } else {
                    self.sweep_from(sweep.class + 1, sweep.given, now);
                }
                true
            }
        }
    }

    /// Processes one batch of blocks, or one slab (large piece of memory), in the current search.
    /// Returns false if the search is finished.
    fn sweep_step(&mut self, sweep: &mut Sweep) -> bool {
        let class = sweep.class;
        match std::mem::replace(&mut sweep.pass, Pass::Counting) {
            Pass::Counting => {
                if let Some(list) = sweep.left.pop() {
                    sweep.count(list);
                } else if sweep.slabs.iter().any(Found::is_free) {
                    std::mem::swap(&mut sweep.left, &mut sweep.done);
                    sweep.pass = Pass::Sorting(List::EMPTY);
                } else {
                    self.batches[class].append(&mut sweep.done);
                    return false;
                }
            }
            Pass::Sorting(kept) => {
                let (full, kept) = match sweep.left.pop() {
                    Some(list) => sweep.sort(list, kept),
                    None => (vec![kept], List::EMPTY),
                };
                let is_over = sweep.left.is_empty() && kept.count == 0;
                for list in full.into_iter().filter(|list| list.count > 0) {
                    sweep.held -= u64::from(list.count);
                    self.batches[class].push(list);
                }
                if is_over {
                    sweep.slabs.retain(Found::is_free);
                    sweep.pass = Pass::Zapping;
                } else {
                    sweep.pass = Pass::Sorting(kept);
                }
            }
            Pass::Zapping => {
                let Some(Found { slab, .. }) = sweep.slabs.pop() else {
                    return false;
                };
                give_back(slab.base, blocks_of(class) * class_bytes(class));
                slab.clear();
                self.rests[class].push(slab.rest());
                sweep.held -= blocks_of(class) as u64;
                sweep.given += 1;
                sweep.pass = Pass::Zapping;
            }
        }
        true
    }
}

#[cfg(all(test, target_os = "linux"))]
#[cfg(not(any(garrick_loom, garrick_no_pool, garrick_portable)))]
mod tests {
    use super::super::slab::set_carved;
    use super::*;

    /// Size class of envelopes that have 4,096 bytes.
    const CLASS: usize = CLASSES - 1;
    /// Number of these envelopes in a slab (large piece of memory), which is almost two batches.
    const BLOCKS: usize = blocks_of(CLASS);
    /// Pool from which all lists of the tests come.
    const POOL: u32 = 7;

    /// Creates a depot (free blocks that all threads share) with `slabs` slabs. All blocks are
    /// free, except the blocks whose numbers are in `used`.
    fn depot_of(slabs: usize, used: &[usize]) -> Depot {
        let mut depot = Depot::new();
        let (mut list, mut number) = (List::EMPTY, 0);
        for _ in 0..slabs {
            let rest = depot.new_slab(CLASS);
            let mut at = rest.at;
            while at != rest.end {
                let block = at.cast::<Free>();
                // SAFETY: inside of the slab.
                at = unsafe { at.add(class_bytes(CLASS)) };
                number += 1;
                if used.contains(&(number - 1)) {
                    continue;
                }
                // SAFETY: a block of a slab that nobody else knows.
                unsafe { block.write(Free { next: list.head }) };
                (list.head, list.count, list.from) = (block, list.count + 1, POOL);
                if list.count == BATCH {
                    depot.push(CLASS, std::mem::replace(&mut list, List::EMPTY));
                }
            }
        }
        if list.count > 0 {
            depot.push(CLASS, list);
        }
        depot
    }

    fn free(depot: &Depot) -> u64 {
        depot.free_blocks(0..CLASSES)
    }

    /// Reclaims memory until there is nothing to do. Checks that no block is lost.
    fn sweep(depot: &mut Depot) {
        let all = free(depot);
        let mut now = Instant::now();
        while !matches!(depot.reclaim.stage, Stage::Calm) {
            if !depot.reclaim_step(now) {
                now += UNUSED_FOR;
            }
            assert_eq!(free(depot), all);
        }
    }

    /// Returns the number of blocks in the lists of the depot (the free blocks that all threads
    /// share).
    fn listed(depot: &Depot) -> usize {
        let counts = depot.batches[CLASS].iter().map(|list| list.count);
        counts.sum::<u32>() as usize
    }

    #[test]
    fn a_walk_goes_as_far_as_a_slab_is_carved() {
        let mut depot = depot_of(5, &[]);
        let slab = depot.slabs[0];
        assert_eq!(slab.carved(), 0);
        for blocks in [1, 3, blocks_of(CLASS)] {
            // SAFETY: as far as the end of the slab, which nobody else divides.
            unsafe {
                let next = slab.base.add(blocks * class_bytes(CLASS));
                set_carved(slab.base, next);
            }
            assert_eq!(slab.carved(), blocks);
        }
        // A slab that nobody uses is not carved any more.
        sweep(&mut depot);
        assert_eq!((depot.rests[CLASS].len(), slab.carved()), (5, 0));
    }

    #[test]
    fn slabs_that_nobody_uses_become_rests() {
        let mut depot = depot_of(5, &[]);
        assert!(matches!(depot.reclaim.stage, Stage::Watching { .. }));
        sweep(&mut depot);
        assert_eq!((depot.rests[CLASS].len(), listed(&depot)), (5, 0));
    }

    #[test]
    fn a_slab_of_which_one_block_is_used_stays_with_all_others() {
        let mut depot = depot_of(6, &[3, 4 * BLOCKS - 1]);
        sweep(&mut depot);
        let left = 2 * (BLOCKS - 1);
        assert_eq!((depot.rests[CLASS].len(), listed(&depot)), (4, left));
        // No block is there twice.
        let mut blocks = Vec::new();
        while let Some(list) = depot.pop(CLASS) {
            assert_eq!(list.from, 0, "a sorted list is of no pool");
            let mut block = list.head;
            while !block.is_null() {
                blocks.push(block.addr());
                // SAFETY: a block of a list that nobody else has.
                block = unsafe { (*block).next };
            }
        }
        blocks.sort_unstable();
        blocks.dedup();
        assert_eq!(blocks.len(), left);
    }

    #[test]
    fn what_was_used_meanwhile_is_not_given_back() {
        let mut depot = depot_of(6, &[]);
        let batches: Vec<_> = (0..8).filter_map(|_| depot.pop(CLASS)).collect();
        for batch in batches {
            depot.push(CLASS, batch);
        }
        let due = Instant::now() + UNUSED_FOR;
        while depot.reclaim_step(due) {}
        assert_eq!((depot.rests[CLASS].len(), listed(&depot)), (2, 4 * BLOCKS));
    }

    #[test]
    fn a_mark_stays_until_the_last_worker_with_it_has_left() {
        use super::super::slab::Mark;
        use crate::cell::Home;
        let mut depot = Depot::new();
        let slab = Slab {
            class: 9,
            base: depot.new_slab(9).at,
        };
        // SAFETY: the first block of a slab that nobody else has.
        unsafe { set_carved(slab.base, slab.base.add(class_bytes(9))) };
        let blocks = |mark| {
            let mut count = 0;
            slab.each_block(Some(mark), |_| count += 1);
            count
        };
        // Numbers 64 apart have the same mark.
        let [first, second, other] = [1, 65, 2].map(|number| Mark::of(Home::new(number)));
        for mark in [first, second, other] {
            depot.enter(mark);
            // SAFETY: a block of the slab.
            unsafe { mark.set(slab.base) };
        }
        depot.leave(second);
        assert_eq!((blocks(first), blocks(other)), (1, 1));
        depot.leave(first);
        assert_eq!((blocks(first), blocks(other)), (0, 1));
    }

    #[test]
    fn whoever_needs_blocks_that_are_being_counted_gets_them() {
        let mut depot = depot_of(5, &[]);
        let due = Instant::now() + UNUSED_FOR;
        for _ in 0..4 {
            assert!(depot.reclaim_step(due));
        }
        let all = free(&depot);
        // Two lists came after the watch had begun, and are no part of this. The newest one is not
        // a full batch.
        let full = BATCH as usize;
        let mut left = all;
        for expected in [5 * BLOCKS % full, full, full] {
            let taken = depot.pop(CLASS).map_or(0, |list| list.count);
            assert_eq!(taken as usize, expected);
            left -= u64::from(taken);
            assert_eq!(free(&depot), left);
        }
        while depot.reclaim_step(due) {}
        assert_eq!((depot.rests[CLASS].len(), listed(&depot)), (0, 7 * full));
    }
}
