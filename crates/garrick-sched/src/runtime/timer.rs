//! A worker's timers: messages to be delivered later.
//!
//! One timing wheel per worker, which only its worker touches. A worker with timers looks at the clock
//! every few turns, breaks a run of messages off that takes long, and sleeps no longer than to the next of them.

use std::cell::{Cell, RefCell};

use garrick_core::wheel::Wheel;

use crate::runtime::stage::Timed;
use crate::world::Nanos;

/// Turns between two looks at the clock, while there are timers. A look costs some 30 ns.
const LOOK_EVERY: u64 = 8;

/// How long a run of messages to one task may keep the worker from looking. Shorter ones are not worth breaking off: what
/// is sent in batches is best handled in batches.
const NEGLECT_MAX: Nanos = 20_000;

/// The latest deadline that the wheel fires, some centuries from the beginning of a world.
const DEADLINE_MAX: Nanos = Nanos::MAX - (1 << 20);

/// See the module.
pub(crate) struct Timers {
    wheel: RefCell<Wheel<Timed>>,
    /// Whether there is no reason to look at the clock.
    calm: Cell<bool>,
    /// Whether there always is one, because the worker has a driver.
    always: bool,
    /// The number of the turn at the last look.
    looked_at: Cell<u64>,
    /// The time then.
    looked: Cell<Nanos>,
}

impl Timers {
    pub(crate) fn new(now: Nanos, always: bool) -> Self {
        Self {
            wheel: RefCell::new(Wheel::new(now)),
            calm: Cell::new(!always),
            always,
            looked_at: Cell::new(0),
            looked: Cell::new(now),
        }
    }

    /// Whether there is no reason to look at the clock: no timers, nor a driver.
    #[inline]
    pub(crate) fn are_calm(&self) -> bool {
        self.calm.get()
    }

    pub(crate) fn insert(&self, timed: Timed) {
        self.wheel
            .borrow_mut()
            .insert(timed.deadline.min(DEADLINE_MAX), timed);
        self.calm.set(false);
    }

    /// Whether it is time to look at the clock again, in the turn of that number.
    pub(crate) fn wants_look(&self, turn: u64) -> bool {
        let wants = turn.wrapping_sub(self.looked_at.get()) >= LOOK_EVERY;
        if wants {
            self.looked_at.set(turn);
        }
        wants
    }

    /// Takes a timer that is due.
    pub(crate) fn pop_due(&self, now: Nanos) -> Option<Timed> {
        self.wheel.borrow_mut().pop_due(now)
    }

    /// Whether the last look at the clock is long ago.
    pub(crate) fn are_neglected_at(&self, now: Nanos) -> bool {
        now.saturating_sub(self.looked.get()) > NEGLECT_MAX
    }

    /// The clock said `now`, and something was due or not. What was due is still to be handled, so it is calm no earlier
    /// than with the next look.
    pub(crate) fn note_look(&self, now: Nanos, fired: bool) {
        self.looked.set(now);
        if !fired && !self.always && self.wheel.borrow().is_empty() {
            self.calm.set(true);
        }
    }

    /// When the next timer is due.
    pub(crate) fn next_deadline(&self) -> Option<Nanos> {
        self.wheel.borrow_mut().next_deadline()
    }

    /// Takes a timer, due or not.
    pub(crate) fn pop_any(&self) -> Option<Timed> {
        self.pop_due(Nanos::MAX)
    }
}
