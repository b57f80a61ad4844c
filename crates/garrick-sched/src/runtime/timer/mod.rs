//! A worker's timers: messages to be delivered later.
//!
//! One timing wheel per worker. A worker with timers looks at the clock every few turns, breaks a run of messages off that takes long,
//! and sleeps no longer than to the next of them.
//!
//! A wheel has a lock, because two others use it: who cancels a [`Timer`] of it on another thread, and who takes what is due while its worker
//! is in a turn that takes long (`sponsor/README.md`, rescue). The lock decides between a timer that fires and one that is cancelled.
//!
//! ```text
//!   Turn::start_timer --- staged ---> commit --> [ wheel ] --- due ---> receiver
//!                                                  ^   |
//!   Timer::cancel ------- staged ---> commit ------+   '--> dropped
//! ```

mod handle;
pub(crate) mod owners;

use std::cell::Cell;

use garrick_core::prim::{Mutex, unmodelled};
use garrick_core::wheel::Wheel;
use unmodelled::Relaxed;

use crate::cell::{CellPtr, Chain, Envelope, Home};
#[cfg(not(garrick_loom))]
use crate::remote::WORKERS_MAX;
use crate::runtime::address::{self, TaskId, release_foreign};
use crate::runtime::current;
use crate::world::Nanos;

pub use handle::Timer;
use owners::Membership;
pub use owners::cancel_timers_of;

/// Turns between two looks at the clock, while there are timers. A look costs some 30 ns.
const LOOK_EVERY: u64 = 8;

/// How long a run of messages to one task may keep the worker from looking. Shorter ones are not worth breaking off: what
/// is sent in batches is best handled in batches.
const NEGLECT_MAX: Nanos = 20_000;

/// The latest deadline that the wheel fires, some centuries from the beginning of a world.
const DEADLINE_MAX: Nanos = Nanos::MAX - (1 << 20);

/// A message in a wheel.
pub(crate) struct Timed {
    /// Kept alive by a reference of this entry's own.
    cell: CellPtr,
    envelope: *mut Envelope,
    /// True if it came with a [`Timer`].
    can_be_cancelled: bool,
    /// Of a timer that is set once, and ends with a task.
    membership: Option<Membership>,
}

impl Timed {
    /// Returns the cell, with its reference, and the message for it.
    pub(crate) fn take_apart(self) -> (CellPtr, Chain) {
        (self.cell, Chain::of_one(self.envelope))
    }

    /// Returns whether it came with a [`Timer`].
    pub(crate) fn can_be_cancelled(&self) -> bool {
        self.can_be_cancelled
    }

    /// Drops it, which is foreign code.
    pub(crate) fn drop_unsent(self) {
        let (cell, chain) = self.take_apart();
        if let Some(worker) = current::worker() {
            worker.drop_staged(cell, chain);
            return;
        }
        // SAFETY: it was taken out of a wheel, so the envelope and the reference are ours; a table is never replaced by one for other
        // messages, which are `Send`.
        unsafe {
            (cell.table().drop_unread)(chain.oldest);
            current::with_pool(|pool| pool.give_envelope(chain.oldest));
            release_foreign(cell);
        }
    }

    /// Its time has come: it belongs to its owner's timers no more.
    pub(crate) fn leave_owner(&mut self) {
        if let Some(membership) = self.membership.take() {
            membership.end();
        }
    }

    /// Returns whether its receiver is known to have stopped.
    pub(crate) fn comes_too_late(&self) -> bool {
        address::is_stopped(self.cell)
    }
}

/// A message that a turn has staged, to be sent later.
pub(crate) struct Later {
    /// Nanoseconds of the sponsor's world.
    pub(crate) deadline: Nanos,
    timed: Timed,
    timer: Option<Timer>,
    /// The task that the timer ends with.
    owner: Option<TaskId>,
}

impl Later {
    /// Makes one of an envelope with a message for a cell, and a reference to that.
    pub(crate) fn new(deadline: Nanos, cell: CellPtr, envelope: *mut Envelope) -> Self {
        let timed = Timed {
            cell,
            envelope,
            can_be_cancelled: false,
            membership: None,
        };
        Self {
            deadline,
            timed,
            timer: None,
            owner: None,
        }
    }

    /// Lets a timer send it, which ends with the task `owner`, if there is one.
    pub(crate) fn by(mut self, timer: &Timer, owner: Option<TaskId>) -> Self {
        self.timed.can_be_cancelled = true;
        self.timer = Some(timer.clone());
        self.owner = owner;
        self
    }

    /// Puts it into a wheel. Returns what is not to be sent, because its timer was cancelled or is set anew.
    pub(crate) fn set_in(self, wheel: &'static SharedWheel) -> Option<Timed> {
        if let Some(timer) = self.timer {
            return timer.set(wheel, self.deadline, self.timed, self.owner);
        }
        wheel.with(|wheel| wheel.insert(within_reach(self.deadline), self.timed));
        None
    }

    /// Takes its message back: the turn that has staged it is undone.
    pub(crate) fn undo(self) -> (CellPtr, Chain) {
        if let Some(timer) = self.timer {
            timer.undo();
        }
        self.timed.take_apart()
    }
}

/// Returns the deadline, or the latest one that a wheel fires.
fn within_reach(deadline: Nanos) -> Nanos {
    deadline.min(DEADLINE_MAX)
}

/// The wheel of one worker. No code runs under its lock that is not ours.
pub(crate) struct SharedWheel(Mutex<Wheel<Timed>>);

// SAFETY: the wheel keeps pointers to cells and to messages. Whoever takes one out delivers it, as any thread may, or drops it: only those
// that came with a `Timer` on another thread than the worker's, and they are `Send`.
unsafe impl Send for SharedWheel {}
// SAFETY: as above; the lock sees to the rest.
unsafe impl Sync for SharedWheel {}

/// The wheel of each number of a worker, from the first one with that number on. It stays when a worker ends, for handles of its timers.
#[cfg(not(garrick_loom))]
static WHEELS: [std::sync::OnceLock<Box<SharedWheel>>; WORKERS_MAX + 1] =
    [const { std::sync::OnceLock::new() }; WORKERS_MAX + 1];

#[cfg(garrick_loom)]
thread_local! {
    /// The wheels of a run of a model, all of which one thread of the system runs.
    static MODELLED: std::cell::RefCell<Vec<*mut SharedWheel>> =
        const { std::cell::RefCell::new(Vec::new()) };
}

/// Begins a run: frees the wheels of the one before.
#[cfg(all(test, garrick_loom))]
pub(crate) fn reset_model() {
    for wheel in MODELLED.take() {
        // SAFETY: made by `SharedWheel::of` in a run that is over.
        drop(unsafe { Box::from_raw(wheel) });
    }
}

impl SharedWheel {
    fn new(now: Nanos) -> Box<Self> {
        Box::new(Self(Mutex::new(Wheel::new(now))))
    }

    /// The wheel of a worker that begins, which is empty.
    #[cfg(not(garrick_loom))]
    fn of(home: Home, now: Nanos) -> &'static Self {
        let wheel = WHEELS[usize::from(home.number())].get_or_init(|| Self::new(now));
        wheel.with(|wheel| wheel.restart(now));
        wheel
    }

    /// The same in a model, where the wheel stays until the run is over.
    #[cfg(garrick_loom)]
    fn of(_: Home, now: Nanos) -> &'static Self {
        let wheel = Box::into_raw(Self::new(now));
        MODELLED.with_borrow_mut(|wheels| wheels.push(wheel));
        // SAFETY: it is freed by `reset_model`, when nothing of this run is used any more.
        unsafe { &*wheel }
    }

    /// Calls `f` with the wheel. `f` calls no foreign code, and takes no lock.
    #[inline]
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut Wheel<Timed>) -> R) -> R {
        // Nothing under this lock can fail half way.
        let mut wheel = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        f(&mut wheel)
    }
}

/// See the module.
pub(crate) struct Timers {
    pub(crate) wheel: &'static SharedWheel,
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
    pub(crate) fn new(home: Home, now: Nanos, always: bool) -> Self {
        Self {
            wheel: SharedWheel::of(home, now),
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
