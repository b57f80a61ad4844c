//! Guests: threads that do not belong to the sponsor (group of workers), but run one of its workers
//! to get the answer to a question.
//!
//! A thread that asks and waits for the answer has nothing else to do. If no thread runs the worker
//! of the asked task, the asker runs this worker itself until it has the answer. So no thread must
//! be woken (README.md, seats). The asker does this only while it would otherwise wait.
//!
//! If the asker holds a lock that the asked task takes, both wait for ever, with or without guests.
//! If another task of the worker takes the lock, only guests wait for ever: another thread would
//! block until the asker has its answer from a third task. `docs/turns.md` warns of this.

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

/// Maximum number of activations in one visit. A visit is a period in which a thread that waits for
/// an answer runs a worker.
const VISIT_MAX: u32 = 64;
/// Duration above which a visit counts as long. A visit is a period in which a thread that waits
/// for an answer runs a worker. After a long visit, the next questions to the worker use the
/// ordinary path, so that the asking threads are free for other work.
const VISIT_LONG: Nanos = 20_000;
/// Number of questions to a worker that use the ordinary path after a long visit. A visit is a
/// period in which a thread that waits for an answer runs the worker.
const VISITS_SPARED: u32 = 64;
/// Maximum number of visits in a row whose duration is not measured, while visits are short. A
/// visit is a period in which a thread that waits for an answer runs a worker. A question takes 190
/// ns with the two reads of the clock, and 113 ns without them.
const UNTIMED_MAX: u32 = 7;
/// Maximum number of repeated attempts to take a worker that another thread runs, after a first
/// attempt has failed. A thread that waits for an answer makes these attempts. Together, they take
/// longer than one short visit (a period in which a waiting thread runs a worker). Loom models do
/// not repeat the attempt, because that would only add equivalent states.
const TRIES: u32 = if cfg!(garrick_loom) { 0 } else { 16 };
/// One in `READY_MAX` answers that are ready at the first poll is held back until the next poll.
/// Otherwise, a future that is always ready would starve the other futures of its executor.
const READY_MAX: u32 = 16;

thread_values! {
    /// Number of answers that were ready at the first poll. Starts again at 0 whenever such an
    /// answer is held back until the next poll.
    static READY: Cell<u32> = Cell::new(0);

    /// True if this thread has just tried in vain to take a worker that another thread runs.
    static TRIED: Cell<bool> = Cell::new(false);
}

/// Returns true if an answer that is ready at the first poll must be held back until the next poll.
pub(crate) fn is_to_yield() -> bool {
    let ready = READY.get() + 1;
    let yields = ready >= READY_MAX;
    READY.set(if yields { 0 } else { ready });
    yields
}

/// Selects some of the events in a sequence. After each selected event, the owner of this value
/// decides how many events are skipped before the next selected one.
#[derive(Default)]
struct Skips {
    /// Number of events that are still skipped before the next event is selected.
    left: Cell<u32>,
    /// Total number of events that are skipped between the latest selected event and the next one.
    run: Cell<u32>,
}

impl Skips {
    /// Returns true if the event that happens now is selected.
    fn are_over(&self) -> bool {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        left == 0
    }

    /// Skips about twice as many events as before, but at most `max`.
    fn lengthen(&self, max: u32) {
        self.set((2 * self.run.get() + 1).min(max));
    }

    /// Skips the next `run` events.
    fn set(&self, run: u32) {
        self.run.set(run);
        self.left.set(run);
    }
}

/// Decides which visits to a worker are timed, and in which of them work is counted by kind of
/// task. A visit is a period in which a thread that waits for an answer runs the worker. Used only
/// by the thread that runs the worker.
#[derive(Default)]
pub(crate) struct VisitTimes {
    /// Low bits of the tick of the latest counted visit. A visit is a period in which a thread that
    /// waits for an answer runs the worker. The tick ([`departure::now`]) is a count that lookout
    /// threads increment.
    tick: Cell<u32>,
    /// Number of visits that will be skipped in the next tick before one is counted. A visit is a
    /// period in which a thread that waits for an answer runs the worker. A tick ends when the
    /// lookout thread checks the workers.
    skipped: Cell<u8>,
    /// True if another visit has followed the latest counted visit in the same tick. A visit is a
    /// period in which a thread that waits for an answer runs the worker. A tick ends when the
    /// lookout thread checks the workers.
    is_dense: Cell<bool>,
    /// Selects the visits whose duration is measured. A visit is a period in which a thread that
    /// waits for an answer runs the worker.
    untimed: Skips,
    /// True while a guest (a thread that waits for an answer) runs the worker and will probably
    /// leave soon, because earlier guests have left soon.
    is_short: Cell<bool>,
}

impl VisitTimes {
    /// Returns true if the work of the visit that now begins must be counted by kind of task. A
    /// visit is a period in which a thread that waits for an answer runs the worker. `random` is a
    /// random number.
    ///
    /// Counts one visit for each [tick](departure::now), and each visit after a long one. If there
    /// are several visits in a tick, counts a random one of the first eight. Otherwise, the rhythm
    /// of the visits could determine which of them are counted.
    fn counts(&self, random: u64) -> bool {
        let tick = departure::now() as u32;
        if self.are_short() {
            if tick != 0 && tick == self.tick.get() {
                self.is_dense.set(true);
                return false;
            }
            let skipped = self.skipped.get();
            if skipped > 0 {
                self.skipped.set(skipped - 1);
                return false;
            }
        }
        let is_dense = self.is_dense.replace(false);
        self.skipped
            .set(if is_dense { (random % 8) as u8 } else { 0 });
        self.tick.set(tick);
        true
    }

    /// Returns true if a guest (a thread that waits for an answer) runs this worker and will
    /// probably leave soon. In this case, it is not useful to wake another thread for waiting work:
    /// the guest handles this work sooner.
    pub(super) fn is_short(&self) -> bool {
        self.is_short.get()
    }

    /// Records `time`, the measured duration of a visit. A visit is a period in which a thread that
    /// waits for an answer runs the worker. After a short visit, about twice as many visits as
    /// before are skipped until the next visit is measured. After a long visit, the next visit is
    /// measured.
    fn took(&self, time: Nanos) {
        if time > VISIT_LONG {
            self.untimed.set(0);
        } else {
            self.untimed.lengthen(UNTIMED_MAX);
        }
    }

    /// Returns true if the latest measured visit was short. A visit is a period in which a thread
    /// that waits for an answer runs the worker.
    fn are_short(&self) -> bool {
        self.untimed.run.get() > 0
    }
}

/// A reference to the state that all workers share, for the guests of one worker. A guest is a
/// thread that runs the worker while it waits for an answer. The reference counts of this state are
/// in a cache line of their own, so that guests of different workers do not write to the same cache
/// line.
pub(crate) type Hold = CachePadded<Arc<Shared>>;

/// Guard of a thread that runs a worker as a guest, while it waits for an answer. Dropping the
/// guard leaves the worker, even in a panic.
struct Guest {
    worker: NonNull<Worker>,
    remote: &'static Remote,
    /// Reference to the state that all workers share, which keeps this state alive. Without the
    /// reference, the state could be freed after the guest has left the worker, while the guest
    /// still uses the state.
    shared: Arc<Hold>,
    /// Time at which the guest began to run the worker, if the duration of its visit is measured.
    since: Option<Nanos>,
    /// True if the worker counts as awake while the guest (the waiting thread) runs it.
    wakes: bool,
    /// True while the guest (the asking thread) runs the worker.
    sits: bool,
    /// Guard that marks this thread as belonging to a worker, so that foreign code that runs on
    /// this thread does not wait until the workers have stopped.
    _serving: Serving,
}

/// Result of an attempt to run a worker, made by a thread that waits for an answer.
enum Welcome {
    /// The thread that waits for the answer now runs the worker, as its guest.
    Sits(Guest),
    /// Another thread runs the worker.
    Taken,
    /// The worker does not allow guests now. A guest is a thread that runs a worker while it waits
    /// for an answer.
    Unwanted,
}

impl Guest {
    /// Lets the calling thread, which waits for an answer, run worker `home` as a guest, if no
    /// other thread runs this worker and the worker allows guests. If another thread runs it, and
    /// will probably not run the asked task soon, waits a moment for the worker. `blocks` must be
    /// true if the thread will block until the answer comes.
    #[inline]
    fn come(home: Home, blocks: bool) -> Welcome {
        let Some(remote) = Self::may_sit(home) else {
            return Welcome::Unwanted;
        };
        // A thread that blocks gains nothing if the answer is given on another thread.
        if !blocks && remote.regular.comes(|| remote.ready.has_guest()) {
            return Welcome::Taken;
        }
        match Self::sit(remote, Self::at) {
            // The guest of a future also runs what is pushed to the worker now.
            Welcome::Taken if !blocks && remote.ready.has_guest() => Welcome::Taken,
            Welcome::Taken => Self::sit_soon(remote),
            welcome => welcome,
        }
    }

    /// Returns worker `home` if the calling thread may run it as a guest (a thread that waits for
    /// an answer).
    #[inline]
    fn may_sit(home: Home) -> Option<&'static Remote> {
        // While the caller unwinds, destructors would take every turn for a failed one. A hand that
        // is running foreign code must not wait for work that only this hand can do.
        if home == Home::NOBODY || std::thread::panicking() || current::serves_any() {
            return None;
        }
        Some(Remote::of(home)).filter(|remote| remote.welcomes_guests())
    }

    /// Takes a worker if no thread runs it. Then calls `sit`, which makes the calling thread a
    /// guest: a thread that runs the worker while it waits for an answer.
    #[inline]
    fn sit(remote: &'static Remote, sit: impl FnOnce(&'static Remote) -> Option<Self>) -> Welcome {
        if !remote.ready.sit_as_guest() {
            return Welcome::Taken;
        }
        sit(remote).map_or(Welcome::Unwanted, Welcome::Sits)
    }

    /// Takes a worker that another thread runs, if the other thread leaves the worker within about
    /// the time of two short visits. A visit is a period in which a guest runs a worker. A guest is
    /// a thread that waits for an answer.
    ///
    /// Threads that ask the tasks of one worker at the same time are usually all guests. If the
    /// question were pushed to the task instead, the answer would take longer, and a thread of the
    /// sponsor would be woken. If a thread of the sponsor runs the worker, the pushes of questions
    /// would keep it busy for ever, so that no guest could run the worker any more.
    ///
    /// After a thread has waited in vain, it does not wait at the next worker that another thread
    /// runs. The reason is that threads of the sponsor may run these workers for a long time.
    #[cold]
    #[inline(never)]
    fn sit_soon(remote: &'static Remote) -> Welcome {
        if TRIED.replace(false) {
            return Welcome::Taken;
        }
        let try_again = |_| {
            std::hint::spin_loop();
            Some(Self::sit(remote, Self::at)).filter(|welcome| !matches!(welcome, Welcome::Taken))
        };
        let found = (0..TRIES).find_map(try_again);
        TRIED.set(found.is_none());
        found.unwrap_or(Welcome::Taken)
    }

    /// Lets the calling thread run a worker that it has taken. The thread waits for an answer, and
    /// is a guest of the worker. If the worker does not allow guests, hands the worker over to
    /// another thread instead.
    fn at(remote: &'static Remote) -> Option<Self> {
        let mut guest = Self::take(remote)?;
        remote.ready.note_guest(true);
        let worker = guest.worker();
        let is_timed = worker.visit_times.untimed.are_over();
        let wakes = if worker.lane.counts() {
            worker.counts_visit()
        } else {
            is_timed
        };
        if is_timed || wakes {
            let now = worker.sit_down(if wakes { Came::Idle } else { Came::Untimed });
            let since = now.unwrap_or_else(|| worker.now());
            (guest.since, guest.wakes) = (Some(since), wakes);
        } else {
            worker.sit_down(Came::Untimed);
        }
        Some(guest)
    }

    /// Lets the calling thread use a worker that it has taken, but does not announce that a thread
    /// runs the worker. The calling thread waits for an answer, and is a guest of the worker. If
    /// the worker does not allow guests, hands the worker over to another thread instead.
    #[inline]
    fn take(remote: &'static Remote) -> Option<Self> {
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
        Some(Self {
            worker,
            remote,
            since: None,
            wakes: false,
            sits: true,
            _serving: Serving::new(&shared),
            shared,
        })
    }

    fn worker(&self) -> &Worker {
        // SAFETY: the seat is ours until `sits` is false.
        unsafe { self.worker.as_ref() }
    }

    /// Runs the ready cells until `is_answered` returns true, no work is left, or `VISIT_MAX`
    /// activations were run. Then leaves the worker.
    ///
    /// If `blocks` is true, runs no more cells after the answer, because the caller may hold a lock
    /// for which another task waits. If `blocks` is false, a future is being polled, and the caller
    /// also runs the cells that have become ready in the meantime, if visits are short. Usually,
    /// other futures have asked these cells, and have found the worker taken. If the caller left
    /// these cells to a thread of the sponsor, that thread would have to be woken.
    fn run(mut self, blocks: bool, is_answered: impl Fn() -> bool) {
        let mut left = VISIT_MAX;
        loop {
            let worker = self.worker();
            if left == 0 || worker.is_closing() || worker.is_to_stop(self.shared.signal()) {
                return;
            }
            let helps = is_answered();
            left = worker.run_as_guest(left, || !helps && is_answered());
            let helps_others = !blocks && worker.visit_times.are_short();
            if is_answered() && !helps_others || self.try_leave() {
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

    /// Leaves the worker and returns true, if the worker has no more work. Otherwise returns false.
    fn try_leave(&mut self) -> bool {
        self.take_time();
        self.sits = !self.shared.try_leave(self.worker);
        !self.sits
    }

    /// Records the duration of the visit (the time for which this thread has run the worker) if the
    /// visit is timed. If the worker counts as asleep during the visit, also counts the tasks that
    /// have begun or ended, and a long activation that no thread has counted yet.
    fn take_time(&mut self) {
        if !self.wakes && self.worker().lane.counts() {
            self.worker().settle_vitals();
            if let Some(since) = self.worker().count_missed() {
                // The visit was long.
                self.since.get_or_insert(since);
            }
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
/// `blocks` must be true if the thread will block until the answer comes. `blocks` must be false if
/// the thread can do other work in the meantime.
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
        Guest::come(cell.home(), blocks)
    };
    // A refused message is dropped when the seat is left, and its reply with it: that is foreign
    // code.
    match welcome {
        Welcome::Sits(sat) => {
            let mut _refused = Ok(());
            let guest = sat;
            let worker = guest.worker();
            if worker.is_closing() || !worker.is_at_home_and_calm(cell) {
                // Earlier messages are on their way, or the task has moved. Its carrier is on a
                // ready stack then, perhaps on this seat's.
                _refused = to.send(message);
            } else {
                let _entered = Entered::new(worker);
                worker.send_between_turns(cell, message);
            }
            guest.run(blocks, is_answered);
        }
        Welcome::Taken => {
            // The other sitter may have left by now. Then this thread gets the seat by the push.
            let Ok(wake) = to.push_from_outside(message, false, Remote::has_guests) else {
                return;
            };
            match wake.seat() {
                Ok(remote) => {
                    if let Some(guest) = Guest::at(remote) {
                        guest.run(blocks, is_answered);
                    }
                }
                Err(wake) => wake.call(),
            }
        }
        Welcome::Unwanted => drop(to.send(message)),
    }
}

/// Counts the work of guests on worker `home`, as far as this work is not counted yet. A guest is a
/// thread that runs the worker while it waits for an answer. Does nothing if a thread runs the
/// worker. Calls no foreign code: due timers are left to the next thread.
pub(super) fn count_visits(home: Home) {
    let counts = |remote| {
        let mut guest = Guest::take(remote)?;
        guest.worker().arrive(Came::Idle);
        guest.wakes = true;
        Some(guest)
    };
    // Dropping the guest leaves the worker.
    drop(Guest::may_sit(home).map(|remote| Guest::sit(remote, counts)));
}

impl Worker {
    /// Returns true if the work of the visit that is about to begin must be counted by kind of
    /// task. A visit is a period in which a thread that waits for an answer runs this worker.
    fn counts_visit(&self) -> bool {
        // Fibonacci hashing: Knuth, The Art of Computer Programming, volume 3, 6.4.
        let random = self.turn().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        self.visit_times.counts(random) || self.lane.wants_census()
    }

    /// Resets the settings of a visit (the time in which a guest runs this worker). Called when the
    /// guest runs no more cells of this worker, or when its turn leaves the worker in order to
    /// block.
    pub(super) fn ends_visit(&self) {
        self.visit_times.is_short.set(false);
        self.pace.set_one_by_one(false);
    }

    /// Runs activations until `is_done` returns true, but at most `max` of them. Returns how many
    /// of the `max` activations are left.
    fn run_as_guest(&self, max: u32, is_done: impl Fn() -> bool) -> u32 {
        let _entered = Entered::new(self);
        let times = &self.visit_times;
        times.is_short.set(times.are_short());
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
