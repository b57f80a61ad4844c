//! Guests: threads that are no hands, and sit on a seat for one question.
//!
//! A thread that asks and waits for the answer has nothing else to do. If nobody sits at the home
//! of the asked task, the asker sits there itself, runs the task, and leaves. No thread is woken
//! (README.md, seats). It does so only while it would wait anyway: any lock that it holds
//! meanwhile, it would also hold while another thread ran the task.

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

/// Largest number of activations that a guest runs.
const VISIT_MAX: u32 = 64;
/// Longest visit that counts as short. A longer visit keeps the asker's thread from other work.
const VISIT_LONG: Nanos = 20_000;
/// Number of questions that take the ordinary path after a long visit.
const VISITS_SPARED: usize = 64;
/// Largest number of untimed visits between two timed visits, once timed visits were short. The two
/// looks at the clock take half as long as the rest of a visit.
const UNTIMED_MAX: u32 = 7;
/// Number of answers that are there at the first look, until one is held back. A future that is
/// always ready would starve the other futures of its executor.
const READY_MAX: u32 = 16;

thread_values! {
    /// Answers that were there at the first look since the last one that was held back.
    static READY: Cell<u32> = Cell::new(0);
}

/// Returns true if an answer that is there at the first look must be held back until the next poll.
pub(crate) fn is_to_yield() -> bool {
    let ready = READY.get() + 1;
    let yields = ready >= READY_MAX;
    READY.set(if yields { 0 } else { ready });
    yields
}

/// Selects the visits of a seat that are timed. Used by the seat's owner only.
#[derive(Default)]
pub(crate) struct VisitTimes {
    /// Visits until the next timed visit.
    untimed: Cell<u32>,
    /// Number of untimed visits before the last timed visit.
    run: Cell<u32>,
    /// True during a visit that will be short, judging by earlier visits.
    is_short: Cell<bool>,
}

impl VisitTimes {
    /// Returns true if the visit that begins is timed.
    fn begins(&self) -> bool {
        let untimed = self.untimed.get();
        self.untimed.set(untimed.saturating_sub(1));
        untimed == 0
    }

    /// Returns true if a guest sits here for a short visit, judging by earlier visits. Then the
    /// guest handles waiting work sooner than a hand that would have to be woken for it.
    pub(super) fn is_short(&self) -> bool {
        self.is_short.get()
    }

    /// Records the duration of a timed visit. After a short visit twice as many visits go untimed,
    /// after a long visit none does.
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

/// Keeps a sponsor's shared state alive, for guests of one seat. Its counts are on a cache line
/// that no other thread writes.
pub(crate) type Hold = CachePadded<Arc<Shared>>;

/// A thread on a seat where nobody sat. Leaves the seat when it is dropped, even by a panic.
struct Guest {
    worker: NonNull<Worker>,
    remote: &'static Remote,
    /// Keeps the shared state alive. Once the seat is left, the seat and everything that is still
    /// used may be gone otherwise.
    shared: Arc<Hold>,
    /// Start of the visit, if the visit is timed.
    since: Option<Nanos>,
    /// False once the guest has left the seat.
    sits: bool,
    /// Marks that this thread works for the sponsor, so that foreign code called meanwhile does not
    /// wait for the sponsor's end.
    _serving: Serving,
}

/// The result of a thread's request to be a guest.
enum Welcome {
    /// The guest sits on the seat.
    Sits(Guest),
    /// Another thread sits there.
    Taken,
    /// No guests are wanted.
    Unwanted,
}

impl Guest {
    /// Sits at a home, if nobody sits there and guests are welcome.
    fn sit(home: Home) -> Welcome {
        // While the caller unwinds, destructors would take every turn for a failed one. A hand that
        // is lent to foreign code must not wait for work that only it can do.
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

    /// Sits on a seat that the caller owns. Hands the seat over if it is not for guests.
    fn at(remote: &'static Remote) -> Option<Self> {
        if !remote.has_guests() {
            // The number has moved to another sponsor since the first look, whose tasks may have to
            // stay on their thread.
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

    /// Runs the cells that are ready, until `is_answered`, and leaves. Runs nothing more: the
    /// caller may hold a lock that another task waits for.
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
            // New work has come meanwhile, and may give the answer. The seat counts as idle again.
            let came = match self.since {
                Some(_) => Came::Idle,
                None => Came::Untimed,
            };
            self.worker().sit_down(came);
        }
    }

    /// Leaves the seat, if no work is left there. Returns true if it has left.
    fn try_leave(&mut self) -> bool {
        self.take_time();
        self.sits = !self.shared.try_leave(self.worker);
        !self.sits
    }

    /// Records how long the guest has sat here.
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

/// Sends a message to a task, and runs the task on this thread until `is_answered`, if no other
/// thread does. The caller is in no turn, and waits anyway.
pub(crate) fn send_and_run<M: 'static>(
    to: &Address<M>,
    message: M,
    is_answered: impl Fn() -> bool,
) {
    let cell = to.cell();
    // A guest works for the sponsor, so the gate is checked first.
    let is_special = cell.is_door() || cell.is_bounded();
    let welcome = if is_special || current::resting().is_some() || is_refused(cell) {
        Welcome::Unwanted
    } else {
        Guest::sit(cell.home())
    };
    // A refused message is dropped when the seat is left, and its reply with it: that is foreign
    // code.
    match welcome {
        Welcome::Sits(sat) => {
            let mut _refused = Ok(());
            let guest = sat;
            let worker = guest.worker();
            if worker.closes.get() || !worker.is_at_home_and_calm(cell) {
                // Earlier messages are on their way, or the task has moved. Its carrier is on a
                // ready stack then, perhaps on this seat's.
                _refused = to.send(message);
            } else {
                let _entered = Entered::new(worker);
                worker.send_between_turns(cell, message);
            }
            guest.run(is_answered);
        }
        Welcome::Taken => {
            // The other sitter may have left by now. Then this thread gets the seat by the push.
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
    /// Ends the visit's settings: the guest runs nothing more here, or its turn leaves the seat to
    /// others.
    pub(super) fn ends_visit(&self) {
        self.visit_times.is_short.set(false);
        self.pace.set_one_by_one(false);
    }

    /// Runs at most `max` activations, until `is_done`. Returns how many are left.
    fn run_as_guest(&self, max: u32, is_done: impl Fn() -> bool) -> u32 {
        let _entered = Entered::new(self);
        let times = &self.visit_times;
        times.is_short.set(times.run.get() > 0);
        // Messages for a task behind the question may wait for a lock that the caller holds.
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
