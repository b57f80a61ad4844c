//! Reference counts, biased to the owner.
//!
//! After Choi, Shull and Torrellas, "Biased Reference Counting" (PACT 2018): the owner counts
//! without atomics. Our scheme differs in how the two counts meet, because a cell changes its owner
//! and is freed by it alone:
//!
//! - References are anonymous: `local_refs + shared_refs` is their number, whichever thread took
//!   which.
//! - The shared count never goes below zero. A foreign thread that drops a reference while the
//!   shared count is zero sends it to the owner as a [`Kind::Release`](super::Kind) envelope, which
//!   also wakes the owner, in the same atomic step.
//! - The owner keeps at least one reference on its side while there are any. When its count reaches
//!   zero it borrows one from the shared count. So the last reference is always dropped by the
//!   owner, or sent to it.
//! - While others visit a cell (`runtime/sponsor/README.md`, rescue), addresses that its turns make
//!   are in the shared count. The owner may drop some of them, and its count goes below zero then.
//!   It settles that when the cell comes back.
//! - A closed cell is an *orphan*: all its references are in the shared count, marked, and the
//!   thread that drops the last one frees the block.

use std::io::{self, Write};
use std::process;

use garrick_core::prim::atomic::Ordering::{AcqRel, Acquire, Relaxed};

use super::header::Header;

/// The mark of a cell without owner, in the shared count.
pub(super) const ORPHAN: u32 = 1 << 31;
/// Largest valid number of references. More are a leak in the program, and the process is stopped,
/// as with `Arc`. Each of the two counts stays below this limit, and so their sum below [`ORPHAN`],
/// even while several threads find at the same time that it is too much.
const REFS_MAX: u32 = 1 << 29;

/// The shared count of a freed block in debug builds, so that a use after free is caught early.
#[cfg(not(garrick_loom))]
const POISON: u32 = 0x1fff_dead;

/// Stops the process if a shared count of `before` is too large with `added` more.
#[inline]
fn check_sum(before: u32, added: u32) {
    if (before & !ORPHAN) + added > REFS_MAX {
        too_many();
    }
}

/// Stops the process. To continue would let the counts overflow, and free a task that can still be
/// reached.
#[cold]
#[inline(never)]
fn too_many() -> ! {
    // A failure to write the message is no reason to continue.
    let _ = writeln!(
        io::stderr(),
        "garrick: an actor has more than {REFS_MAX} addresses: the program leaks them, with mem::forget or in a cycle \
         that grows; the process is stopped"
    );
    process::abort();
}

/// The result of a foreign drop.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dropped {
    /// The drop is counted; the cell must not be touched any more.
    Counted,
    /// The reference is counted by the owner: send it there in an envelope.
    WithOwner,
    /// The last reference of an orphan was dropped: free the block.
    LastOfOrphan,
}

/// The result of settling a cell whose owner's count has reached zero.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Settled {
    /// There are foreign references; one of them is now counted here.
    Referenced,
    /// There is no reference at all.
    Unreferenced,
}

impl Header {
    /// Marks a block that is about to be freed, in debug builds.
    #[cfg(not(garrick_loom))]
    pub(crate) fn poison(&self) {
        if cfg!(debug_assertions) {
            self.check_alive();
            self.shared_refs.store(POISON, Relaxed);
        }
    }

    /// Marks a block that is freed. Loom reports every use that is not ordered before.
    #[cfg(garrick_loom)]
    pub(crate) fn poison(&self) {
        // SAFETY: loom checks that nobody else uses it.
        let was_alive =
            (self.alive).with_mut(|alive| unsafe { std::mem::replace(&mut *alive, false) });
        assert!(was_alive, "a cell is freed once");
    }

    /// Panics on a freed block.
    #[cfg(garrick_loom)]
    pub(crate) fn check_alive(&self) {
        // SAFETY: loom checks that no write races with this.
        let is_alive = self.alive.with(|alive| unsafe { *alive });
        assert!(is_alive, "the cell is freed");
    }

    /// Panics on a freed block, in debug builds.
    #[cfg(not(garrick_loom))]
    #[inline]
    pub(crate) fn check_alive(&self) {
        debug_assert_ne!(self.shared_refs.load(Relaxed), POISON, "the cell is freed");
    }

    /// Owner only: returns the owner's count.
    #[inline]
    pub(crate) fn local_refs(&self) -> i32 {
        // SAFETY: owner field.
        self.local_refs.with(|refs| unsafe { *refs })
    }

    /// Owner only: counts one more reference.
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

    /// Owner only: counts one reference less. Returns true if that was the owner's last one, which
    /// requires [`Header::settle`] before anything else.
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

    /// Counts one more reference from any thread that holds one.
    #[inline]
    pub(crate) fn clone_foreign(&self) {
        self.check_alive();
        // Relaxed: the new reference is published by the operation that hands it on.
        check_sum(self.shared_refs.fetch_add(1, Relaxed), 1);
    }

    /// Counts one reference less from a foreign thread (README, step 6).
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

    /// Owner only: settles the cell when the owner's count is zero or less. Borrows from the shared
    /// references, if there are any, so that the owner's count becomes one.
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

    /// Owner only: returns true if the owner's count, just zero, can be left to the end of the
    /// cell's activation, which looks closer. True if the cell is scheduled, and no other thread
    /// has a reference to borrow.
    #[inline]
    pub(crate) fn is_looked_after(&self) -> bool {
        // Relaxed: the end of the activation settles, with Acquire.
        self.state().is_scheduled() && self.shared_refs.load(Relaxed) == 0
    }

    /// Owner only: moves the owner's count to the shared count, before the cell is given away
    /// (README, step 3). The cell is kept alive by being scheduled.
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

    /// Token holder, as owner: makes the cell an orphan, with one more reference, which the caller
    /// owns (README, step 7).
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
