//! The cell that a worker runs, shown to the hand that checks whether the worker is stuck.

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

/// The cell that runs now, or ran last; none once anything else has been done. Its worker writes,
/// others read.
///
/// A worker names a cell before its last look at its ready stack (`sponsor/README.md`, rescue). So
/// a thread that has left LENT on that stack, and passed the heavy side of the fence, reads the one
/// cell that the worker runs without having seen LENT.
pub(crate) struct Shown {
    running: AtomicPtr<Header>,
    /// Number of activations so far. A hint.
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

    /// Owner only: notes that no cell runs. A lending thread sees this before the owner does
    /// anything that lending must not meet.
    pub(crate) fn name_none_and_fence(&self) {
        self.name_none();
        self.fence();
    }

    /// Owner only: passes the light side of the fence, whose heavy side lending threads pass.
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

    /// Owner only: notes that no cell runs.
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
        // Release: pairs with the Acquire in `look`; a visitor of other cells sees what was done to
        // them before.
        self.running.store(cell, Release);
    }

    /// Owner only: returns the running cell.
    #[inline(always)]
    pub(super) fn get(&self) -> Option<CellPtr> {
        #[cfg(not(garrick_loom))]
        let cell = self.running.load(Relaxed);
        #[cfg(garrick_loom)]
        let cell = self.own.get();
        ptr::NonNull::new(cell).map(CellPtr)
    }

    /// Returns the running cell, for other threads. It may be gone.
    pub(crate) fn look(&self) -> *const Header {
        // Acquire: pairs with the Release in `set`.
        self.running.load(Acquire)
    }

    /// Owner only: counts an activation. Returns the number of activations so far.
    #[inline(always)]
    pub(super) fn count_pick(&self) -> u32 {
        // Relaxed: a hint for others. No read-modify-write, because nobody else writes.
        let picks = self.picks.load(Relaxed).wrapping_add(1);
        self.picks.store(picks, Relaxed);
        picks as u32
    }

    /// Returns the number of activations so far.
    pub(crate) fn picks(&self) -> u32 {
        self.picks.load(Relaxed) as u32
    }
}
