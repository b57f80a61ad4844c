//! Timers of a worker that lends its cells (tasks) to other workers during a long turn (README.md,
//! rescue).
//!
//! While the worker lends cells, the workers that run these cells (visitors) also take due timers
//! out of its timing wheel. The visitors take the timers under the lock of the loan (the list of
//! lent cells). Only one visitor at a time does this. The owner waits until the taken timers were
//! delivered, so that timers fire in order.

use garrick_core::prim::{MutexGuard, thread, unmodelled};

use super::crew::{Crew, NEVER};
use super::rescue::Lent;
use crate::runtime::timer::Timed;
use crate::world::Nanos;
use unmodelled::{AtomicU64, Relaxed};

/// Maximum number of timers that are taken at a time.
const TAKEN_MAX: usize = 64;

/// Deadline of the next timer of a worker that lends its cells. May be outdated. [`NEVER`] if the
/// worker does not lend cells or has no timer.
pub(super) struct Due(AtomicU64);

impl Default for Due {
    fn default() -> Self {
        Self(AtomicU64::new(NEVER))
    }
}

impl Due {
    pub(super) fn set(&self, due: Option<Nanos>) {
        self.0.store(due.unwrap_or(NEVER), Relaxed);
    }

    pub(super) fn get(&self) -> Nanos {
        self.0.load(Relaxed)
    }
}

/// Guard that holds the lock of the cells and timers that a worker lends to other workers.
pub(crate) struct LoanLock<'a> {
    lent: MutexGuard<'a, Lent>,
    due: &'a Due,
}

impl LoanLock<'_> {
    /// Records `next`, the deadline of the next timer of the worker that lends its cells (`None` if
    /// there is no timer). The workers that run these cells read the deadline.
    pub(crate) fn note_next(&self, next: Option<Nanos>) {
        self.due.set(next.filter(|_| self.lent.is_open()));
    }
}

/// Timers that were taken out of the timing wheel of a worker that lends its cells. They must be
/// delivered in order.
pub(crate) struct Taken<'a> {
    pub(crate) due: Vec<Timed>,
    /// Guard that exists while the timers in `due` are delivered, and must be dropped afterwards.
    pub(crate) firing: Firing<'a>,
}

/// Guard that exists while a thread delivers timers of a worker that lends or has lent its cells.
pub(crate) struct Firing<'a> {
    crew: &'a Crew,
    seat: usize,
}

impl Drop for Firing<'_> {
    fn drop(&mut self) {
        let owner = {
            let mut lent = self.crew.seats[self.seat].loan.lent();
            lent.is_firing = false;
            lent.waits.take()
        };
        if let Some(owner) = owner {
            owner.unpark();
        }
    }
}

impl Crew {
    /// Takes the lock of the cells that this worker lends. Only the worker itself calls this.
    #[cold]
    pub(crate) fn hold_loan(&self, seat: usize) -> LoanLock<'_> {
        let loan = &self.seats[seat].loan;
        LoanLock {
            lent: loan.lent(),
            due: &loan.due,
        }
    }

    /// Waits until no other thread delivers timers of this worker. Only the worker itself calls
    /// this.
    #[cold]
    pub(crate) fn await_firing(&self, seat: usize) {
        loop {
            {
                let mut lent = self.seats[seat].loan.lent();
                if !lent.is_firing {
                    return;
                }
                lent.waits = Some(thread::current());
            }
            thread::park();
        }
    }

    /// Returns true if any worker that lends its cells probably has timers.
    pub(crate) fn lends_timers(&self) -> bool {
        self.next_due_of_lent() < NEVER
    }

    /// Returns the earliest deadline of the timers of all workers that lend their cells, or
    /// [`NEVER`] if there is none.
    pub(crate) fn next_due_of_lent(&self) -> Nanos {
        if !self.lends() {
            return NEVER;
        }
        let dues = self.seats.iter().map(|seat| seat.loan.due.get());
        dues.min().unwrap_or(NEVER)
    }

    /// Takes due timers out of the timing wheel of a worker that lends its cells. Returns `None` if
    /// no timer is due.
    pub(crate) fn take_due_of_lent(&self, now: Nanos) -> Option<Taken<'_>> {
        (0..self.seats.len()).find_map(|seat| {
            let loan = &self.seats[seat].loan;
            if loan.due.get() > now {
                return None;
            }
            let mut lent = loan.lent();
            if !lent.is_open() || lent.is_firing {
                return None;
            }
            let due = self.take_due_of(seat, &lent, Some(now));
            if due.is_empty() {
                return None;
            }
            lent.is_firing = true;
            let firing = Firing { crew: self, seat };
            Some(Taken { due, firing })
        })
    }

    /// Records the deadline of the next timer of a worker that has just begun to lend its cells.
    pub(super) fn lend_timers(&self, number: usize, lent: &MutexGuard<'_, Lent>) {
        let taken = self.take_due_of(number, lent, None);
        debug_assert!(taken.is_empty(), "nothing is taken before any time");
    }

    /// Takes timers that are due at `now` out of the timing wheel of a worker that lends its cells,
    /// and records the next deadline. The caller holds the lock of the loan (the list of lent
    /// cells).
    fn take_due_of(
        &self,
        number: usize,
        _lock: &MutexGuard<'_, Lent>,
        now: Option<Nanos>,
    ) -> Vec<Timed> {
        // SAFETY: the owner recalls, under our lock, before its worker is closed, and all threads
        // may look at this field of it.
        let timers = unsafe { &(*self.worker(number).as_ptr()).timers };
        let due = &self.seats[number].loan.due;
        timers.wheel.with(|wheel| {
            let mut taken = Vec::new();
            while taken.len() < TAKEN_MAX
                && let Some(timed) = now.and_then(|now| wheel.pop_due(now))
            {
                taken.push(timed);
            }
            due.set(wheel.next_deadline());
            taken
        })
    }
}
