//! Timers of a worker: messages that are delivered at a deadline.
//!
//! Each worker has one timing wheel. A worker with timers reads the clock every few turns, and
//! interrupts a task that handles messages for a long time without a break. The worker sleeps at
//! most until its next timer is due.
//!
//! A wheel has a lock, because two kinds of other threads use it. Any thread may cancel a
//! [`Timer`]. Another worker may take due messages while the wheel's own worker is in a long turn
//! (`sponsor/README.md`, rescue). If a timer fires and is cancelled at the same time, the lock
//! determines which comes first.
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
use garrick_core::wheel::{Precision, Wheel};
use unmodelled::Relaxed;

use crate::cell::{CellPtr, Chain, Envelope, Home, TaskId};
#[cfg(not(garrick_loom))]
use crate::remote::WORKERS_MAX;
use crate::runtime::address::{self, release_foreign};
use crate::runtime::current;
use crate::world::Nanos;

pub use handle::Timer;
use owners::Membership;
pub use owners::cancel_timers_of;

/// Number of turns between two reads of the clock, while there are timers. A read costs about 30
/// ns.
const LOOK_EVERY: u64 = 8;

/// Maximum time for which a task may handle messages without a break, if the worker has timers.
/// Until this time has passed, the worker does not read the clock. Shorter sequences of messages
/// are not interrupted, because messages that are sent in batches are best handled in batches.
const NEGLECT_MAX: Nanos = 20_000;

/// Latest deadline that a wheel supports. This deadline is several centuries after the start of a
/// world.
const DEADLINE_MAX: Nanos = Nanos::MAX - (1 << 20);

/// The message of a timer. The message waits in a timing wheel for its deadline.
pub(crate) struct Timed {
    /// Receiver of the message. The timer holds a reference to this cell.
    cell: CellPtr,
    envelope: *mut Envelope,
    /// True if the message belongs to a [`Timer`].
    can_be_cancelled: bool,
    /// Entry in the owner's register of timers. `None` if the timer has no owner, or sends more
    /// than one message.
    membership: Option<Membership>,
}

impl Timed {
    /// Returns the receiver and the message. The caller gets the reference to the receiver.
    pub(crate) fn take_apart(self) -> (CellPtr, Chain) {
        (self.cell, Chain::of_one(self.envelope))
    }

    /// Returns true if the message belongs to a [`Timer`].
    pub(crate) fn can_be_cancelled(&self) -> bool {
        self.can_be_cancelled
    }

    /// Drops the unsent message. The destructor of the message is foreign code.
    pub(crate) fn drop_unsent(self) {
        let (cell, chain) = self.take_apart();
        if let Some(worker) = current::worker() {
            worker.drop_staged(cell, chain);
            return;
        }
        // SAFETY: it was taken out of a wheel, so the envelope and the reference are ours; a table
        // is never replaced by one for other messages, which are `Send`.
        unsafe {
            (cell.table().drop_unread)(chain.oldest);
            current::with_pool(|pool| pool.give_envelope(chain.oldest));
            release_foreign(cell);
        }
    }

    /// Removes the timer from the register of its owner's timers, because the timer fires.
    pub(crate) fn leave_owner(&mut self) {
        if let Some(membership) = self.membership.take() {
            membership.end();
        }
    }

    /// Returns true if the receiver is known to have stopped.
    pub(crate) fn comes_too_late(&self) -> bool {
        address::is_stopped(self.cell)
    }
}

/// A staged message that will be delivered at a deadline.
pub(crate) struct Later {
    /// Deadline in nanoseconds, by the clock that the worker uses.
    pub(crate) deadline: Nanos,
    timed: Timed,
    timer: Option<Timer>,
    /// Task whose end cancels the timer.
    owner: Option<TaskId>,
}

impl Later {
    /// Creates a timed message from an envelope for a cell. Takes over a reference to this cell.
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

    /// Assigns the message to a timer. If there is an `owner`, the timer is cancelled when the
    /// owner ends.
    pub(crate) fn by(mut self, timer: &Timer, owner: Option<TaskId>) -> Self {
        self.timed.can_be_cancelled = true;
        self.timer = Some(timer.clone());
        self.owner = owner;
        self
    }

    /// Inserts the message into a wheel. If the message belongs to a timer that was cancelled or is
    /// set again, returns the message that must not be sent.
    pub(crate) fn set_in(self, wheel: &'static SharedWheel) -> Option<Timed> {
        if let Some(timer) = self.timer {
            return timer.set(wheel, self.deadline, self.timed, self.owner);
        }
        wheel.with(|wheel| wheel.insert(within_reach(self.deadline), self.timed));
        None
    }

    /// Takes the message back, because the turn that staged it is undone.
    pub(crate) fn undo(self) -> (CellPtr, Chain) {
        if let Some(timer) = self.timer {
            timer.undo();
        }
        self.timed.take_apart()
    }
}

/// Returns the deadline, but at most the latest deadline that a wheel supports.
fn within_reach(deadline: Nanos) -> Nanos {
    deadline.min(DEADLINE_MAX)
}

/// Timing wheel of one worker, with a lock. No foreign code runs under this lock.
pub(crate) struct SharedWheel(Mutex<Wheel<Timed>>);

// SAFETY: the wheel keeps pointers to cells and to messages. A thread that takes one out delivers
// it, as any thread may, or drops it. Threads other than the worker's drop only messages that came
// with a `Timer`, and those are `Send`.
unsafe impl Send for SharedWheel {}
// SAFETY: as above; the lock sees to the rest.
unsafe impl Sync for SharedWheel {}

/// Timing wheels, by the number of the worker. The wheel for a number is created when the first
/// worker with this number starts. The wheel stays after the worker has stopped, because there may
/// still be handles to timers in the wheel.
#[cfg(not(garrick_loom))]
static WHEELS: [std::sync::OnceLock<Box<SharedWheel>>; WORKERS_MAX + 1] =
    [const { std::sync::OnceLock::new() }; WORKERS_MAX + 1];

#[cfg(garrick_loom)]
thread_local! {
    /// Timing wheels of one run of a loom model. One system thread runs the whole model.
    static MODELLED: std::cell::RefCell<Vec<*mut SharedWheel>> =
        const { std::cell::RefCell::new(Vec::new()) };
}

/// Starts a run of a loom model. Frees the timing wheels of the previous run.
#[cfg(all(test, garrick_loom))]
pub(crate) fn reset_model() {
    for wheel in MODELLED.take() {
        // SAFETY: made by `SharedWheel::of` in a run that is over.
        drop(unsafe { Box::from_raw(wheel) });
    }
}

impl SharedWheel {
    fn new(now: Nanos, precision: Precision) -> Box<Self> {
        Box::new(Self(Mutex::new(Wheel::with_precision(now, precision))))
    }

    /// Returns the empty timing wheel for a worker that starts.
    #[cfg(not(garrick_loom))]
    fn of(home: Home, now: Nanos, precision: Precision) -> &'static Self {
        let wheel = WHEELS[usize::from(home.number())].get_or_init(|| Self::new(now, precision));
        wheel.with(|wheel| wheel.restart(now, precision));
        wheel
    }

    /// Returns the empty timing wheel for a worker that starts in a loom model. The wheel stays
    /// until the run of the model is over.
    #[cfg(garrick_loom)]
    fn of(_: Home, now: Nanos, precision: Precision) -> &'static Self {
        let wheel = Box::into_raw(Self::new(now, precision));
        MODELLED.with_borrow_mut(|wheels| wheels.push(wheel));
        // SAFETY: it is freed by `reset_model`, when nothing of this run is used any more.
        unsafe { &*wheel }
    }

    /// Calls `f` with the timing wheel, whose lock is held during the call. `f` must not call
    /// foreign code or take another lock.
    #[inline]
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut Wheel<Timed>) -> R) -> R {
        // Nothing under this lock can panic halfway.
        let mut wheel = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        f(&mut wheel)
    }
}

/// The timing wheel of a worker, and a record of the worker's last read of the clock.
pub(crate) struct Timers {
    pub(crate) wheel: &'static SharedWheel,
    /// True while there is no reason to read the clock. Written by the worker. Other threads may
    /// read an outdated value.
    calm: unmodelled::AtomicBool,
    /// True if there is always a reason to read the clock, because the worker has a driver.
    always: bool,
    /// Sequence number of the turn in which the worker last read the clock.
    looked_at: Cell<u64>,
    /// Time of the last read of the clock.
    looked: Cell<Nanos>,
    /// Timers with this deadline or a later one are watched. If such a timer is due while the
    /// worker is in a long turn, an idle thread delivers its message (`Crew::watch_timers`). `None`
    /// if it is unknown which timers are watched.
    watched_from: Cell<Option<Nanos>>,
}

impl Timers {
    pub(crate) fn new(home: Home, now: Nanos, precision: Precision, always: bool) -> Self {
        Self {
            wheel: SharedWheel::of(home, now, precision),
            calm: unmodelled::AtomicBool::new(!always),
            always,
            looked_at: Cell::new(0),
            looked: Cell::new(now),
            watched_from: Cell::new(None),
        }
    }

    /// Returns true if all timers are watched, so that an idle thread delivers their messages if
    /// the worker is in a long turn.
    #[inline]
    pub(crate) fn are_watched(&self) -> bool {
        self.are_calm() || self.watched_from.get().is_some()
    }

    /// Records that an idle thread watches the timers whose deadline is `deadline` or later. `None`
    /// means that it is unknown which timers are watched.
    #[inline]
    pub(crate) fn watched_from(&self, deadline: Option<Nanos>) {
        self.watched_from.set(deadline);
    }

    /// Returns true if there is no reason to read the clock, because there are no timers and there
    /// is no driver.
    #[inline]
    pub(crate) fn are_calm(&self) -> bool {
        // Relaxed: a hint for others.
        self.calm.load(Relaxed)
    }

    /// Records a new timer, which is a reason to read the clock.
    pub(crate) fn note_set(&self, deadline: Nanos) {
        if self.watched_from.get().is_some_and(|from| deadline < from) {
            self.watched_from.set(None);
        }
        self.calm.store(false, Relaxed);
    }

    /// Returns true if the clock was read so few turns before turn number `turn` that it need not
    /// be read again.
    #[inline]
    pub(crate) fn has_looked_before(&self, turn: u64) -> bool {
        turn.wrapping_sub(self.looked_at.get()) < LOOK_EVERY
    }

    /// Returns true if it is time to read the clock again, in turn number `turn`.
    pub(crate) fn wants_look(&self, turn: u64) -> bool {
        let wants = !self.has_looked_before(turn);
        if wants {
            self.looked_at.set(turn);
        }
        wants
    }

    /// Returns true if the last read of the clock was more than `NEGLECT_MAX` before `now`.
    pub(crate) fn are_neglected_at(&self, now: Nanos) -> bool {
        now.saturating_sub(self.looked.get()) > NEGLECT_MAX
    }

    /// Records a read of the clock with the result `now`. `fired` is true if a timer fired, and
    /// `is_empty` is true if the wheel is empty. If a timer fired, its message has not been handled
    /// yet, so there is a reason to read the clock at least once more.
    pub(crate) fn note_look(&self, now: Nanos, fired: bool, is_empty: bool) {
        self.looked.set(now);
        if fired || is_empty {
            self.watched_from.set(None);
        }
        if !fired && !self.always && is_empty {
            self.calm.store(true, Relaxed);
        }
    }
}
