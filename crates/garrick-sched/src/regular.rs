//! Regular guests: the thread that usually runs a worker while it waits for answers.
//!
//! A *guest* is a thread that runs a worker while it waits for the answer to a question. If several
//! threads are guests of one worker in turn, each visit moves the cache lines of the worker to
//! another core, which takes several times as long as a short visit. So a worker has at most one
//! *regular* guest, and a thread is the regular guest of at most one worker. Another thread whose
//! future asks a task of this worker waits a moment for the regular guest. If the regular guest
//! comes, it receives the question in its inbox instead of the worker changing its thread.
//!
//! The regular guest then wakes the asking future. Executors such as tokio's queue a woken future
//! on the thread that has woken it. So futures that ask the tasks of one worker soon run on the
//! thread of its regular guest. Other executors do not move futures. So each thread has *credit*:
//! waiting for a regular guest costs credit, and visits of its own worker as a regular guest earn
//! it. A thread without credit does not wait.
//!
//! All values are hints. No correctness depends on them.

use std::cell::Cell;

#[cfg(garrick_loom)]
use garrick_core::prim::CellKey;
use garrick_core::prim::unmodelled::{AtomicUsize, Relaxed};
use garrick_core::thread_values;

/// Maximum number of times that a thread checks if the regular guest has come. A guest is a thread
/// that runs a worker while it waits for an answer. Loom models do not wait, because that would
/// only add equivalent states.
const CHECKS: u32 = if cfg!(garrick_loom) { 0 } else { 32 };
/// Number of visits of other guests, without a visit of the regular guest in between, after which
/// the worker has no regular guest any more. A guest is a thread that runs a worker while it waits
/// for an answer.
const MISSED_MAX: usize = 8;
/// Credit that a thread pays to wait for the regular guest of a worker. Each visit of a worker as
/// its regular guest earns a credit of 1.
const PRICE: u32 = 4;
/// Maximum credit of a thread, and its credit at the beginning.
const CREDIT_MAX: u32 = 64 * PRICE;

thread_values! {
    /// The worker whose regular guest this thread is, unless another thread has become its regular
    /// guest in the meantime.
    static OWN: Cell<Option<&'static Regular>> = Cell::new(None);

    /// Credit with which this thread pays for waiting.
    static CREDIT: Cell<u32> = Cell::new(CREDIT_MAX);
}

/// The regular guest of a worker: the thread that usually runs the worker while it waits for
/// answers.
#[derive(Default)]
pub(crate) struct Regular {
    /// Address of a thread-local value of the regular guest (a thread). 0 if there is none.
    thread: AtomicUsize,
    /// Number of times that other guests have come since the latest visit of the regular guest.
    missed: AtomicUsize,
}

impl Regular {
    /// Forgets the regular guest of the worker.
    pub(crate) fn clear(&self) {
        self.missed.store(0, Relaxed);
        self.thread.store(0, Relaxed);
    }

    /// Returns true if the calling thread should leave a question to the regular guest of the
    /// worker, which runs the worker now. Returns false if the calling thread should run the worker
    /// itself. `has_guest` returns true if a guest runs the worker: a thread that waits for an
    /// answer.
    ///
    /// The calling thread becomes the regular guest if there is none.
    pub(crate) fn comes(&'static self, has_guest: impl Fn() -> bool) -> bool {
        let here = OWN.with(|own| std::ptr::from_ref(own).addr());
        let thread = self.thread.load(Relaxed);
        if thread == here {
            // The line is written only if another guest has come.
            if self.missed.load(Relaxed) != 0 {
                self.missed.store(0, Relaxed);
            }
            CREDIT.set((CREDIT.get() + 1).min(CREDIT_MAX));
            return false;
        }
        if thread == 0 {
            self.adopt(here);
            return false;
        }
        if pay() && (0..CHECKS).any(|_| waits_until(&has_guest)) {
            return true;
        }
        self.miss();
        false
    }

    /// Makes the calling thread the regular guest of the worker, unless it is the regular guest of
    /// another worker. `here` identifies the calling thread.
    fn adopt(&'static self, here: usize) {
        let has_other = |own: &Self| own.thread.load(Relaxed) == here;
        if !OWN.get().is_some_and(has_other) {
            self.thread.store(here, Relaxed);
            OWN.set(Some(self));
        }
    }

    /// Records that the regular guest has not come, although another guest has waited for it.
    fn miss(&self) {
        let missed = self.missed.load(Relaxed) + 1;
        if missed < MISSED_MAX {
            self.missed.store(missed, Relaxed);
        } else {
            self.clear();
        }
    }
}

/// Pays for waiting once. Returns false if the calling thread has too little credit.
fn pay() -> bool {
    let left = CREDIT.get().checked_sub(PRICE);
    if let Some(left) = left {
        CREDIT.set(left);
    }
    left.is_some()
}

/// Returns true if `is_so` returns true. Otherwise, makes a short pause.
fn waits_until(is_so: impl Fn() -> bool) -> bool {
    let is_so = is_so();
    if !is_so {
        std::hint::spin_loop();
    }
    is_so
}

#[cfg(all(test, not(garrick_loom)))]
mod tests {
    use super::*;

    fn regular() -> &'static Regular {
        Box::leak(Box::default())
    }

    /// Calls `f` on another thread, which then ends.
    fn elsewhere<R: Send>(f: impl FnOnce() -> R + Send) -> R {
        std::thread::scope(|scope| scope.spawn(f).join().expect("no panic"))
    }

    #[test]
    fn the_first_guest_is_the_regular_guest_of_one_worker() {
        elsewhere(|| {
            let (first, second) = (regular(), regular());
            assert!(!first.comes(|| true), "the guest itself comes");
            assert!(!second.comes(|| true));
            assert_ne!(first.thread.load(Relaxed), 0);
            assert_eq!(second.thread.load(Relaxed), 0, "the thread has a worker");
            assert!(!first.comes(|| true));
        });
    }

    #[test]
    fn other_guests_leave_questions_to_the_regular_guest_that_has_come() {
        let worker = regular();
        worker.comes(|| false);
        elsewhere(|| {
            let checks = Cell::new(0);
            let comes_late = || checks.replace(checks.get() + 1) == 5;
            assert!(worker.comes(comes_late));
            assert_eq!(checks.get(), 6);
            assert!(!worker.comes(|| false), "it has not come");
            assert_eq!(worker.missed.load(Relaxed), 1);
        });
        worker.comes(|| false);
        assert_eq!(worker.missed.load(Relaxed), 0);
    }

    #[test]
    fn a_regular_guest_that_no_longer_comes_is_replaced() {
        let worker = regular();
        worker.comes(|| false);
        elsewhere(|| {
            (0..MISSED_MAX).for_each(|_| assert!(!worker.comes(|| false)));
            assert_eq!(worker.thread.load(Relaxed), 0);
            worker.comes(|| false);
            assert!(OWN.get().is_some_and(|own| std::ptr::eq(own, worker)));
        });
        assert!(worker.comes(|| true), "another thread is the regular guest");
    }

    #[test]
    fn a_thread_without_credit_does_not_wait_until_it_has_earned_some() {
        let (mine, other) = (regular(), regular());
        elsewhere(|| other.comes(|| false));
        mine.comes(|| false);
        (0..CREDIT_MAX / PRICE).for_each(|_| assert!(other.comes(|| true)));
        assert!(!other.comes(|| true), "the credit is used up");
        (0..PRICE).for_each(|_| assert!(!mine.comes(|| false)));
        assert!(other.comes(|| true));
        assert!(!other.comes(|| true));
    }
}
