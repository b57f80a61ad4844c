//! Looks: the checks for stuck seats, which the watching hand makes (README.md, rescue).

use std::cell::{Cell, RefCell};
use std::time::Duration;

use garrick_core::prim::atomic::Ordering::Relaxed;

use super::crew::{Crew, Hand, NEVER};
use crate::cell::Ready;
use crate::remote::Serve;
use crate::world::Nanos;

/// Number of looks after which the watching hand stops looking, unless it has found something.
const LOOKS: usize = 10;
/// Time before the first look, in nanoseconds. The time doubles after each look, up to
/// `LOOK_AFTER_MAX`.
const LOOK_AFTER: Nanos = 100_000;
const LOOK_AFTER_MAX: Nanos = 1_000_000;
/// Maximum number of further doublings while cells are ready and nothing is pushed.
const SLOW_MAX: u32 = 4;

/// Time between two looks of a crew that lends at the first look.
const AT_ONCE: Duration = Duration::from_micros(20);

/// State of a hand that looks for stuck seats.
#[derive(Default)]
pub(super) struct Looks {
    /// Time of the next look, or `None` if no look is planned.
    next: Cell<Option<Nanos>>,
    /// Number of activations of each seat at the last look. `None` if no thread sat there.
    picks: RefCell<Vec<Option<u32>>>,
    /// Number of looks since the last push, while cells were ready on a seat.
    slow: Cell<u32>,
}

impl Looks {
    /// Cancels the planned look.
    fn end(&self) {
        self.next.set(None);
        self.picks.borrow_mut().clear();
    }
}

impl Crew {
    /// Makes the watching hand look for stuck seats. The caller must wake it.
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

    /// Returns true if a seat on which a hand sits probably has ready cells or timers.
    fn are_some_ready(&self) -> bool {
        let are_ready = |number: usize| {
            let seat = &self.seats[number];
            let look = seat.look();
            self.remote(number).ready.is_sat_on()
                && (self.ready(number, &look) > 0 || self.has_timers(number, &look))
        };
        self.lends() && (0..self.seats.len()).any(are_ready)
    }

    /// Makes the watching hand look for stuck seats if there are ready cells or timers. Called when
    /// the hand begins to watch, because cells and timers may have come while no hand was idle.
    pub(super) fn look_if_some_are_ready(&self) {
        if self.lends() && self.looks_left.load(Relaxed) == 0 && self.are_some_ready() {
            self.looks_left.store(LOOKS, Relaxed);
        }
    }

    /// Wakes an idle hand, which then looks for stuck seats, unless a hand is already looking.
    /// Called by a worker that has a timer, or a ready cell in addition to the next one.
    #[inline]
    pub(crate) fn has_ready(&self) {
        // Relaxed: a hint.
        if self.lends() && self.looks_left.load(Relaxed) == 0 {
            self.call_watch();
        }
    }

    /// Returns the number of activations of a seat's worker. Returns `None` if no hand sits there,
    /// or if the worker is not in an activation.
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
    /// Returns the time that this hand may sleep, while it watches, before it looks for stuck
    /// seats. Returns `None` if it does not look.
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

    /// Returns the time that this hand may sleep, while it watches, before a timer of a lending
    /// seat is due. Returns `None` if there is no such timer.
    pub(super) fn time_to_fire(&self, now: Nanos) -> Option<Duration> {
        let due = self.crew.next_due_of_lent();
        if due == NEVER {
            return None;
        }
        // There was no free seat from which a due timer could be fired. The sitters fire it between
        // two turns.
        let due = if due <= now {
            now.saturating_add(LOOK_AFTER_MAX)
        } else {
            due
        };
        Some(Duration::from_nanos(due - now))
    }

    /// Looks for stuck seats if the time has come, and lends their cells. If cells were lent or
    /// timers of lending seats are due, removes this hand from the list of idle hands, and returns
    /// a seat from which the hand can serve them.
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
            // The activation is the same as at the last look.
            if picks.is_some() && (picks == before || at_once) {
                has_lent |= crew.lend(seat, &self.shared);
            }
        }
        // Relaxed: a thread that calls the watch meanwhile wants more looks, and gets them by its
        // next call if this one is lost.
        let left = crew.looks_left.load(Relaxed).saturating_sub(1);
        crew.looks_left.store(left, Relaxed);
        if left == 0 {
            self.looks_no_more();
        }
        if has_lent { self.take_parked() } else { None }
    }

    /// Stops the looks. After that, a push to a seat with a sitter calls the watch.
    fn looks_no_more(&self) {
        let crew = &*self.crew;
        crew.set_unwatched(true);
        // Dekker: either a thread that has pushed sees that nobody looks, or this hand sees the
        // push.
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
            // The worker there may begin a long turn without a push.
            self.looks
                .slow
                .set((self.looks.slow.get() + 1).min(SLOW_MAX));
            crew.looks_left.store(1, Relaxed);
        }
    }

    /// Takes a seat on which no thread sits, and removes this hand from the list of idle hands.
    /// Returns `None` if all seats have sitters.
    fn take_parked(&self) -> Option<usize> {
        let crew = &self.crew;
        let seat = (0..crew.seats.len()).find(|&seat| crew.retake(seat, Ready::sit))?;
        self.leave_line(seat)
    }
}
