//! Guests: threads that are not hands, and sit on a seat for one question.
//!
//! A thread that asks and waits for the answer has nothing else to do. If no thread sits on the
//! seat of the asked task, the asker sits down there, runs the task, and leaves. So no thread must
//! be woken (README.md, seats). The asker does this only while it would otherwise wait. A lock that
//! the asker holds makes no difference: the asker would also hold this lock while it waits for
//! another thread to run the task.

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
use crate::runtime::departure;
use crate::runtime::worker::Worker;
use crate::world::Nanos;

/// Maximum number of activations that a guest runs.
const VISIT_MAX: u32 = 64;
/// Maximum duration of a short visit. A longer visit would keep the asker's thread from its other
/// work for too long.
const VISIT_LONG: Nanos = 20_000;
/// Number of questions that use the ordinary path after a long visit.
const VISITS_SPARED: usize = 64;
/// Maximum number of untimed visits between two timed visits, while visits are short. A question
/// takes 190 ns with the two reads of the clock, and 113 ns without them.
const UNTIMED_MAX: u32 = 7;
/// Number of times that a thread tries again to sit down on a seat on which another thread sits.
/// This takes a bit longer than a short visit. Models do not try again, because that would only add
/// equivalent states.
const TRIES: u32 = if cfg!(garrick_loom) { 0 } else { 32 };
/// Maximum number of taken seats for which a thread does not try again, after it has tried in vain.
const UNTRIED_MAX: u32 = 63;
/// Number of answers that are ready at the first poll before one of them is held back. A future
/// that is always ready would starve the other futures of its executor.
const READY_MAX: u32 = 16;

thread_values! {
    /// Number of answers that were ready at the first poll, since an answer was last held back.
    static READY: Cell<u32> = Cell::new(0);

    /// Number of taken seats until this thread tries again to get one.
    static UNTRIED: Cell<u32> = Cell::new(0);

    /// Number of taken seats for which this thread did not try again, before it tried last.
    static UNTRIED_BEFORE: Cell<u32> = Cell::new(0);
}

/// Returns true if an answer that is ready at the first poll must be held back until the next poll.
pub(crate) fn is_to_yield() -> bool {
    let ready = READY.get() + 1;
    let yields = ready >= READY_MAX;
    READY.set(if yields { 0 } else { ready });
    yields
}

/// Selects the visits of guests to a seat that are timed, and those whose work is counted by kind
/// of task. Only the owner of the seat uses it.
#[derive(Default)]
pub(crate) struct VisitTimes {
    /// Tick of the lookouts at the last counted visit.
    tick: Cell<u64>,
    /// Number of visits that are not counted after the tick has changed.
    skipped: Cell<u32>,
    /// True if a visit was not counted since the tick has changed.
    is_dense: Cell<bool>,
    /// Number of visits until the next timed visit.
    untimed: Cell<u32>,
    /// Number of untimed visits before the last timed visit.
    run: Cell<u32>,
    /// True during a visit that is expected to be short, according to earlier visits.
    is_short: Cell<bool>,
}

impl VisitTimes {
    /// Returns true if the visit that now begins must be timed.
    fn begins(&self) -> bool {
        let untimed = self.untimed.get();
        self.untimed.set(untimed.saturating_sub(1));
        untimed == 0
    }

    /// Returns true if the work of the visit that now begins must be counted by kind of task.
    /// `random` is a random number.
    ///
    /// One visit is counted after each tick of the lookouts, and each visit after a long one. If
    /// there are several visits in a tick, the counted one is chosen at random among the first
    /// eight. Otherwise, a rhythm of the visits could determine which of them are counted.
    fn counts(&self, random: u64) -> bool {
        let tick = departure::now();
        let is_first = tick == 0 || tick != self.tick.get();
        if !is_first && self.run.get() > 0 {
            self.is_dense.set(true);
            return false;
        }
        let skipped = self.skipped.get();
        if skipped > 0 && self.run.get() > 0 {
            self.skipped.set(skipped - 1);
            return false;
        }
        let is_dense = self.is_dense.replace(false);
        self.skipped
            .set(if is_dense { (random % 8) as u32 } else { 0 });
        self.tick.set(tick);
        true
    }

    /// Returns true if a guest sits here and its visit is expected to be short. The guest then
    /// handles waiting work earlier than a hand that must first be woken.
    pub(super) fn is_short(&self) -> bool {
        self.is_short.get()
    }

    /// Records the duration of a timed visit. After a short visit, about twice as many visits as
    /// before remain untimed. After a long visit, the next visit is timed.
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

/// Keeps the shared state of a sponsor alive for the guests of one seat. Its reference counts are
/// in a cache line that no other thread writes.
pub(crate) type Hold = CachePadded<Arc<Shared>>;

/// Guard of a thread that sits on a seat as a guest. Dropping it leaves the seat, even in a panic.
struct Guest {
    worker: NonNull<Worker>,
    remote: &'static Remote,
    /// Keeps the shared state alive. Otherwise the state could be freed after the seat was left,
    /// while the guest still uses it.
    shared: Arc<Hold>,
    /// Start time of the visit, if the visit is timed.
    since: Option<Nanos>,
    /// True if the worker counts as awake during the visit.
    wakes: bool,
    /// False once the guest has left the seat.
    sits: bool,
    /// Marks that this thread works for the sponsor, so that foreign code called during the visit
    /// does not wait until the sponsor has stopped.
    _serving: Serving,
}

/// Result of a thread's request to be a guest.
enum Welcome {
    /// The guest sits on the seat.
    Sits(Guest),
    /// Another thread sits on the seat.
    Taken,
    /// Guests are not allowed now.
    Unwanted,
}

impl Guest {
    /// Sits down on the seat of a home, if no thread sits there and guests are allowed.
    fn sit(home: Home) -> Welcome {
        // While the caller unwinds, destructors would take every turn for a failed one. A hand that
        // is running foreign code must not wait for work that only this hand can do.
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

    /// Sits down on the seat of a home on which another thread sits, if that thread leaves within
    /// about the time of a short visit.
    ///
    /// Threads that ask the same worker at the same time are mostly guests. To push the question
    /// and to wait for the answer would take longer, and would wake a hand. After a thread has
    /// waited in vain, it does not wait for the next seats: their sitters may be busy hands.
    fn sit_soon(home: Home) -> Welcome {
        let untried = UNTRIED.get();
        if untried > 0 {
            UNTRIED.set(untried - 1);
            return Welcome::Taken;
        }
        let try_again = |_| {
            std::hint::spin_loop();
            Some(Self::sit(home)).filter(|welcome| !matches!(welcome, Welcome::Taken))
        };
        let found = (0..TRIES).find_map(try_again);
        let run = match found {
            Some(_) => 0,
            None => (2 * UNTRIED_BEFORE.get() + 1).min(UNTRIED_MAX),
        };
        UNTRIED_BEFORE.set(run);
        UNTRIED.set(run);
        found.unwrap_or(Welcome::Taken)
    }

    /// Sits down on a seat that the caller owns. Hands the seat over instead if it does not allow
    /// guests.
    fn at(remote: &'static Remote) -> Option<Self> {
        if !remote.has_guests() {
            // The number has moved to another sponsor since the first check. The tasks of that
            // sponsor may have to stay on their thread.
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
            wakes: false,
            sits: true,
            _serving: Serving::new(&shared),
            shared,
        };
        let worker = guest.worker();
        let is_timed = worker.visit_times.begins();
        let wakes = if worker.lane.counts() {
            worker.counts_visit()
        } else {
            is_timed
        };
        let now = worker.sit_down(if wakes { Came::Idle } else { Came::Untimed });
        let since = (is_timed || wakes).then(|| now.unwrap_or_else(|| worker.now()));
        (guest.since, guest.wakes) = (since, wakes);
        Some(guest)
    }

    fn worker(&self) -> &Worker {
        // SAFETY: the seat is ours until `sits` is false.
        unsafe { self.worker.as_ref() }
    }

    /// Runs the ready cells until `is_answered` returns true, and leaves. After `is_answered` has
    /// returned true, runs no more cells, because the caller may hold a lock for which another task
    /// waits.
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
            let came = if self.wakes {
                Came::Idle
            } else {
                Came::Untimed
            };
            self.worker().sit_down(came);
        }
    }

    /// Leaves the seat and returns true if it has no more work.
    fn try_leave(&mut self) -> bool {
        self.take_time();
        self.sits = !self.shared.try_leave(self.worker);
        !self.sits
    }

    /// Records the duration of the visit, and work that was not counted.
    fn take_time(&mut self) {
        if self.worker().lane.is_parked()
            && let Some(since) = self.worker().count_missed()
        {
            // The visit was long.
            self.since.get_or_insert(since);
        }
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

/// Sends a message to a task. If no other thread runs the task, runs it on this thread until
/// `is_answered` returns true. The caller must not be in a turn, and must be about to wait.
/// `blocks` is true if the thread then blocks, and false if it can do other work meanwhile.
pub(crate) fn send_and_run<M: 'static>(
    to: &Address<M>,
    message: M,
    blocks: bool,
    is_answered: impl Fn() -> bool,
) {
    let cell = to.cell();
    // A guest works for the sponsor, so the gate is checked first.
    let is_special = cell.is_door() || cell.is_bounded();
    let welcome = if is_special || current::resting().is_some() || is_refused(cell) {
        Welcome::Unwanted
    } else {
        match Guest::sit(cell.home()) {
            Welcome::Taken if blocks => Guest::sit_soon(cell.home()),
            welcome => welcome,
        }
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

/// Counts the work of the guests who have visited a seat, if it was not counted yet and no thread
/// sits there.
pub(super) fn count_visits(home: Home) {
    if let Welcome::Sits(guest) = Guest::sit(home) {
        guest.worker().wakes(|| guest.worker().now());
    }
}

impl Worker {
    /// Returns true if the work of the visit that now begins must be counted by kind of task.
    fn counts_visit(&self) -> bool {
        // Fibonacci hashing: Knuth, The Art of Computer Programming, volume 3, 6.4.
        let random = self.turn().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        self.visit_times.counts(random) || self.lane.wants_census()
    }

    /// Resets the settings of a visit, because the guest runs no more cells here or because its
    /// turn leaves the seat.
    pub(super) fn ends_visit(&self) {
        self.visit_times.is_short.set(false);
        self.pace.set_one_by_one(false);
    }

    /// Runs at most `max` activations, until `is_done` returns true. Returns the number of
    /// activations that were not used.
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
