//! Timers of a seat that lends its cells (README.md, rescue).
//!
//! While a seat lends, visitors also take due timers out of the seat's wheel, under the lock of the
//! loan. Only one visitor at a time does this. The owner waits until the taken timers were
//! delivered, so that timers fire in order.

use garrick_core::prim::{MutexGuard, thread, unmodelled};

use super::crew::{Crew, NEVER};
use super::rescue::Lent;
use crate::runtime::timer::Timed;
use crate::world::Nanos;
use unmodelled::{AtomicU64, Relaxed};

/// Maximum number of timers that are taken at a time.
const TAKEN_MAX: usize = 64;

/// Deadline of the next timer of a seat that lends, as a hint. [`NEVER`] if the seat does not lend
/// or has no timer.
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

/// Guard that holds the lock of the timers that a seat has lent.
pub(crate) struct LoanLock<'a> {
    lent: MutexGuard<'a, Lent>,
    due: &'a Due,
}

impl LoanLock<'_> {
    /// Records the deadline of the next timer for the visitors.
    pub(crate) fn note_next(&self, next: Option<Nanos>) {
        self.due.set(next.filter(|_| self.lent.is_open()));
    }
}

/// Timers that were taken out of the wheel of a lending seat and must be delivered in order.
pub(crate) struct Taken<'a> {
    pub(crate) due: Vec<Timed>,
    /// Guard that must be dropped after the timers were delivered.
    pub(crate) firing: Firing<'a>,
}

/// Guard that marks that a thread is delivering timers of a seat that lends or has lent.
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
    /// Takes the lock of the seat's loan. Only the owner calls this.
    #[cold]
    pub(crate) fn hold_loan(&self, seat: usize) -> LoanLock<'_> {
        let loan = &self.seats[seat].loan;
        LoanLock {
            lent: loan.lent(),
            due: &loan.due,
        }
    }

    /// Waits until no other thread delivers timers of the seat. Only the owner calls this.
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

    /// Returns true if a seat that lends probably has timers.
    pub(crate) fn lends_timers(&self) -> bool {
        self.next_due_of_lent() < NEVER
    }

    /// Returns the earliest deadline of a timer of a lending seat, or [`NEVER`] if there is none.
    pub(crate) fn next_due_of_lent(&self) -> Nanos {
        if !self.lends() {
            return NEVER;
        }
        let dues = self.seats.iter().map(|seat| seat.loan.due.get());
        dues.min().unwrap_or(NEVER)
    }

    /// Takes due timers out of the wheel of a lending seat. Returns `None` if there are none.
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

    /// Records the deadline of the next timer of a seat that has just begun to lend.
    pub(super) fn lend_timers(&self, number: usize, lent: &MutexGuard<'_, Lent>) {
        let taken = self.take_due_of(number, lent, None);
        debug_assert!(taken.is_empty(), "nothing is taken before any time");
    }

    /// Takes timers that are due at `now` out of the wheel of a lending seat, under its lock.
    /// Records the next deadline.
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
