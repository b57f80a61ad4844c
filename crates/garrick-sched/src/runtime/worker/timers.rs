//! Setting and firing of a worker's timers. While the worker runs foreign code for a long time, an
//! idle thread fires the worker's timers.

use garrick_core::wheel::Wheel;

use super::Worker;
use crate::cell::CellPtr;
use crate::remote::Serve;
use crate::runtime::current::Entered;
use crate::runtime::room::room_of;
use crate::runtime::timer::{Later, Timed};
use crate::world::Nanos;

impl Worker {
    /// Calls `f` with the timing wheel, like
    /// [`SharedWheel::with`](crate::runtime::timer::SharedWheel::with), and records the next
    /// deadline.
    #[inline]
    fn with_wheel<R>(&self, f: impl FnOnce(&mut Wheel<Timed>) -> R) -> R {
        let result = self.timers.wheel.with(f);
        self.note_next_timer();
        result
    }

    /// Records the deadline of the next timer, if this worker lends its idle cells to other
    /// workers. The workers that run the lent cells read this deadline.
    #[inline]
    fn note_next_timer(&self) {
        // A lending hand stores LENT before it reads the wheel. So either the hand has seen the
        // change that was made to the wheel just now, or this worker sees LENT, because both have
        // held the lock of the wheel.
        if self.remote().ready.is_lent() {
            let loan = self.crew.hold_loan(self.seat());
            loan.note_next(self.timers.wheel.with(|wheel| wheel.next_deadline()));
        }
    }

    /// Inserts a delayed message into the timing wheel. If the message belongs to a cancelled
    /// timer, returns the message instead. If its timer was already set, replaces and returns the
    /// previous message of the timer. `running` is the cell of the turn, if a turn has just ended.
    fn insert_timed(&self, later: Later, running: Option<CellPtr>) -> Option<Timed> {
        let was_lent = self.remote().ready.is_lent();
        let before = was_lent.then(|| self.crew.next_due_of_lent());
        // First, so that a hand that looks for unwatched timers sees this one.
        self.timers.note_set(later.deadline);
        let unsent = later.set_in(self.timers.wheel);
        self.note_next_timer();
        if self.remote().ready.is_lent() {
            // Not compared with the deadline: the wheel may have to be looked at earlier.
            if before.is_none_or(|before| self.crew.next_due_of_lent() < before) {
                // The watching hand may sleep past that time.
                self.crew.call_watch();
            }
        } else if self.goes_on(running) {
            self.watch_timers();
        }
        unsent
    }

    /// Returns true if the cell whose turn is being committed will probably run another turn next.
    fn goes_on(&self, running: Option<CellPtr>) -> bool {
        let is_scheduled = |cell: CellPtr| !cell.state().is_idle_at(self.home);
        self.is_visiting() || running.is_some_and(is_scheduled)
    }

    /// Ensures that an idle thread fires the timers of this worker if necessary. Called before the
    /// worker runs foreign code that may take longer than the time to the next deadline.
    #[inline]
    pub(crate) fn watch_timers(&self) {
        if !self.timers.are_watched() {
            self.watch_timers_now();
        }
    }

    /// Returns true if nothing but timers can need attention before the next activation, and if the
    /// timers can wait because the clock was read only a few turns ago.
    #[inline]
    pub(super) fn has_only_timers(&self) -> bool {
        !self.remote.ready.has_some()
            && self.shared.signal().is_quiet()
            && self.timers.has_looked_before(self.turn())
            && self.timers.are_watched()
    }

    #[cold]
    #[inline(never)]
    fn watch_timers_now(&self) {
        if !self.crew.lends() {
            return self.timers.watched_from(Some(0));
        }
        let next = self.timers.wheel.with(|wheel| wheel.next_deadline());
        self.timers.watched_from(Some(next.unwrap_or(Nanos::MAX)));
        if let Some(deadline) = next {
            self.crew.watch_timers(&self.shared, deadline);
        }
    }

    /// Carries out what the turn has staged for timers: first cancels timers, and then sets timers.
    /// `running` is the cell of the turn, if a turn has just ended.
    pub(super) fn commit_timers(&self, running: Option<CellPtr>) {
        // First: a timer that is in both lists must not lie in the wheel for a moment, because
        // others may take due timers there.
        self.stage
            .commit_cancelled(|timer| self.stage.keep_unsent(timer.take_out()));
        self.stage
            .commit_later(|later| self.stage.keep_unsent(self.insert_timed(later, running)));
        // Foreign code from here on: all messages are in their places.
        self.stage.take_unsent(|timed| self.drop_unsent(timed));
    }

    fn drop_unsent(&self, timed: Timed) {
        // A destructor may take a long time.
        self.let_others();
        timed.drop_unsent();
    }

    /// Takes a timer out of the timing wheel, even if the timer is not due.
    pub(crate) fn pop_timed(&self) -> Option<Timed> {
        self.with_wheel(|wheel| wheel.pop_due(Nanos::MAX))
    }

    /// Returns the deadline of the next timer.
    pub(crate) fn next_deadline(&self) -> Option<Nanos> {
        self.with_wheel(|wheel| wheel.next_deadline())
    }

    /// Delivers due timers, outside of the worker's loop.
    pub(crate) fn fire_due(&self) {
        let _entered = Entered::new(self);
        // Timers that others have taken come first.
        self.end_loan();
        self.fire_timers();
    }

    /// Delivers due timers and returns the time.
    #[cold]
    pub(crate) fn fire_timers(&self) -> Nanos {
        let now = self.now();
        let mut fired = false;
        let is_empty = loop {
            let (due, is_empty) = self.with_wheel(|wheel| (wheel.pop_due(now), wheel.is_empty()));
            let Some(timed) = due else { break is_empty };
            fired = true;
            self.fire(timed);
        };
        self.timers.note_look(now, fired, is_empty);
        // Commits effects of refused messages that were dropped.
        self.commit();
        now
    }

    /// Delivers the message of a timer whose deadline has passed.
    pub(super) fn fire(&self, mut timed: Timed) {
        timed.leave_owner();
        if timed.can_be_cancelled() && timed.comes_too_late() {
            // The message of a cancellable timer is no dead letter.
            return self.drop_unsent(timed);
        }
        let (cell, chain) = timed.take_apart();
        if cell.is_door() {
            // A door is foreign code, which may take a long time.
            self.let_others();
        }
        if cell.is_bounded() {
            // Its sender was promised delivery.
            // SAFETY: it is bounded, and the timer has a reference.
            unsafe { room_of(cell) }.take_anyway();
        }
        let is_direct = !cell.is_door() && !self.shared.hooks.send_out();
        if !is_direct || !self.is_at_home_and_calm(cell) {
            return self.deliver_staged(cell, chain);
        }
        // SAFETY: it was taken out of a wheel, and its receiver is ours.
        unsafe { cell.append(chain.oldest) };
        self.schedule(cell);
        self.let_go(cell);
    }

    /// Delivers the due timers of all workers whose cells are lent to other workers. Returns false
    /// if no such timer is due.
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
                self.fire(timed);
            }
            drop(taken.firing);
            self.commit();
        }
        has_some
    }
}
