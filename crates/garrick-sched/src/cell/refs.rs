//! Reference counts that are cheap for the owner.
//!
//! The method is based on Choi, Shull and Torrellas, "Biased Reference Counting" (PACT 2018). The
//! owner counts without atomics. Garrick combines the two counts in a different way, because a cell
//! can change its owner, and because only the owner frees a cell that is not closed:
//!
//! - No reference belongs to a certain count. The number of references is `local_refs +
//!   shared_refs`, regardless of which threads counted them.
//! - The shared count never goes below zero. If a thread other than the owner drops a reference
//!   while the shared count is zero, the thread sends a [`Kind::Release`](super::Kind) envelope to
//!   the owner. The same atomic step also wakes the owner.
//! - While there are references, the local count is at least one. When the local count reaches
//!   zero, the owner moves one reference from the shared count to the local count. So the last
//!   reference is always dropped by the owner or sent to the owner.
//! - While other threads visit a cell (`runtime/sponsor/README.md`, rescue), the shared count
//!   includes the addresses that the turns of the cell create. If the owner drops some of these
//!   addresses, the local count goes below zero. The owner corrects the local count when the visit
//!   is over.
//! - A closed cell is an *orphan*. All references to it are in the shared count, which has a mark.
//!   The thread that drops the last reference frees the block.

use std::io::{self, Write};
use std::process;

use garrick_core::prim::atomic::Ordering::{AcqRel, Acquire, Relaxed};

use super::header::Header;

/// Mark in the shared count of a cell without an owner.
pub(super) const ORPHAN: u32 = 1 << 31;
/// Maximum number of references. A larger number means that the program leaks references, and the
/// process is aborted, as with `Arc`. Neither the local nor the shared count exceeds this limit by
/// much, even if several threads exceed it at the same time. So the sum of the two counts stays
/// below [`ORPHAN`].
const REFS_MAX: u32 = 1 << 29;

/// Shared count of a freed block in debug builds. It helps to detect a use after free early.
#[cfg(not(garrick_loom))]
const POISON: u32 = 0x1fff_dead;

/// Aborts the process if the shared count is too large after an addition. The count was `before`,
/// and `added` references were added.
#[inline]
fn check_sum(before: u32, added: u32) {
    if (before & !ORPHAN) + added > REFS_MAX {
        too_many();
    }
}

/// Aborts the process, because the counts could overflow, and a task could be freed while there are
/// references to it.
#[cold]
#[inline(never)]
fn too_many() -> ! {
    // A failure to write the message is no reason to continue.
    let _ = writeln!(
        io::stderr(),
        "garrick: there are more than {REFS_MAX} addresses of one actor. The program leaks \
         addresses, for example by mem::forget or in a growing cycle. The process is aborted."
    );
    process::abort();
}

/// The result when a thread that does not own the cell drops a reference to the cell.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dropped {
    /// The drop was counted. The caller must not access the cell any more.
    Counted,
    /// Nothing was counted, because the shared count is zero. The caller must send the reference to
    /// the owner in an envelope.
    WithOwner,
    /// The last reference to an orphan (a cell without an owner) was dropped. The caller must free
    /// the block.
    LastOfOrphan,
}

/// The result of [`Header::settle`], which shows if there are references to the cell.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Settled {
    /// The shared count contained references. One of them was moved to the local count.
    Referenced,
    /// There is no reference to the cell.
    Unreferenced,
}

impl Header {
    /// Marks the block of the cell as freed in debug builds, just before the block is freed.
    #[cfg(not(garrick_loom))]
    pub(crate) fn poison(&self) {
        if cfg!(debug_assertions) {
            self.check_alive();
            self.shared_refs.store(POISON, Relaxed);
        }
    }

    /// Marks the block of the cell as freed in a loom model. Loom then reports each access that is
    /// not ordered before the free.
    #[cfg(garrick_loom)]
    pub(crate) fn poison(&self) {
        // SAFETY: loom checks that nobody else uses it.
        let was_alive =
            (self.alive).with_mut(|alive| unsafe { std::mem::replace(&mut *alive, false) });
        assert!(was_alive, "a cell is freed once");
    }

    /// Panics if the block was freed.
    #[cfg(garrick_loom)]
    pub(crate) fn check_alive(&self) {
        // SAFETY: loom checks that no write races with this.
        let is_alive = self.alive.with(|alive| unsafe { *alive });
        assert!(is_alive, "the cell is freed");
    }

    /// Panics in debug builds if the block was freed.
    #[cfg(not(garrick_loom))]
    #[inline]
    pub(crate) fn check_alive(&self) {
        debug_assert_ne!(self.shared_refs.load(Relaxed), POISON, "the cell is freed");
    }

    /// Returns the number of references in the local count. Only the owner calls this.
    #[inline]
    pub(crate) fn local_refs(&self) -> i32 {
        // SAFETY: owner field.
        self.local_refs.with(|refs| unsafe { *refs })
    }

    /// Adds one reference to the local count. Only the owner calls this.
    #[inline]
    pub(crate) fn clone_local(&self) {
        self.check_alive();
        // SAFETY: owner field.
        self.local_refs.with_mut(|refs| unsafe {
            *refs += 1;
            if *refs > REFS_MAX as i32 {
                too_many();
            }
        });
    }

    /// Subtracts one reference from the local count. Returns true if the local count is now zero.
    /// In this case, the caller must next call [`Header::settle`]. Only the owner calls this.
    #[inline]
    #[must_use]
    pub(crate) fn drop_local(&self) -> bool {
        self.check_alive();
        // SAFETY: owner field.
        self.local_refs.with_mut(|refs| unsafe {
            debug_assert!(
                *refs > 0 || !self.inbox_is_idle(),
                "settle keeps one reference here while there are any, unless the cell is visited"
            );
            *refs -= 1;
            *refs == 0
        })
    }

    /// Adds one reference to the shared count. Any thread that has a reference may call this.
    #[inline]
    pub(crate) fn clone_foreign(&self) {
        self.check_alive();
        // Relaxed: the new reference is published by the operation that hands it on.
        check_sum(self.shared_refs.fetch_add(1, Relaxed), 1);
    }

    /// Drops one reference to the cell. Called by a thread that does not own the cell
    /// (`cell/README.md`, step 6).
    #[inline]
    pub(crate) fn drop_foreign(&self) -> Dropped {
        self.check_alive();
        let mut seen = self.shared_refs.load(Relaxed);
        loop {
            if seen & !ORPHAN == 0 {
                debug_assert_eq!(seen, 0, "an orphan's references are all counted here");
                return Dropped::WithOwner;
            }
            // Release: pairs with the Acquire in `settle` and below; our use of the cell is over.
            // Acquire: pairs with the Release of the other droppers, for the one that frees an
            // orphan.
            match self
                .shared_refs
                .compare_exchange_weak(seen, seen - 1, AcqRel, Relaxed)
            {
                Ok(_) if seen == ORPHAN | 1 => return Dropped::LastOfOrphan,
                Ok(_) => return Dropped::Counted,
                Err(now) => seen = now,
            }
        }
    }

    /// Handles a local count of zero or less. Moves references from the shared count, if there are
    /// enough, so that the local count becomes one. Only the owner calls this.
    pub(crate) fn settle(&self) -> Settled {
        self.check_alive();
        let local = self.local_refs();
        debug_assert!(local <= 0, "there is nothing to settle before");
        let wanted = local.abs_diff(1);
        loop {
            // Acquire: pairs with the Release in `drop_foreign`; the droppers are done with the
            // cell.
            let seen = self.shared_refs.load(Acquire);
            if seen == 0 {
                debug_assert_eq!(local, 0, "each reference is counted once");
                return Settled::Unreferenced;
            }
            let borrows = seen.min(wanted);
            // Relaxed: with a reference of its own the owner frees nothing.
            let borrowed =
                self.shared_refs
                    .compare_exchange_weak(seen, seen - borrows, Relaxed, Relaxed);
            if borrowed.is_ok() {
                // Counts stay far below this type's maximum.
                let local = local + borrows as i32;
                // SAFETY: owner field.
                self.local_refs.with_mut(|refs| unsafe { *refs = local });
                if local > 0 {
                    return Settled::Referenced;
                }
                debug_assert_eq!(local, 0, "each reference is counted once");
                return Settled::Unreferenced;
            }
        }
    }

    /// Returns true if a local count of zero needs no [`Header::settle`] now, because the cell is
    /// scheduled and the shared count is zero. The counts are checked at the end of the activation.
    /// Only the owner calls this.
    #[inline]
    pub(crate) fn is_looked_after(&self) -> bool {
        // Relaxed: the end of the activation settles, with Acquire.
        self.state().is_scheduled() && self.shared_refs.load(Relaxed) == 0
    }

    /// Moves the local count to the shared count. Called before the cell is given away
    /// (`cell/README.md`, step 3). The cell is not freed, because it is scheduled. Only the owner
    /// calls this.
    pub(crate) fn share_refs(&self) {
        self.check_alive();
        debug_assert!(
            cfg!(garrick_loom) || self.state().is_scheduled(),
            "a cell that is given away is kept alive by being scheduled"
        );
        // SAFETY: owner field.
        let local = self
            .local_refs
            .with_mut(|refs| unsafe { std::mem::take(&mut *refs) });
        debug_assert!(local >= 0, "a cell that was visited is settled before");
        if local > 0 {
            // Relaxed: the references were published with the addresses that hold them.
            let local = local as u32;
            check_sum(self.shared_refs.fetch_add(local, Relaxed), local);
        }
    }

    /// Makes the cell an orphan (a cell without an owner), and adds one reference, which the caller
    /// owns (`cell/README.md`, step 7). Only an owner that has the token (the right to notify the
    /// owner) calls this.
    pub(crate) fn orphan_refs(&self) {
        // SAFETY: owner field.
        let local = self
            .local_refs
            .with_mut(|refs| unsafe { std::mem::take(&mut *refs) });
        debug_assert!(local >= 0, "a cell that was visited is settled before");
        let local = local as u32;
        // Relaxed: `close` publishes the mark, and our use of the cell ends with the Release by
        // which our own reference is dropped.
        let before = self.shared_refs.fetch_add(local + 1 + ORPHAN, Relaxed);
        debug_assert_eq!(before & ORPHAN, 0, "a cell is closed once");
        check_sum(before, local);
    }
}
