//! Guests: threads that are no hand's, and sit on a seat for one question.
//!
//! Who asks and waits for the answer has nothing else to do. If nobody sits at the home of the task that is asked, the asker sits
//! there itself, runs it, and leaves, and no thread is woken (README.md, seats). It does so only while it waits anyway: whatever lock
//! it holds meanwhile, it would hold while another thread ran the task.

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::Arc;

use garrick_core::thread_values;

#[cfg(garrick_loom)]
use garrick_core::prim::CellKey;

use super::idle::Came;
use super::{Crew, Shared};
use crate::cell::Home;
use crate::quiet;
use crate::remote::Remote;
use crate::runtime::address::{Address, is_refused};
use crate::runtime::current::{self, Entered, Serving};
use crate::runtime::worker::Worker;
use crate::world::Nanos;

/// Activations that a guest runs at most.
const VISIT_MAX: u32 = 64;
/// A visit that takes longer keeps the thread of the one who asks from other work.
const VISIT_LONG: Nanos = 20_000;
/// Questions that go the ordinary way after a long visit.
const VISITS_SPARED: usize = 64;
/// Visits at most between two that are timed, once those took little time: a look at the clock takes as long as the rest of a visit.
const UNTIMED_MAX: u32 = 7;
/// Answers that are there at the first look, until one is held back: a future that is always ready keeps its executor from
/// all others.
const READY_MAX: u32 = 16;

thread_values! {
    /// Such answers since the last one that was held back.
    static READY: Cell<u32> = Cell::new(0);
}

/// Whether an answer that is there at the first look is to be held back until the next.
pub(crate) fn is_to_yield() -> bool {
    let ready = READY.get() + 1;
    let yields = ready >= READY_MAX;
    READY.set(if yields { 0 } else { ready });
    yields
}

/// Which visits of a seat are timed. Its owner alone uses it.
#[derive(Default)]
pub(crate) struct VisitTimes {
    /// Visits until the next that is timed.
    untimed: Cell<u32>,
    /// Visits that were not timed before the last that was.
    run: Cell<u32>,
}

impl VisitTimes {
    /// Returns whether the visit that begins is timed.
    fn begins(&self) -> bool {
        let untimed = self.untimed.get();
        self.untimed.set(untimed.saturating_sub(1));
        untimed == 0
    }

    /// A visit that was timed is over. After a short one twice as many go untimed, after a long one none does.
    fn took(&self, time: Nanos) {
        let run = if time > VISIT_LONG {
            0
        } else {
            (2 * self.run.get() + 1).min(UNTIMED_MAX)
        };
        self.run.set(run);
        self.untimed.set(run);
    }
}

/// A thread on a seat where nobody sat. Leaves the seat when it is dropped, whatever happens on it.
struct Guest {
    worker: NonNull<Worker>,
    remote: &'static Remote,
    /// The seat, and all that is looked at once it is left, may be gone then but for this.
    shared: Arc<Shared>,
    /// When it has sat down, if the visit is timed.
    since: Option<Nanos>,
    /// Whoever is called meanwhile finds that this thread works for the sponsor, and does not wait for its end.
    _serving: Serving,
}

impl Guest {
    /// Sits at a home, if nobody does, and guests are welcome.
    fn sit(home: Home) -> Option<Self> {
        // A caller that unwinds makes every turn look failed to destructors that ask for that.
        // A hand that was left to foreign code is not to wait for what only it can do.
        if home == Home::NOBODY || std::thread::panicking() || current::serves_any() {
            return None;
        }
        let remote = Remote::of(home);
        if !remote.welcomes_guests() || !remote.ready.sit_as_guest() {
            return None;
        }
        if !remote.has_guests() {
            // The number has come to another sponsor since the first look, whose tasks may have to stay on their thread.
            remote.hand_over();
            return None;
        }
        let (crew, seat) = remote.seat();
        // SAFETY: the seat is ours since `sit_as_guest`, and a crew lasts for as long as its seats can be had.
        let worker = unsafe { &*crew.cast::<Crew>() }.worker(seat);
        // SAFETY: as above, so its worker is open, and nobody else uses it.
        let shared = unsafe { worker.as_ref() }.shared.clone();
        let mut guest = Self {
            worker,
            remote,
            since: None,
            _serving: Serving::new(&shared),
            shared,
        };
        let worker = guest.worker();
        let now = worker.sit_down(Came::Idle);
        let is_timed = worker.visit_times.begins();
        guest.since = is_timed.then(|| now.unwrap_or_else(|| worker.now()));
        Some(guest)
    }

    fn worker(&self) -> &Worker {
        // SAFETY: the seat is ours until `leave`.
        unsafe { self.worker.as_ref() }
    }

    fn leave(&self) {
        if let Some(since) = self.since {
            let time = self.worker().now().saturating_sub(since);
            self.worker().visit_times.took(time);
            if time > VISIT_LONG {
                self.remote.spare(VISITS_SPARED);
            }
        }
        self.shared.leave(self.worker);
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Sends a message to a task, and runs it on this thread until `is_answered`, if nobody else does. The caller waits anyway, and is
/// in no turn.
pub(crate) fn send_and_run<M: 'static>(
    to: &Address<M>,
    message: M,
    is_answered: impl Fn() -> bool,
) {
    let cell = to.cell();
    // Dropped when the seat is left: that is foreign code.
    let mut _refused = Ok(());
    // Who sits down works for the sponsor, so the gate is asked before.
    let guest = if cell.is_door() || current::resting().is_some() || is_refused(cell) {
        None
    } else {
        Guest::sit(cell.home())
    };
    let Some(guest) = guest else {
        // One that comes back is dropped, and its reply with it.
        let _ = to.send(message);
        return;
    };
    let worker = guest.worker();
    if worker.closes.get() || !worker.is_at_home_and_calm(cell) {
        // What came before is on its way, or it has moved. Its carrier is on a ready stack then, which may be this one.
        _refused = to.send(message);
    } else {
        let _entered = Entered::new(worker);
        worker.send_between_turns(cell, message);
    }
    if !worker.closes.get() {
        worker.run_as_guest(VISIT_MAX, is_answered);
    }
}

impl Worker {
    /// Runs at most so many activations, until `is_done`.
    fn run_as_guest(&self, max: u32, is_done: impl Fn() -> bool) {
        let _entered = Entered::new(self);
        let left = Cell::new(max);
        let is_over = || {
            left.set(left.get().saturating_sub(1));
            left.get() == 0 || is_done() || self.is_wanted_back(self.shared.signal())
        };
        while let Err(panic) = quiet::call(|| self.run_some(is_over)) {
            self.survive(panic);
        }
        self.give_next_seat();
        self.stop_running();
    }
}
