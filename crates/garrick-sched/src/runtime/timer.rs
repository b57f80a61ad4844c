//! A worker's timers: messages to be delivered later.
//!
//! One timing wheel per worker. A worker with timers looks at the clock every few turns, breaks a run of messages off that takes long,
//! and sleeps no longer than to the next of them.
//!
//! Others take what is due out of the wheel of a worker that is in a turn that takes long (`sponsor/README.md`, rescue). A wheel is held by
//! one of them at a time: its worker says so without an atomic operation ([`Timers::hold`]), until others take part.

use std::cell::{Cell, RefCell};

use garrick_core::prim::atomic::{
    AtomicBool,
    Ordering::{Acquire, Relaxed, Release},
};
use garrick_core::prim::unmodelled;
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
    /// True while its worker holds the wheel.
    is_held: AtomicBool,
    /// Lets models see who holds the wheel.
    #[cfg(garrick_loom)]
    holder: garrick_core::prim::UnsafeCell<()>,
    /// Whether there is no reason to look at the clock. Its worker writes; others look, for whom it is a hint.
    calm: unmodelled::AtomicBool,
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
            is_held: AtomicBool::new(false),
            #[cfg(garrick_loom)]
            holder: garrick_core::prim::UnsafeCell::new(()),
            calm: unmodelled::AtomicBool::new(!always),
            always,
            looked_at: Cell::new(0),
            looked: Cell::new(now),
        }
    }

    /// Whether there is no reason to look at the clock: no timers, nor a driver.
    #[inline]
    pub(crate) fn are_calm(&self) -> bool {
        // Relaxed: a hint for others.
        self.calm.load(Relaxed)
    }

    /// Owner only: says that its worker holds the wheel. The caller passes the light side of a fence, and takes the lock of the loan if it
    /// finds LENT then.
    #[inline]
    pub(crate) fn hold(&self) {
        // Relaxed: the fence orders it.
        self.is_held.store(true, Relaxed);
    }

    /// Owner only: its worker holds the wheel no more.
    #[inline]
    pub(crate) fn let_go(&self) {
        // Release: pairs with the Acquire in `is_held`; who takes from the wheel next has what was done to it.
        self.is_held.store(false, Release);
    }

    /// Returns whether its worker holds the wheel, for one who has passed the heavy side of that fence since it left LENT.
    pub(crate) fn is_held(&self) -> bool {
        // Acquire: pairs with the Release in `let_go`.
        self.is_held.load(Acquire)
    }

    /// Calls `f` with the wheel, which the caller holds. `f` calls no foreign code.
    pub(crate) fn with_wheel<R>(&self, f: impl FnOnce(&mut Wheel<Timed>) -> R) -> R {
        #[cfg(garrick_loom)]
        return self.holder.with_mut(|_| f(&mut self.wheel.borrow_mut()));
        #[cfg(not(garrick_loom))]
        f(&mut self.wheel.borrow_mut())
    }

    /// There is a reason to look at the clock.
    pub(crate) fn wake(&self) {
        self.calm.store(false, Relaxed);
    }

    /// Whether it is time to look at the clock again, in the turn of that number.
    pub(crate) fn wants_look(&self, turn: u64) -> bool {
        let wants = turn.wrapping_sub(self.looked_at.get()) >= LOOK_EVERY;
        if wants {
            self.looked_at.set(turn);
        }
        wants
    }

    /// Whether the last look at the clock is long ago.
    pub(crate) fn are_neglected_at(&self, now: Nanos) -> bool {
        now.saturating_sub(self.looked.get()) > NEGLECT_MAX
    }

    /// The clock said `now`, and something was due or not, or the wheel is empty. What was due is still to be handled, so it is calm no
    /// earlier than with the next look.
    pub(crate) fn note_look(&self, now: Nanos, fired: bool, is_empty: bool) {
        self.looked.set(now);
        if !fired && !self.always && is_empty {
            self.calm.store(true, Relaxed);
        }
    }
}

/// Puts a timer into a wheel.
pub(crate) fn insert(wheel: &mut Wheel<Timed>, timed: Timed) {
    wheel.insert(timed.deadline.min(DEADLINE_MAX), timed);
}
