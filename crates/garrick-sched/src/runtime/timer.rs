//! A worker's timers: messages to be delivered later.
//!
//! One timing wheel per worker, which only its worker touches. A worker with timers looks at the clock
//! every few activations, and sleeps no longer than to the next of them.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use garrick_core::wheel::Wheel;

use crate::runtime::stage::Timed;
use crate::world::Nanos;

/// Activations between two looks at the clock, while there are timers.
const LOOK_EVERY: u32 = 8;

/// The latest deadline that the wheel fires, some centuries from the beginning of a world.
const DEADLINE_MAX: Nanos = Nanos::MAX - (1 << 20);

/// See the module.
pub(crate) struct Timers {
    wheel: RefCell<Wheel<Timed>>,
    /// Activations to the next look at the clock; 0 while there is no reason to look.
    countdown: Cell<u32>,
    /// Whether there always is one, because the worker has a driver.
    always: bool,
}

impl Timers {
    pub(crate) fn new(now: Nanos, always: bool) -> Self {
        Self {
            wheel: RefCell::new(Wheel::new(now)),
            countdown: Cell::new(if always { LOOK_EVERY } else { 0 }),
            always,
        }
    }

    /// Whether there is no reason to look at the clock: no timers, nor a driver.
    #[inline]
    pub(crate) fn are_calm(&self) -> bool {
        self.countdown.get() == 0
    }

    pub(crate) fn insert(&self, timed: Timed) {
        self.wheel
            .borrow_mut()
            .insert(timed.deadline.min(DEADLINE_MAX), timed);
        if self.are_calm() {
            self.countdown.set(LOOK_EVERY);
        }
    }

    /// Counts one activation; true if it is time to look at the clock.
    pub(crate) fn count_down(&self) -> bool {
        let left = self.countdown.get();
        self.countdown
            .set(if left == 1 { LOOK_EVERY } else { left - 1 });
        left == 1
    }

    /// Takes a timer that is due.
    pub(crate) fn pop_due(&self, now: Nanos) -> Option<Timed> {
        let mut wheel = self.wheel.borrow_mut();
        let due = wheel.pop_due(now);
        if wheel.is_empty() && !self.always {
            self.countdown.set(0);
        }
        due
    }

    /// How long a worker may sleep.
    pub(crate) fn time_left(&self, now: Nanos) -> Option<Duration> {
        let deadline = self.wheel.borrow_mut().next_deadline()?;
        Some(Duration::from_nanos(deadline.saturating_sub(now)))
    }

    /// Takes a timer, due or not.
    pub(crate) fn pop_any(&self) -> Option<Timed> {
        self.pop_due(Nanos::MAX)
    }
}
