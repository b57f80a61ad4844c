//! Guests: threads that are no hand's, and sit on a seat for one question.
//!
//! Who asks and waits for the answer has nothing else to do. If nobody sits at the home of the task that is asked, the asker sits
//! there itself, runs it, and leaves, and no thread is woken (README.md, seats). It does so only while it waits anyway: whatever lock
//! it holds meanwhile, it would hold while another thread ran the task.

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::Arc;

use crossbeam_utils::CachePadded;
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
/// Visits at most between two that are timed, once those took little time: the looks at the clock take half as long as all the rest.
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
    /// True while a visit lasts that will be short, as far as earlier ones tell.
    is_short: Cell<bool>,
}

impl VisitTimes {
    /// Returns whether the visit that begins is timed.
    fn begins(&self) -> bool {
        let untimed = self.untimed.get();
        self.untimed.set(untimed.saturating_sub(1));
        untimed == 0
    }

    /// Returns whether a guest sits here for a short visit, as far as earlier ones tell. Then what waits here is done sooner by the guest
    /// than by a hand that would have to be woken for it.
    pub(super) fn is_short(&self) -> bool {
        self.is_short.get()
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

/// Keeps a sponsor's shared part, for guests of one seat: their counts are on no line that others write.
pub(crate) type Hold = CachePadded<Arc<Shared>>;

/// A thread on a seat where nobody sat. Leaves the seat when it is dropped, whatever happens on it.
struct Guest {
    worker: NonNull<Worker>,
    remote: &'static Remote,
    /// The seat, and all that is looked at once it is left, may be gone then but for this.
    shared: Arc<Hold>,
    /// When it has sat down, if the visit is timed.
    since: Option<Nanos>,
    /// False once it has left.
    sits: bool,
    /// Whoever is called meanwhile finds that this thread works for the sponsor, and does not wait for its end.
    _serving: Serving,
}

/// The answer to a thread that would like to be a guest.
enum Welcome {
    /// A guest, who sits there.
    Sits(Guest),
    /// Somebody else sits there.
    Taken,
    /// No guests are wanted.
    Unwanted,
}

impl Guest {
    /// Sits at a home, if nobody does, and guests are welcome.
    fn sit(home: Home) -> Welcome {
        // A caller that unwinds makes every turn look failed to destructors that ask for that.
        // A hand that was left to foreign code is not to wait for what only it can do.
        if home == Home::NOBODY || std::thread::panicking() || current::serves_any() {
            return Welcome::Unwanted;
        }
        let remote = Remote::of(home);
        if !remote.welcomes_guests() {
            return Welcome::Unwanted;
        }
        if !remote.ready.sit_as_guest() {
            return Welcome::Taken;
        }
        Self::at(remote).map_or(Welcome::Unwanted, Welcome::Sits)
    }

    /// Sits on a seat that is the caller's. Hands it over if that is not for guests.
    fn at(remote: &'static Remote) -> Option<Self> {
        if !remote.has_guests() {
            // The number has come to another sponsor since the first look, whose tasks may have to stay on their thread.
            remote.hand_over();
            return None;
        }
        let (crew, seat) = remote.seat();
        // SAFETY: the seat is the caller's, and a crew lasts for as long as its seats can be had.
        let worker = unsafe { &*crew.cast::<Crew>() }.worker(seat);
        // SAFETY: as above, so its worker is open, and nobody else uses it.
        let shared = unsafe { worker.as_ref() }.hold.clone();
        let mut guest = Self {
            worker,
            remote,
            since: None,
            sits: true,
            _serving: Serving::new(&shared),
            shared,
        };
        let worker = guest.worker();
        if worker.visit_times.begins() || worker.lane.counts() {
            let now = worker.sit_down(Came::Idle);
            guest.since = Some(now.unwrap_or_else(|| worker.now()));
        } else {
            worker.sit_down(Came::Untimed);
        }
        Some(guest)
    }

    fn worker(&self) -> &Worker {
        // SAFETY: the seat is ours until `sits` is false.
        unsafe { self.worker.as_ref() }
    }

    /// Runs what is there, until `is_answered`, and leaves. Nothing more: the caller may hold a lock that another task waits for.
    fn run(mut self, is_answered: impl Fn() -> bool) {
        let mut left = VISIT_MAX;
        loop {
            let worker = self.worker();
            if left == 0 || worker.closes.get() || worker.is_to_stop(self.shared.signal()) {
                return;
            }
            left = worker.run_as_guest(left, &is_answered);
            if is_answered() || self.try_leave() {
                return;
            }
            // Something has come meanwhile, and may be what answers. The seat counts as idle again.
            let came = match self.since {
                Some(_) => Came::Idle,
                None => Came::Untimed,
            };
            self.worker().sit_down(came);
        }
    }

    /// Leaves the seat, if nothing is left to do there.
    fn try_leave(&mut self) -> bool {
        self.take_time();
        self.sits = !self.shared.try_leave(self.worker);
        !self.sits
    }

    /// Takes note of how long it has sat here.
    fn take_time(&self) {
        if let Some(since) = self.since {
            let time = self.worker().now().saturating_sub(since);
            self.worker().visit_times.took(time);
            if time > VISIT_LONG {
                self.remote.spare(VISITS_SPARED);
            }
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        if self.sits && !self.try_leave() {
            self.remote.hand_over();
        }
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
    // Who sits down works for the sponsor, so the gate is asked before.
    let is_special = cell.is_door() || cell.is_bounded();
    let welcome = if is_special || current::resting().is_some() || is_refused(cell) {
        Welcome::Unwanted
    } else {
        Guest::sit(cell.home())
    };
    // One that comes back is dropped when the seat is left, and its reply with it: that is foreign code.
    match welcome {
        Welcome::Sits(sat) => {
            let mut _refused = Ok(());
            let guest = sat;
            let worker = guest.worker();
            if worker.closes.get() || !worker.is_at_home_and_calm(cell) {
                // What came before is on its way, or it has moved. Its carrier is on a ready stack then, which may be this one.
                _refused = to.send(message);
            } else {
                let _entered = Entered::new(worker);
                worker.send_between_turns(cell, message);
            }
            guest.run(is_answered);
        }
        Welcome::Taken => {
            // Whoever sat there may have left by now. Then the seat is ours by the push.
            let Ok(wake) = to.push_from_outside(message, false, Remote::has_guests) else {
                return;
            };
            match wake.seat() {
                Ok(remote) => {
                    if let Some(guest) = Guest::at(remote) {
                        guest.run(is_answered);
                    }
                }
                Err(wake) => wake.call(),
            }
        }
        Welcome::Unwanted => drop(to.send(message)),
    }
}

impl Worker {
    /// The guest runs nothing more here, or its turn leaves the seat to others.
    pub(super) fn ends_visit(&self) {
        self.visit_times.is_short.set(false);
        self.pace.set_one_by_one(false);
    }

    /// Runs at most so many activations, until `is_done`. Returns how many are left.
    fn run_as_guest(&self, max: u32, is_done: impl Fn() -> bool) -> u32 {
        let _entered = Entered::new(self);
        let times = &self.visit_times;
        times.is_short.set(times.run.get() > 0);
        // What comes for a task behind the question may wait for a lock that the caller holds.
        self.pace.set_one_by_one(true);
        let left = Cell::new(max);
        let is_over = || {
            left.set(left.get().saturating_sub(1));
            left.get() == 0 || is_done() || self.is_wanted_back(self.shared.signal())
        };
        while let Err(panic) = quiet::call(|| self.run_some(is_over)) {
            self.survive(panic);
        }
        self.ends_visit();
        self.give_next_seat();
        self.stop_running();
        left.get()
    }
}
