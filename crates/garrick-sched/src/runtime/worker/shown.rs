//! A record of the cell (task) that a worker runs. Another thread reads this record to check if the
//! worker is stuck in a long turn.

use std::ptr;

#[cfg(garrick_loom)]
use garrick_core::prim::atomic::fence;
use garrick_core::prim::{
    atomic::{
        AtomicPtr,
        Ordering::{Acquire, Relaxed, Release, SeqCst},
    },
    unmodelled,
};

use crate::cell::{CellPtr, Header, Table, TaskId};
use crate::probe::Running;

/// Value that is stored instead of a cell while destructors run outside of turns. Not the address
/// of a cell.
const DROPS: *mut Header = ptr::without_provenance_mut(1);

/// Cell that the worker runs now, or has run most recently. Null if the worker has done other work
/// after this cell. Written by the worker, read by other threads.
///
/// A worker *names* a cell, which means that it stores the cell here, before it checks its ready
/// stack for the last time (`sponsor/README.md`, rescue). Another thread stores LENT on that stack,
/// passes the heavy side of the fence, and then reads the named cell. So only this cell can run
/// before the worker sees LENT.
pub(crate) struct Shown {
    running: AtomicPtr<Header>,
    /// Number of activations so far. Other threads may read an outdated value.
    picks: unmodelled::AtomicUsize,
    /// Function table of the cell that was most recently stored in `running`, if the work of each
    /// kind of task is counted. Otherwise null. Read by the lookout thread, which cannot read the
    /// table in the cell, because the cell may be freed at any time.
    kind: unmodelled::AtomicPtr<Table>,
    /// Copy of `running` for the worker itself, so that a loom model need not switch threads at
    /// each read.
    #[cfg(garrick_loom)]
    own: std::cell::Cell<*mut Header>,
    /// True if other threads read `running`.
    #[cfg(garrick_loom)]
    is_looked_at: bool,
}

impl Shown {
    #[cfg_attr(not(garrick_loom), expect(unused_variables, reason = "for models"))]
    pub(super) fn new(is_looked_at: bool) -> Self {
        Self {
            running: AtomicPtr::new(ptr::null_mut()),
            picks: unmodelled::AtomicUsize::new(0),
            kind: unmodelled::AtomicPtr::new(ptr::null_mut()),
            #[cfg(garrick_loom)]
            own: std::cell::Cell::new(ptr::null_mut()),
            #[cfg(garrick_loom)]
            is_looked_at,
        }
    }

    /// Stores the cell that is about to run, so that other threads can read it. Only the worker
    /// itself calls this method.
    #[inline(always)]
    pub(crate) fn name(&self, cell: CellPtr) {
        self.set(cell.0.as_ptr());
        self.fence();
    }

    /// Records that no cell runs, and passes a fence. So a thread that lends this worker's cells
    /// sees this record before the worker does work that must not happen while cells are lent. Only
    /// the worker itself calls this method.
    pub(crate) fn name_none_and_fence(&self) {
        self.name_none();
        self.fence();
    }

    /// Passes the light side of the asymmetric fence. Threads that lend this worker's cells pass
    /// the heavy side. Only the worker itself calls this method.
    #[inline(always)]
    #[cfg_attr(not(garrick_loom), expect(clippy::unused_self, reason = "for models"))]
    pub(super) fn fence(&self) {
        // Pairs with the heavy side in `Crew::lend`. Without a process-wide fence, nothing is lent.
        #[cfg(not(garrick_loom))]
        garrick_core::prim::atomic::compiler_fence(SeqCst);
        #[cfg(garrick_loom)]
        if self.is_looked_at {
            fence(SeqCst);
        }
    }

    /// Records that this worker runs no cell. Only the worker itself calls this method.
    #[inline(always)]
    pub(super) fn name_none(&self) {
        self.set(ptr::null_mut());
    }

    /// Records that no cell runs, but that the worker is about to run destructors. As in a turn,
    /// other workers may run the cells of this worker in the meantime. Until the worker calls
    /// another `name` method, it may access its cells only in ways that are allowed during a turn
    /// or its commit. Only the worker itself calls this method.
    pub(super) fn name_drops(&self) {
        self.set(DROPS);
    }

    #[inline(always)]
    fn set(&self, cell: *mut Header) {
        #[cfg(garrick_loom)]
        {
            self.own.set(cell);
            if !self.is_looked_at {
                return;
            }
        }
        // Release: pairs with the Acquire in `look`; a visitor of other cells sees what was done to
        // them before.
        self.running.store(cell, Release);
    }

    #[inline(always)]
    fn own(&self) -> *mut Header {
        #[cfg(not(garrick_loom))]
        return self.running.load(Relaxed);
        #[cfg(garrick_loom)]
        return self.own.get();
    }

    /// Returns the running cell. Only the worker itself calls this method.
    pub(super) fn get(&self) -> Option<CellPtr> {
        let cell = self.own();
        let runs = cell != DROPS;
        ptr::NonNull::new(cell).filter(|_| runs).map(CellPtr)
    }

    /// Returns true if this cell is the running cell. Only the worker itself calls this method.
    #[inline(always)]
    pub(super) fn is(&self, cell: CellPtr) -> bool {
        ptr::eq(self.own(), cell.0.as_ptr())
    }

    /// Returns the running cell, for other threads. The cell may already be freed. During
    /// destructors, returns a pointer that is not null, but is not the address of a cell
    /// ([`Shown::name_drops`]).
    pub(crate) fn look(&self) -> *const Header {
        // Acquire: pairs with the Release in `set`.
        self.running.load(Acquire)
    }

    /// Stores the function table of the cell that is about to run, so that other threads can read
    /// the table. Only the worker itself calls this method.
    #[inline(always)]
    pub(super) fn show_kind(&self, table: &'static Table) {
        // Relaxed: a hint. A table is a constant.
        (self.kind).store(ptr::from_ref(table).cast_mut(), Relaxed);
    }

    /// Returns the activation that runs now, for other threads. Returns `None` if none runs, or if
    /// the work of each kind of task is not counted. `turn` is the sequence number of the current
    /// turn.
    ///
    /// The words are read one after another, so a result may combine the values of two activations.
    /// If two calls at different times return the same result, the result is correct.
    pub(crate) fn running(&self, turn: u64) -> Option<Running> {
        let cell = self.look();
        if cell.is_null() || ptr::eq(cell, DROPS) {
            return None;
        }
        let table = self.kind.load(Relaxed);
        Some(Running {
            picks: self.picks(),
            // SAFETY: null, or made from a `&'static Table`.
            table: unsafe { table.as_ref() }?,
            task: TaskId(cell.addr()),
            turn,
        })
    }

    /// Counts an activation. Returns the number of activations so far. Only the worker itself calls
    /// this method.
    #[inline(always)]
    pub(super) fn count_pick(&self) -> u32 {
        // Relaxed: a hint for others. No read-modify-write, because nobody else writes.
        let picks = self.picks.load(Relaxed).wrapping_add(1);
        self.picks.store(picks, Relaxed);
        picks as u32
    }

    /// Subtracts one from the number of activations, because there was no cell to run. Only the
    /// worker itself calls this method.
    pub(super) fn uncount_pick(&self) {
        // Relaxed: as in `count_pick`.
        let picks = self.picks.load(Relaxed).wrapping_sub(1);
        self.picks.store(picks, Relaxed);
    }

    /// Returns the number of activations so far.
    pub(crate) fn picks(&self) -> u32 {
        self.picks.load(Relaxed) as u32
    }
}
