//! The cell that a worker runs, for a hand that finds out whether the worker is stuck.

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

use crate::cell::{CellPtr, Header};

/// The cell that runs now, or ran last; none once anything else has been done. Its worker writes, others read.
///
/// A worker names a cell before it looks at its ready stack for the last time (`sponsor/README.md`, rescue). So who has
/// left LENT on that stack, and passed the heavy side of the fence, reads the one cell that the worker runs without having seen
/// LENT.
pub(crate) struct Shown {
    running: AtomicPtr<Header>,
    /// Activations so far. A hint.
    picks: unmodelled::AtomicUsize,
    /// A copy of `running` for the worker itself: a model need not switch threads at each look.
    #[cfg(garrick_loom)]
    own: std::cell::Cell<*mut Header>,
    /// True if another thread looks.
    #[cfg(garrick_loom)]
    is_looked_at: bool,
}

impl Shown {
    #[cfg_attr(not(garrick_loom), expect(unused_variables, reason = "for models"))]
    pub(super) fn new(is_looked_at: bool) -> Self {
        Self {
            running: AtomicPtr::new(ptr::null_mut()),
            picks: unmodelled::AtomicUsize::new(0),
            #[cfg(garrick_loom)]
            own: std::cell::Cell::new(ptr::null_mut()),
            #[cfg(garrick_loom)]
            is_looked_at,
        }
    }

    /// Owner only: names the cell that is about to run.
    #[inline(always)]
    pub(crate) fn name(&self, cell: CellPtr) {
        self.set(cell.0.as_ptr());
        self.fence();
    }

    /// Owner only: no cell runs, which whoever lends sees before anything is done that it must not meet.
    pub(crate) fn name_none_and_fence(&self) {
        self.name_none();
        self.fence();
    }

    /// Owner only: the light side of the fence of those who lend.
    #[inline(always)]
    #[cfg_attr(not(garrick_loom), expect(clippy::unused_self, reason = "for models"))]
    pub(super) fn fence(&self) {
        // Pairs with the heavy side in `Crew::lend`. Where no process-wide fence is to be had, nothing is lent.
        #[cfg(not(garrick_loom))]
        garrick_core::prim::atomic::compiler_fence(SeqCst);
        #[cfg(garrick_loom)]
        if self.is_looked_at {
            fence(SeqCst);
        }
    }

    /// Owner only: no cell runs.
    #[inline(always)]
    pub(super) fn name_none(&self) {
        self.set(ptr::null_mut());
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
        // Release: pairs with the Acquire in `look`; who visits other cells has what was done to them before.
        self.running.store(cell, Release);
    }

    /// Owner only: the cell that runs.
    #[inline(always)]
    pub(super) fn get(&self) -> Option<CellPtr> {
        #[cfg(not(garrick_loom))]
        let cell = self.running.load(Relaxed);
        #[cfg(garrick_loom)]
        let cell = self.own.get();
        ptr::NonNull::new(cell).map(CellPtr)
    }

    /// The cell that runs, for others. It may be gone.
    pub(crate) fn look(&self) -> *const Header {
        // Acquire: pairs with the Release in `set`.
        self.running.load(Acquire)
    }

    /// Owner only: counts an activation. Returns how many there were.
    #[inline(always)]
    pub(super) fn count_pick(&self) -> u32 {
        // Relaxed: a hint for others. No read-modify-write, because nobody else writes.
        let picks = self.picks.load(Relaxed).wrapping_add(1);
        self.picks.store(picks, Relaxed);
        picks as u32
    }

    /// Activations so far.
    pub(crate) fn picks(&self) -> u32 {
        self.picks.load(Relaxed) as u32
    }
}
