//! Looks: the checks for workers that are stuck in a long turn. An idle thread, the watching
//! thread, makes these checks (README.md, rescue).

use std::cell::{Cell, RefCell};
use std::time::Duration;

use garrick_core::prim::atomic::{
    Ordering::{AcqRel, Relaxed, SeqCst},
    fence,
};

use super::Shared;
use super::crew::{Crew, Hand, NEVER};
use super::plan::Plan;
use crate::cell::Ready;
use crate::remote::Serve;
use crate::world::Nanos;

/// Time between two checks for stuck workers, in tests in which workers lend their cells at the
/// first check.
const AT_ONCE: Duration = Duration::from_micros(20);
/// Time after which the watching thread checks again for an idle worker, if timers of a stuck
/// worker are due but no worker was idle.
const RETRY_AFTER: Nanos = 1_000_000;

/// State of a thread that checks for workers that are stuck in a long turn.
#[derive(Default)]
pub(super) struct Looks {
    /// Time of the next check, or `None` if no check is planned.
    next: Cell<Option<Nanos>>,
    /// Plan by which the time `next` was computed.
    plan: Cell<Plan>,
    /// Activation in which each worker was at the last check. `None` if the worker was in no
    /// activation.
    seen: RefCell<Vec<Option<Seen>>>,
}

/// An activation that a check has found.
#[derive(Clone, Copy)]
struct Seen {
    /// Number of activations that the worker has begun, including this one.
    picks: u32,
    /// Time of the first check that has found the activation.
    since: Nanos,
}

impl Looks {
    /// Cancels the planned check.
    fn end(&self) {
        self.next.set(None);
        self.plan.set(Plan::Nothing);
        self.seen.borrow_mut().clear();
    }
}

impl Crew {
    /// Requests that the watching thread (an idle thread) check for workers that are stuck in a
    /// long turn. The caller must wake the watching thread.
    pub(super) fn allow_looks(&self) {
        if !self.lends() {
            // The caller has meant an earlier worker with the same number.
            return;
        }
        // In this order: the hand that ends its looks meanwhile sets the marks again, and then sees
        // the plan.
        self.set_unwatched(false);
        self.plan.set(Plan::soon());
    }

    fn set_unwatched(&self, is_unwatched: bool) {
        for seat in 0..self.seats.len() {
            self.remote(seat).set_unwatched(self, is_unwatched);
        }
    }

    /// Returns the plan of checks for stuck workers that is needed now. Checks are needed if a
    /// running worker probably has ready cells or timers. Ignores worker `except`.
    pub(super) fn plan_needed(&self, except: Option<usize>) -> Plan {
        let mut needed = Plan::Nothing;
        if !self.lends() {
            return needed;
        }
        for (number, seat) in self.seats.iter().enumerate() {
            if Some(number) == except || !self.remote(number).ready.is_sat_on() {
                continue;
            }
            let look = seat.look();
            if self.ready(number, &look) > 0 {
                return Plan::soon();
            }
            if self.has_timers(number, &look) {
                needed = Plan::for_timers();
            }
        }
        needed
    }

    /// Returns true if no thread checks for stuck workers although a running worker has ready cells
    /// or timers. Called by a thread that has just become idle. The result can be true because no
    /// thread is woken for ready cells or timers while all threads are busy.
    pub(super) fn misses_looks(&self, shared: &Shared) -> bool {
        let was_none_idle = || shared.signal().idle() <= 1;
        self.lends()
            && self.plan.get() == Plan::Nothing
            && was_none_idle()
            && self.plan_needed(None) != Plan::Nothing
    }

    /// Returns true if a running worker has timers that no thread watches, because no thread was
    /// idle. Later calls return false, so the caller must let a thread watch the timers. A caller
    /// that has marked its worker as PARKED (no thread runs it) must pass a SeqCst fence between
    /// the marking and this call.
    pub(super) fn takes_missed(&self) -> bool {
        // AcqRel: pairs with the swap in `watch_timers`, so that this thread sees the timers.
        self.misses_timers.load(Relaxed) && self.misses_timers.swap(false, AcqRel)
    }

    /// Ensures that a thread wakes for the timers of a running worker. `deadline` is the deadline
    /// of the next timer. Called by the thread that runs the worker, before foreign code that may
    /// run past this deadline.
    #[cold]
    pub(crate) fn watch_timers(&self, shared: &Shared, deadline: Nanos) {
        let Some(by) = self.lend_by else {
            return;
        };
        // Pairs with the heavy side in `looks_no_more`: either this thread sees that no look is
        // planned, or the watch sees that there are timers.
        by.fence.light();
        if self.plan.get() != Plan::Nothing {
            return;
        }
        // SeqCst: pairs with the fences in `keep_watch` and `pass_watch`: either this thread sees
        // when the watch wakes, or the watch sees that there are timers.
        fence(SeqCst);
        if self.until.load(Relaxed) <= deadline {
            return;
        }
        if shared.signal().idle() == 0 {
            // If the mark is set already, the thread that takes it sees the timers: this thread has
            // passed a SeqCst fence since it has set them, and the hand that then watches passes
            // one before it looks for them.
            if !self.misses_timers.load(Relaxed) {
                // AcqRel: publishes the timers to the thread that takes the mark.
                self.misses_timers.swap(true, AcqRel);
            }
            // SeqCst: pairs with the fence of a thread that leaves a seat: either that thread sees
            // the mark, or this thread sees that a worker is idle.
            fence(SeqCst);
            if shared.signal().idle() == 0 {
                return;
            }
        }
        if self.plan.replace(Plan::Nothing, Plan::for_timers()) {
            self.wake_watch();
        }
    }

    /// Wakes an idle thread, which then checks for stuck workers. Does nothing if another thread
    /// already makes these checks. Called by a worker that has a ready cell in addition to the cell
    /// that it runs next.
    #[inline]
    pub(crate) fn has_ready(&self) {
        if self.lends() && self.plan.get().is_too_late_for_cells() {
            self.call_watch();
        }
    }

    /// Ensures that a thread checks for stuck workers, if the calling worker has ready cells
    /// (`has_ready` returns true). Called after the worker has ended its turn, and before it runs
    /// foreign code that may take a long time.
    #[inline]
    pub(crate) fn watch_ready(&self, shared: &Shared, has_ready: impl FnOnce() -> bool) {
        let Some(by) = self.lend_by else {
            return;
        };
        // Pairs with the heavy side in `looks_no_more`: either this thread sees that nobody looks,
        // or the watch sees that there are ready cells.
        by.fence.light();
        // The plan is tested first, because it usually decides, and needs fewer loads.
        if self.plan.get().is_too_late_for_cells() && has_ready() {
            self.call_watch_if_idle(shared);
        }
    }

    #[cold]
    fn call_watch_if_idle(&self, shared: &Shared) {
        // SeqCst: pairs with the fence of a hand that has become idle, which then calls
        // `misses_looks`. Either that hand sees the ready cells, or this thread sees that a worker
        // is idle.
        fence(SeqCst);
        if shared.signal().idle() > 0 {
            self.call_watch();
        }
    }

    /// Returns the number of activations that a worker has begun. Returns `None` if no thread runs
    /// the worker, or if the worker is not in an activation.
    fn picks(&self, number: usize) -> Option<u32> {
        if !self.remote(number).ready.is_sat_on() {
            return None;
        }
        let look = self.seats[number].look();
        let shown = self.shown(number, &look)?;
        (!shown.look().is_null()).then(|| shown.picks())
    }
}

impl Hand {
    /// Plans checks for stuck workers, if no checks are planned. Wakes the watching thread if it is
    /// not the calling thread.
    fn plan(&self, plan: Plan) {
        let crew = &self.crew;
        if plan != Plan::Nothing
            && crew.plan.replace(Plan::Nothing, plan)
            && !crew.is_watch(self.number)
        {
            crew.wake_watch();
        }
    }

    /// Plans checks for stuck workers if running workers have ready cells or timers. Called by the
    /// watching thread, which makes these checks.
    pub(super) fn plan_if_needed(&self) {
        if self.crew.lends() && self.crew.plan.get() == Plan::Nothing {
            self.plan(self.crew.plan_needed(None));
        }
    }

    /// Returns true if it is time to check for stuck workers, and there is no watching thread that
    /// could make this check.
    pub(super) fn is_to_watch(&self) -> bool {
        self.crew.plan.get() != Plan::Nothing
            && !self.crew.has_watch()
            && self.time_to_look().is_some_and(|left| left.is_zero())
    }

    /// Returns how long the calling thread may sleep before it checks for stuck workers. Returns
    /// `None` if no check is planned. Called by the watching thread, which makes these checks.
    pub(super) fn time_to_look(&self) -> Option<Duration> {
        let plan = self.crew.plan.get();
        if plan == Plan::Nothing {
            self.looks.end();
            return None;
        }
        if self.crew.lends_at_once() {
            return Some(AT_ONCE);
        }
        if !plan.continues(self.looks.plan.replace(plan)) {
            self.looks.next.set(None);
        }
        let now = self.shared.now();
        let after = || now.saturating_add(plan.interval(self.crew.plan.is_quick(now)));
        let next = self.looks.next.get().unwrap_or_else(after);
        self.looks.next.set(Some(next));
        Some(Duration::from_nanos(next.saturating_sub(now)))
    }

    /// Returns how long the calling thread may sleep before a timer of a worker that lends its
    /// cells is due. Returns `None` if there is no such timer. Called by the watching thread, which
    /// wakes for these timers.
    pub(super) fn time_to_fire(&self, now: Nanos) -> Option<Duration> {
        let due = self.crew.next_due_of_lent();
        if due == NEVER {
            return None;
        }
        // There was no free seat from which a due timer could be fired. The sitters fire it between
        // two turns.
        let due = if due <= now {
            now.saturating_add(RETRY_AFTER)
        } else {
            due
        };
        Some(Duration::from_nanos(due - now))
    }

    /// Checks for workers that are stuck in a long turn, and lends their cells, if it is time for a
    /// check. Returns the index of a worker that this thread must now run, if there is one. The
    /// thread then delivers due timers of a stuck worker, or runs lent cells.
    pub(super) fn look_for_stuck_seats(&self) -> Option<usize> {
        if self.crew.lends_timers()
            && self.crew.next_due_of_lent() <= self.shared.now()
            && let Some(seat) = self.take_parked()
        {
            return Some(seat);
        }
        let left = self.time_to_look()?;
        if !left.is_zero() && !self.crew.lends_at_once() {
            return None;
        }
        let crew = &*self.crew;
        let plan = crew.plan.get();
        self.looks.next.set(None);
        let mut has_lent = false;
        let now = self.shared.now();
        for seat in 0..crew.seats.len() {
            // The activation is the same as at the last look.
            if self.sees_again(seat, now) {
                has_lent |= crew.lend(seat, &self.shared);
            }
        }
        let next = plan.after_look();
        if crew.plan.replace(plan, next) && next == Plan::Nothing {
            self.looks_no_more(plan);
        }
        // Cells that were lent before may still wait: the thread that was woken for them may have
        // begun another long turn.
        if has_lent || crew.has_to_visit() {
            self.take_parked()
        } else {
            None
        }
    }

    /// Looks at the activation of a worker. Returns true if the worker was in the same activation
    /// at the last check, or if it is in an activation and workers lend their cells at the first
    /// check.
    fn sees_again(&self, seat: usize, now: Nanos) -> bool {
        let crew = &*self.crew;
        let mut all_seen = self.looks.seen.borrow_mut();
        all_seen.resize(crew.seats.len(), None);
        let before = all_seen[seat].take();
        let Some(picks) = crew.picks(seat) else {
            return false;
        };
        let before = before.filter(|seen| seen.picks == picks);
        let since = before.map_or(now, |seen| seen.since);
        all_seen[seat] = Some(Seen { picks, since });
        crew.plan.note_activation(now.saturating_sub(since), now);
        before.is_some() || crew.lends_at_once()
    }

    /// Ends the checks of a plan. After that, a push to a running worker wakes the thread that
    /// makes the checks.
    fn looks_no_more(&self, plan: Plan) {
        let crew = &*self.crew;
        crew.set_unwatched(true);
        // Dekker: either a thread that has pushed or has set a timer sees that nobody looks, or
        // this hand sees the push or the timer.
        if let Some(by) = crew.lend_by {
            by.fence.heavy();
        }
        let waits = |seat: usize| {
            let ready = &crew.remote(seat).ready;
            ready.has_some() && !ready.is_lent()
        };
        if (0..crew.seats.len()).any(waits) {
            crew.set_unwatched(false);
            self.plan(Plan::once());
        } else {
            // A worker with ready cells or timers may begin a long turn without a push.
            self.plan(plan.slower(crew.plan_needed(None)));
        }
    }

    /// Takes a worker that no thread runs, and removes this thread from the list of idle threads.
    /// Returns `None` if there is no such worker.
    fn take_parked(&self) -> Option<usize> {
        let crew = &self.crew;
        // SeqCst: pairs with the fence of a thread that leaves a seat. Either that thread sees the
        // lent cells, or this thread sees that nobody sits there.
        fence(SeqCst);
        let seat = (0..crew.seats.len()).find(|&seat| crew.retake(seat, Ready::sit))?;
        self.leave_line(seat)
    }
}
