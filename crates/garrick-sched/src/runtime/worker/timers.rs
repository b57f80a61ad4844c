//! The timers of a worker, as the worker uses them.

use garrick_core::wheel::Wheel;

use super::Worker;
use crate::remote::Serve;
use crate::runtime::current::Entered;
use crate::runtime::stage::Timed;
use crate::runtime::timer;
use crate::world::Nanos;

impl Worker {
    /// Calls `f` with the wheel. `f` calls no foreign code.
    #[inline]
    fn with_wheel<R>(&self, f: impl FnOnce(&mut Wheel<Timed>) -> R) -> R {
        // Step T1: says that it holds the wheel.
        self.timers.hold();
        // Step T2: pairs with the heavy side in `Crew::lend`. Either we see LENT, or whoever lends sees that we hold the wheel.
        self.shown.fence();
        // Step T3: others take part, one at a time.
        let lock = (self.remote().ready.is_lent()).then(|| self.crew.hold_loan(self.seat()));
        let result = self.timers.with_wheel(f);
        if let Some(lock) = &lock {
            // Those who take part have noted when the next one is due.
            lock.note_next(self.timers.with_wheel(|wheel| wheel.next_deadline()));
        }
        self.timers.let_go();
        result
    }

    /// Puts a message into the wheel that is to be sent later.
    pub(super) fn insert_timed(&self, timed: Timed) {
        let deadline = timed.deadline;
        self.with_wheel(|wheel| timer::insert(wheel, timed));
        self.timers.wake();
        if self.remote().ready.is_lent() {
            if self.crew.next_due_of_lent() >= deadline {
                // The hand that keeps watch may sleep for longer than until then.
                self.crew.call_watch();
            }
        } else if self.shared.signal().idle() > 0 && self.backlog() > 0 {
            // The next turn may take longer than until then.
            self.crew.has_ready();
        }
    }

    /// Takes a timer, due or not.
    pub(crate) fn pop_timed(&self) -> Option<Timed> {
        self.with_wheel(|wheel| wheel.pop_due(Nanos::MAX))
    }

    /// Returns when the next timer is due.
    pub(crate) fn next_deadline(&self) -> Option<Nanos> {
        self.with_wheel(|wheel| wheel.next_deadline())
    }

    /// Delivers what is due, on a worker that is not in its loop.
    pub(crate) fn fire_due(&self) {
        let _entered = Entered::new(self);
        // What others have taken comes first.
        self.end_loan();
        self.fire_timers();
    }

    /// Delivers what is due, and says what time that was.
    #[cold]
    pub(crate) fn fire_timers(&self) -> Nanos {
        let now = self.now();
        let mut fired = false;
        let is_empty = loop {
            let (due, is_empty) = self.with_wheel(|wheel| (wheel.pop_due(now), wheel.is_empty()));
            let Some(timed) = due else { break is_empty };
            fired = true;
            self.deliver_staged(timed.cell, timed.chain);
        };
        self.timers.note_look(now, fired, is_empty);
        // What a message to nobody did while it was dropped.
        self.commit();
        now
    }

    /// Delivers what is due of seats that lend; false if there is nothing.
    #[cold]
    pub(super) fn fire_lent(&self) -> bool {
        if !self.crew.lends_timers() {
            return false;
        }
        let now = self.now();
        let mut has_some = false;
        while let Some(taken) = self.crew.take_due_of_lent(now) {
            has_some = true;
            for timed in taken.due {
                self.deliver_staged(timed.cell, timed.chain);
            }
            drop(taken.firing);
            self.commit();
        }
        has_some
    }
}
