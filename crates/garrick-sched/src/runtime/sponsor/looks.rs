//! Looks for seats that are stuck, by the hand that keeps watch (README.md, rescue).

use std::cell::{Cell, RefCell};
use std::time::Duration;

use garrick_core::prim::atomic::Ordering::Relaxed;

use super::crew::{Crew, Hand, NEVER};
use crate::cell::Ready;
use crate::remote::Serve;
use crate::world::Nanos;

/// Looks for stuck seats before nobody looks any more, unless something is found.
const LOOKS: usize = 10;
/// Time from one look to the next: that long at first, and twice as long each time.
const LOOK_AFTER: Nanos = 100_000;
const LOOK_AFTER_MAX: Nanos = 1_000_000;
/// Where cells are ready, and nothing is pushed, the time goes on to double so often.
const SLOW_MAX: u32 = 4;

/// Time from one look to the next of a crew that lends at once.
const AT_ONCE: Duration = Duration::from_micros(20);

/// Looks for stuck seats by the hand that keeps watch.
#[derive(Default)]
pub(super) struct Looks {
    /// Time of the next look; none if it is not to look.
    next: Cell<Option<Nanos>>,
    /// The activations of each seat at the last look, where somebody sat.
    picks: RefCell<Vec<Option<u32>>>,
    /// Looks since nothing was pushed any more, at seats where cells are ready.
    slow: Cell<u32>,
}

impl Looks {
    /// No look is due.
    fn end(&self) {
        self.next.set(None);
        self.picks.borrow_mut().clear();
    }
}

impl Crew {
    /// Lets the hand that keeps watch look for stuck seats. The caller wakes it.
    pub(super) fn allow_looks(&self) {
        // Relaxed: the lock of the lists orders it for the hand that is woken.
        self.looks_left.store(LOOKS, Relaxed);
        self.set_unwatched(false);
    }

    fn set_unwatched(&self, is_unwatched: bool) {
        for seat in 0..self.seats.len() {
            self.remote(seat).set_unwatched(is_unwatched);
        }
    }

    /// Returns whether cells are ready on a seat where somebody sits, or it has timers, as far as can be seen.
    fn are_some_ready(&self) -> bool {
        let are_ready = |number: usize| {
            let seat = &self.seats[number];
            let look = seat.look();
            self.remote(number).ready.is_sat_on()
                && (self.ready(number, &look) > 0 || self.has_timers(number, &look))
        };
        self.lends() && (0..self.seats.len()).any(are_ready)
    }

    /// Lets the hand that keeps watch, and has woken, look for stuck seats if cells are ready somewhere, or timers may become due. They may
    /// have come while nobody was idle.
    pub(super) fn look_if_some_are_ready(&self) {
        if self.lends() && self.looks_left.load(Relaxed) == 0 && self.are_some_ready() {
            self.looks_left.store(LOOKS, Relaxed);
        }
    }

    /// Has an idle hand look for stuck seats, if none does: a worker has a cell ready beside the next, or a timer.
    #[inline]
    pub(crate) fn has_ready(&self) {
        // Relaxed: a hint.
        if self.lends() && self.looks_left.load(Relaxed) == 0 {
            self.call_watch();
        }
    }

    /// The activations of a seat's worker that is in one, if somebody sits there.
    fn picks(&self, number: usize) -> Option<u32> {
        if !self.remote(number).ready.is_sat_on() {
            return None;
        }
        let look = self.seats[number].look();
        let shown = self.shown(number, &look)?;
        (!shown.look().is_null()).then(|| shown.picks())
    }
}

impl Hand {
    /// Returns how long this hand, which keeps watch, may sleep before it looks for stuck seats; none if it is not to look.
    pub(super) fn time_to_look(&self) -> Option<Duration> {
        let left = self.crew.looks_left.load(Relaxed);
        if left == 0 {
            self.looks.end();
            return None;
        }
        if self.crew.lends_at_once() {
            return Some(AT_ONCE);
        }
        let now = self.shared.now();
        let next = self.looks.next.get().unwrap_or_else(|| {
            if left > 1 {
                self.looks.slow.set(0);
            }
            let doubled = LOOKS.saturating_sub(left).min(8);
            let after = (LOOK_AFTER << doubled).min(LOOK_AFTER_MAX);
            now.saturating_add(after << self.looks.slow.get())
        });
        self.looks.next.set(Some(next));
        Some(Duration::from_nanos(next.saturating_sub(now)))
    }

    /// Returns how long this hand, which keeps watch, may sleep before a timer is due of a seat that lends; none if there is none.
    pub(super) fn time_to_fire(&self, now: Nanos) -> Option<Duration> {
        let due = self.crew.next_due_of_lent();
        if due == NEVER {
            return None;
        }
        // If it is due, there was no seat from which to fire it. Those who sit there do, between two turns.
        let due = if due <= now {
            now.saturating_add(LOOK_AFTER_MAX)
        } else {
            due
        };
        Some(Duration::from_nanos(due - now))
    }

    /// Looks for stuck seats, if it is time, and lends their cells. Returns a seat from which to visit them, or to fire their timers, and
    /// takes this hand out of the line.
    pub(super) fn look_for_stuck_seats(&self) -> Option<usize> {
        if self.crew.lends_timers()
            && self.crew.next_due_of_lent() <= self.shared.now()
            && let Some(seat) = self.take_parked()
        {
            return Some(seat);
        }
        let left = self.time_to_look()?;
        let at_once = self.crew.lends_at_once();
        if !left.is_zero() && !at_once {
            return None;
        }
        let crew = &*self.crew;
        self.looks.next.set(None);
        let mut has_lent = false;
        let seats = crew.seats.len();
        self.looks.picks.borrow_mut().resize(seats, None);
        for seat in 0..seats {
            let picks = crew.picks(seat);
            let before = std::mem::replace(&mut self.looks.picks.borrow_mut()[seat], picks);
            // The same activation as at the last look.
            if picks.is_some() && (picks == before || at_once) {
                has_lent |= crew.lend(seat, &self.shared);
            }
        }
        // Relaxed: whoever calls the watch meanwhile wants more looks, and gets them by the next call if this is lost.
        let left = crew.looks_left.load(Relaxed).saturating_sub(1);
        crew.looks_left.store(left, Relaxed);
        if left == 0 {
            self.looks_no_more();
        }
        if has_lent { self.take_parked() } else { None }
    }

    /// Ends the looks. From here on a push that finds a sitter calls the watch.
    fn looks_no_more(&self) {
        let crew = &*self.crew;
        crew.set_unwatched(true);
        // Dekker: either whoever has pushed sees that nobody looks, or we see what it has pushed.
        if let Some(by) = crew.lend_by {
            by.fence.heavy();
        }
        let waits = |seat: usize| {
            let ready = &crew.remote(seat).ready;
            ready.has_some() && !ready.is_lent()
        };
        if (0..crew.seats.len()).any(waits) {
            crew.set_unwatched(false);
            crew.looks_left.store(1, Relaxed);
        } else if crew.are_some_ready() {
            // The worker there may come to a turn that takes long, without a push.
            self.looks
                .slow
                .set((self.looks.slow.get() + 1).min(SLOW_MAX));
            crew.looks_left.store(1, Relaxed);
        }
    }

    /// Takes a seat where nobody sits, and this hand out of the line; none if somebody sits on each.
    fn take_parked(&self) -> Option<usize> {
        let crew = &self.crew;
        let seat = (0..crew.seats.len()).find(|&seat| crew.retake(seat, Ready::sit))?;
        self.leave_line(seat)
    }
}
