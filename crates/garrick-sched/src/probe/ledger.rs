//! The account of a worker: the work of each kind of task, estimated from timed activations.
//!
//! The worker times some of its activations, which are chosen at random. The worker counts nothing
//! in the other activations. The activations from one timed activation to the next are a *gap*. The
//! worker knows three totals of each gap exactly: its time, and its numbers of turns and
//! activations. These totals are divided among the kinds:
//!
//! ```text
//!   . . . . . T . . . T . . . . . . . . T . .    T is timed, and represents a number of
//!   |-- page: totals, and what is timed  --|     activations, which is the mean length of a gap
//! ```
//!
//! - Each kind gets the time and the turns that its timed activations represent (Horvitz and
//!   Thompson, 1952), but all kinds together get no more than the totals. If work is left over, it
//!   is kept in a pool for activations that are timed later. If work is missing, it is owed to the
//!   kinds. A full pool is divided in the ratio of what was timed in about the last second.
//! - The number of activations is divided in the ratio of what was timed (ratio estimation:
//!   Cochran, Sampling Techniques, 1977).
//! - A gap that takes much longer than usual has a *long* activation. If the long activation was
//!   the timed one, it represents only itself. Otherwise, the excess time is counted for the
//!   activations that another thread has seen in the gap ([`sights`](super::sights)). If no thread
//!   has seen any, the excess is divided in the ratio of the known long activations.
//!
//! *Budget.* The worker spends at most a small share of its time on timing: the time awake divided
//! by [`AWAKE_SHARE`], and an even smaller share of the time asleep. A worker with a large budget
//! times all activations until the budget is used up. So rare work, and the work after a long
//! activation, is counted exactly.

use std::cell::{Cell, RefCell};

use super::work::{Entries, Work, add_to, divided, fade, share, sum_of};
use crate::world::Nanos;

/// Approximate cost of timing one activation, in nanoseconds.
const COST: Nanos = 300;
/// Divisor that limits the cost of timing. The time that the worker may spend on timing (its
/// budget) grows by the time awake divided by `AWAKE_SHARE`, and by the time asleep divided by
/// `ASLEEP_SHARE`.
const AWAKE_SHARE: Nanos = 128;
const ASLEEP_SHARE: Nanos = 2_048;
/// Maximum budget: the time that the worker may spend on timing. This budget is enough to time 256
/// activations one after another.
const BUDGET_MAX: Nanos = 256 * COST;
/// Budget (time that the worker may spend on timing) at which the worker begins to time all
/// activations. The worker continues to do so until the budget is used up.
const BUDGET_ALL: Nanos = 16 * COST;
/// Upper limit of the mean number of activations from one timed activation to the next.
pub(super) const GAP_MAX: u64 = 4_096;
/// Threshold for the excess time of a gap: the time by which the gap exceeds its usual duration. A
/// gap with at least this excess time contains a long activation. A gap consists of the activations
/// from one timed activation to the next.
const LONG: Nanos = 60_000;
/// Threshold for the excess time of a gap: the time by which the gap exceeds its usual duration. In
/// a gap with at least this excess time, the activations that another thread has seen running count
/// as long. If the excess time is shorter, the other thread may have seen quick activations. A gap
/// consists of the activations from one timed activation to the next.
const SEEN: Nanos = 1_000_000;
/// Upper limit of the time that is not counted for any kind of task yet (the pool). If a timed
/// activation represents more time than the pool contains, the missing time is owed to the kind of
/// task. The total time that is owed to all kinds has the same limit.
const POOL_MAX: Nanos = 20_000_000;
/// Age at which timed work has half the weight of new work. The weights are used to divide work
/// that could not be assigned to a kind of task.
const RECENT: Nanos = 500_000_000;
/// Duration of a page: a period of time for which totals of work are collected. At the end of the
/// page, the totals are divided among the kinds of tasks. A page ends earlier if `PAGE_TIMED`
/// activations were timed.
const PAGE: Nanos = 2_000_000;
const PAGE_TIMED: u32 = 64;
/// Limit of the total time of the recorded long activations. When the total reaches this limit,
/// each recorded time is halved, so that older activations count less.
const FADES: Nanos = 1_000_000_000;
/// Upper limit of the number of activations in a gap (from one timed activation to the next), as a
/// multiple of the mean number.
pub(super) const LONGEST: u64 = 3;

/// A moment between two activations of the worker, and the worker's counts at this moment.
#[derive(Clone, Copy, Default)]
pub(super) struct Point {
    pub(super) now: Nanos,
    /// Number of turns of the worker so far.
    pub(super) turns: u64,
    /// Number of activations of the worker so far, modulo 2^32.
    pub(super) picks: u32,
}

/// A timed activation that has ended.
#[derive(Clone, Copy)]
pub(super) struct Timed {
    /// Index of the task's kind.
    pub(super) place: usize,
    /// Duration of the activation, including the duration of one reading of the clock.
    pub(super) lasted: Nanos,
    pub(super) turns: u64,
}

/// The work for which a timed activation stands: its own, and that of earlier untimed activations.
pub(super) struct Represents {
    pub(super) time: Nanos,
    /// True if the activation was long. A long activation represents only itself.
    pub(super) is_long: bool,
}

/// An untimed activation that another thread has seen running.
#[derive(Clone, Copy)]
pub(super) struct Sighted {
    pub(super) place: usize,
    /// Number of times that another thread has seen the activation running.
    pub(super) glances: u64,
    /// Number of turns of the activation, from the first to the last turn that another thread has
    /// seen. The activation may have more turns.
    pub(super) turns: u64,
}

/// Work that is counted for a kind of task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Posted {
    pub(super) place: usize,
    pub(super) work: Work,
    pub(super) source: Source,
}

/// Reason why work is counted for a kind of task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    /// The work was counted because activations of the kind were timed.
    Timed,
    /// Untimed activations took longer than usual. The extra time is counted for this kind of task,
    /// to which the long activation probably belonged.
    Excess,
    /// The work was done in an untimed long activation that another thread has seen running.
    /// Contains the index of this activation in the list of the seen activations.
    Seen(usize),
}

impl Posted {
    fn of(place: usize, work: Work) -> Self {
        Self {
            place,
            work,
            source: Source::Timed,
        }
    }
}

/// A period of time, with its totals of work. At the end of the period, the totals are divided
/// among the kinds of tasks.
#[derive(Default)]
struct Page {
    /// Time at which the first timed activation in `entries` ended.
    began: Nanos,
    total: Work,
    /// Work of the timed activations, by kind of task. The work of each activation is multiplied by
    /// the number of activations that it represents.
    entries: Entries,
    timed: u32,
    /// True if the totals of this page (a period of time) were divided among the kinds of tasks.
    /// The entries are kept, so that later work can be divided in the same ratio until the next
    /// activation is timed.
    is_done: bool,
}

/// An account that estimates how much work one worker has done for each kind of task. Only this
/// worker uses the account.
pub(super) struct Ledger {
    /// Duration of one reading of the clock.
    overhead: Nanos,
    random: Cell<u64>,
    budget: Cell<i64>,
    /// Mean number of activations from one timed activation to the next. The next timed activation
    /// represents this number of activations.
    gap: Cell<u64>,
    /// Sequence number of the activation that is timed next.
    due: Cell<u32>,
    /// Beginning of the open gap (the activations since the latest timed one): usually the end of
    /// the latest timed activation. While the worker sleeps, the moment at which the worker fell
    /// asleep.
    since: Cell<Point>,
    sleeps: Cell<bool>,
    /// True if the worker had no work for some time in the open gap (since the latest timed
    /// activation).
    idled: Cell<bool>,
    /// Mean duration of an activation. Does not include long activations.
    mean: Cell<f64>,
    page: RefCell<Page>,
    /// Time and turns that are not assigned to a kind of task yet.
    pool: Cell<Work>,
    /// Work that must still be added to the counters of the kinds of tasks.
    owed: RefCell<Entries>,
    /// Work that the recently timed activations of each kind of task represent. Work that could not
    /// be assigned to a kind of task is divided in the ratio of these amounts.
    recent: RefCell<Entries>,
    /// Total duration of the pages (periods of time) that were added to `recent` since the most
    /// recent halving of its entries.
    faded: Cell<Nanos>,
    /// Times that were counted for long activations, by kind of task. The first list is for times
    /// shorter than [`SEEN`], the second list for the others.
    long: RefCell<[Entries; 2]>,
}

impl Ledger {
    /// Creates an account that begins at `now`. `overhead` is the duration of one reading of the
    /// clock.
    pub(super) fn new(seed: u64, overhead: Nanos, now: Nanos) -> Self {
        let start = Point {
            now,
            ..Point::default()
        };
        Self {
            overhead,
            random: Cell::new(seed | 1),
            budget: Cell::new(BUDGET_MAX as i64),
            gap: Cell::new(1),
            due: Cell::new(1),
            since: Cell::new(start),
            sleeps: Cell::new(false),
            idled: Cell::new(false),
            mean: Cell::new(0.0),
            page: RefCell::default(),
            pool: Cell::new(Work::default()),
            owed: RefCell::default(),
            recent: RefCell::default(),
            faded: Cell::new(0),
            long: RefCell::default(),
        }
    }

    /// Returns the beginning of the open gap (the activations since the latest timed one).
    pub(super) fn since(&self) -> Point {
        self.since.get()
    }

    /// Returns the number of activations that the next timed activation represents.
    pub(super) fn gap(&self) -> u64 {
        self.gap.get()
    }

    /// Returns the sequence number of the activation that is timed next.
    pub(super) fn due(&self) -> u32 {
        self.due.get()
    }

    /// Selects the activation with the number `picks + 1` for timing, instead of the previously
    /// selected activation, which did not take place.
    pub(super) fn postpone(&self, picks: u32) {
        self.due.set(picks.wrapping_add(1));
    }

    /// Subtracts one from the number of activations in the gap (the activations since the latest
    /// timed one). Called if the activation that was counted last did not take place.
    pub(super) fn skip(&self) {
        let since = self.since.get();
        self.since.set(Point {
            picks: since.picks.wrapping_add(1),
            ..since
        });
    }

    /// Records that the worker has found no work. The worker may search for some time, and then
    /// sleep.
    pub(super) fn idles(&self) {
        self.idled.set(true);
    }

    /// Records that the worker goes to sleep or pauses, and divides the collected work among the
    /// kinds of tasks. `sighted` returns the activations that another thread has seen running since
    /// the latest timed activation.
    pub(super) fn rests(
        &self,
        at: Point,
        sighted: impl FnOnce() -> Vec<Sighted>,
        mut post: impl FnMut(Posted),
    ) {
        if self.sleeps.replace(true) {
            return;
        }
        self.idled.set(true);
        let open = self.close(at);
        self.add_untimed(open, LONG, sighted, &mut post);
        self.settle(&mut post);
    }

    /// Records that the worker wakes. `picks` is the number of activations so far. While the worker
    /// slept, other threads that waited for answers may have run some of its tasks. The worker
    /// counts as awake for the usual duration of these activations. Returns this duration, which is
    /// at most the time of the sleep.
    ///
    /// These activations belong to the gap that begins now. A gap consists of the activations from
    /// one timed activation to the next.
    pub(super) fn wakes(&self, now: Nanos, picks: u32) -> Nanos {
        if !self.sleeps.replace(false) {
            return 0;
        }
        let since = self.since.get();
        let missed = Work {
            activations: u64::from(picks.wrapping_sub(since.picks)),
            ..Work::default()
        };
        let slept = now.saturating_sub(since.now);
        let awake = self.expected(missed).min(slept);
        self.earn((slept - awake) / ASLEEP_SHARE);
        self.since.set(Point {
            now: now - awake,
            ..since
        });
        // The mean would not be learned otherwise.
        self.idled.set(missed.activations > 0);
        self.plan(picks);
        awake
    }

    /// Returns true if the worker sleeps.
    pub(super) fn sleeps(&self) -> bool {
        self.sleeps.get()
    }

    /// Counts a timed activation that ended at `at`. If an untimed activation since the previous
    /// timed one was long, calls `sighted`. The function `sighted` returns the activations that
    /// another thread has seen running since the previous timed one.
    pub(super) fn timed(
        &self,
        timed: Timed,
        at: Point,
        sighted: impl FnOnce() -> Vec<Sighted>,
        mut post: impl FnMut(Posted),
    ) -> Represents {
        let time = timed.lasted.saturating_sub(self.overhead);
        let one = Work {
            time,
            turns: timed.turns,
            activations: 1,
        };
        let gap = self.gap.get();
        let mut open = self.close(at);
        self.budget.set(self.budget.get() - COST as i64);
        if open.activations <= 1 {
            // So the time is known, without that in which the worker had no work.
            open.time = time;
            self.idled.set(false);
        }
        let excess = self.excess_of(open);
        let is_long = excess >= LONG && time >= excess / 2;
        let represents = if is_long {
            self.note_long(timed.place, time);
            post(Posted::of(timed.place, one));
            // What is left of the excess is that of other long ones, however short it is.
            self.add_untimed(open.less(one), 1, sighted, &mut post);
            time
        } else {
            let work = one.times(gap);
            self.add_timed(timed.place, work, at.now);
            if open.activations <= 1 || self.idled.get() {
                self.learn(time as f64);
            }
            self.add_untimed(open, LONG, sighted, &mut post);
            work.time.min(open.time)
        };
        let represents = Represents {
            time: represents,
            is_long,
        };
        self.idled.set(false);
        let is_full = {
            let page = self.page.borrow();
            page.timed >= PAGE_TIMED || at.now.saturating_sub(page.began) >= PAGE
        };
        if is_full {
            self.settle(&mut post);
        }
        self.plan(at.picks);
        represents
    }

    /// Ends the gap (the activations since the latest timed one) if it contains a long activation:
    /// counts the work of the gap, and chooses another activation for timing. Otherwise does
    /// nothing. Without this method, the long activation would be counted only at the next timed
    /// activation, possibly after many other long activations. `sighted` returns the activations in
    /// the gap that another thread has seen running. The worker must be awake.
    ///
    /// Returns true if the gap contains a long activation.
    pub(super) fn looks(
        &self,
        at: Point,
        sighted: impl FnOnce() -> Vec<Sighted>,
        mut post: impl FnMut(Posted),
    ) -> bool {
        if self.excess_of(self.open_at(at)) < SEEN {
            return false;
        }
        let open = self.close(at);
        self.add_untimed(open, SEEN, sighted, &mut post);
        self.idled.set(false);
        self.plan(at.picks);
        true
    }

    /// Returns the work that the worker has done since the open gap began (since the latest timed
    /// activation).
    fn open_at(&self, at: Point) -> Work {
        let since = self.since.get();
        Work {
            time: at.now.saturating_sub(since.now),
            turns: at.turns.saturating_sub(since.turns),
            activations: u64::from(at.picks.wrapping_sub(since.picks)),
        }
    }

    /// Ends the open gap (the activations since the latest timed one), and returns its work.
    fn close(&self, at: Point) -> Work {
        let open = self.open_at(at);
        self.since.set(at);
        self.earn(open.time / AWAKE_SHARE);
        open
    }

    fn earn(&self, more: Nanos) {
        let more = more.min(BUDGET_MAX) as i64;
        let budget = self.budget.get().saturating_add(more);
        self.budget.set(budget.min(BUDGET_MAX as i64));
    }

    /// Updates the mean duration of an activation with the duration `each`. If `each` is more than
    /// twice the mean, uses twice the mean instead of `each`.
    fn learn(&self, each: f64) {
        let mean = self.mean.get();
        let most = if mean == 0.0 { each } else { 2.0 * mean };
        self.mean.set(mean + (each.min(most) - mean) / 16.0);
    }

    /// Adds `work` to the current page (a period of time). A timed activation represents this work.
    /// If the current page is already divided among the kinds of tasks, begins another page.
    fn add_timed(&self, place: usize, work: Work, now: Nanos) {
        let page = &mut *self.page.borrow_mut();
        if page.is_done || page.timed == 0 {
            page.entries.clear();
            (page.is_done, page.timed, page.began) = (false, 0, now);
        }
        page.timed += 1;
        add_to(&mut page.entries, place, work);
    }

    /// Returns the difference between the actual and the usual duration of the activations since
    /// the latest timed one. `open` is the work of these activations.
    fn excess_of(&self, open: Work) -> Nanos {
        open.time.saturating_sub(self.expected(open))
    }

    fn expected(&self, open: Work) -> Nanos {
        (self.mean.get() * open.activations as f64) as Nanos
    }

    /// Adds the work `open` to the totals. If the time of `open` is longer than usual by at least
    /// `least`, the excess is first counted as work of untimed long activations. The work counted
    /// in this way is not added to the totals.
    fn add_untimed(
        &self,
        mut open: Work,
        least: Nanos,
        sighted: impl FnOnce() -> Vec<Sighted>,
        post: &mut impl FnMut(Posted),
    ) {
        let excess = self.excess_of(open);
        let found = if open.activations > 0 && excess >= least {
            self.count_excess(excess, sighted, post)
        } else {
            Work::default()
        };
        if found.time > 0 {
            open = open.less(found);
        } else if open.activations > 1 && !self.idled.get() {
            self.learn(open.time as f64 / open.activations as f64);
        }
        if self.idled.get() {
            open.time = open.time.min(self.expected(open));
        }
        self.page.borrow_mut().total.add(open);
    }

    /// Counts `excess` as work of the long activations in the gap (the activations since the latest
    /// timed one), if any are known. `excess` is the time by which the gap exceeds its usual
    /// duration. Returns the counted work.
    fn count_excess(
        &self,
        excess: Nanos,
        sighted: impl FnOnce() -> Vec<Sighted>,
        post: &mut impl FnMut(Posted),
    ) -> Work {
        let mut sighted = sighted();
        if excess < SEEN {
            // A short one may have been seen as well.
            sighted.clear();
        }
        if !sighted.is_empty() {
            return self.count_sighted(excess, &sighted, post);
        }
        let mut counted = Work::default();
        if self.idled.get() {
            return counted;
        }
        let class = usize::from(excess >= SEEN);
        let entries = {
            let long = self.long.borrow();
            let is_empty = long[class].is_empty();
            long[if is_empty { 1 - class } else { class }].clone()
        };
        let mut parts = sum_of(&entries).time;
        for (place, work) in entries {
            let time = share(excess - counted.time, work.time, parts);
            parts -= work.time;
            let work = Work::of(time);
            post(Posted {
                place,
                work,
                source: Source::Excess,
            });
            counted.add(work);
        }
        counted
    }

    /// Divides the time `excess` among the activations in `sighted`, and counts the parts as their
    /// work. Another thread has seen these activations running: it checks all workers about once a
    /// millisecond. Returns the counted work.
    fn count_sighted(
        &self,
        excess: Nanos,
        sighted: &[Sighted],
        post: &mut impl FnMut(Posted),
    ) -> Work {
        let mut counted = Work::default();
        let mut parts: u64 = sighted.iter().map(|seen| seen.glances).sum();
        for (index, seen) in sighted.iter().enumerate() {
            let time = share(excess - counted.time, seen.glances, parts);
            parts -= seen.glances;
            let work = Work {
                time,
                turns: seen.turns,
                activations: 1,
            };
            self.note_long(seen.place, time);
            post(Posted {
                place: seen.place,
                work,
                source: Source::Seen(index),
            });
            counted.add(work);
        }
        counted
    }

    /// Records the time that was counted for a long activation of the kind with the index `place`.
    /// The recorded times of all kinds serve as a ratio: extra time of other activations is divided
    /// in this ratio if no other thread has seen these activations running.
    fn note_long(&self, place: usize, time: Nanos) {
        let entries = &mut self.long.borrow_mut()[usize::from(time >= SEEN)];
        add_to(entries, place, Work::of(time));
        if sum_of(entries).time >= FADES {
            fade(entries);
        }
    }

    /// Divides the totals of the page (a period of time) among the kinds of tasks. Does nothing if
    /// no activation was ever timed.
    fn settle(&self, post: &mut impl FnMut(Posted)) {
        let page = &mut *self.page.borrow_mut();
        if page.entries.is_empty() || page.total == Work::default() {
            return;
        }
        let total = std::mem::take(&mut page.total);
        // The entries of a page that is done have got their time and turns.
        if !page.is_done {
            self.remember(&page.entries, total.time);
        }
        let mut parts = sum_of(&page.entries).activations;
        let mut left = total.activations;
        for &(place, work) in &page.entries {
            let activations = share(left, work.activations, parts);
            (left, parts) = (left - activations, parts - work.activations);
            let work = Work {
                activations,
                ..Work::default()
            };
            post(Posted::of(place, work));
        }
        page.is_done = true;
        let mut pool = self.pool.get();
        pool.add(Work {
            activations: 0,
            ..total
        });
        let pool = self.pay(pool, post);
        self.pool.set(self.drain(pool, self.most(), post));
    }

    /// Counts the work that is owed to the kinds of tasks: timed activations represent it, but it
    /// is not counted yet. Takes this work from `pool`, the work that is not assigned to any kind.
    /// Counts only as much as `pool` contains. Returns the rest of `pool`.
    fn pay(&self, pool: Work, post: &mut impl FnMut(Posted)) -> Work {
        let owed = &mut *self.owed.borrow_mut();
        let pays = sum_of(owed).min(pool);
        for (place, work) in divided(pays, owed) {
            post(Posted::of(place, work));
            let known = owed.iter_mut().filter(|(other, _)| *other == place);
            known.for_each(|(_, left)| *left = left.less(work));
        }
        let (left, most) = (sum_of(owed), self.most());
        if left != left.min(most) {
            *owed = divided(left.min(most), owed);
        }
        owed.retain(|(_, work)| *work != Work::default());
        pool.less(pays)
    }

    /// Returns the upper limit of the work that is not counted for any kind of task yet (the pool).
    /// The work that is owed to the kinds of tasks has the same limit.
    fn most(&self) -> Work {
        Work {
            time: POOL_MAX,
            turns: (POOL_MAX as f64 / self.mean.get().max(1.0)) as u64,
            activations: 0,
        }
    }

    /// Records the work that the timed activations of a page (a period of time) represent, for each
    /// kind of task. The work is added to the recent work, and to the work that must still be
    /// counted for the kinds. `time` is the total time of the page.
    fn remember(&self, entries: &Entries, time: Nanos) {
        let recent = &mut *self.recent.borrow_mut();
        for &(place, work) in entries {
            let work = Work {
                activations: 0,
                ..work
            };
            add_to(recent, place, work);
            add_to(&mut self.owed.borrow_mut(), place, work);
        }
        self.faded.set(self.faded.get().saturating_add(time));
        if self.faded.get() >= RECENT {
            self.faded.set(0);
            fade(recent);
        }
    }

    /// Reduces the pool (the work that is not counted for any kind of task yet) to at most `most`.
    /// Divides the removed work among the kinds of the recently timed activations, or drops it if
    /// there are none. If there is only one such kind, all work of the pool goes to this kind.
    /// Returns the rest of the pool.
    fn drain(&self, pool: Work, most: Work, post: &mut impl FnMut(Posted)) -> Work {
        let recent = self.recent.borrow();
        let most = match recent.len() {
            0 => return pool.min(most),
            1 => Work::default(),
            _ => most,
        };
        let given = divided(pool.less(most), &recent);
        let mut left = pool;
        for (place, work) in given {
            left = left.less(work);
            post(Posted::of(place, work));
        }
        left
    }

    /// Divides all work that is not counted yet among the kinds of tasks. Called when the worker
    /// stops.
    pub(super) fn ends(&self, mut post: impl FnMut(Posted)) {
        self.settle(&mut post);
        let pool = self.drain(self.pool.get(), Work::default(), &mut post);
        self.pool.set(pool);
    }

    /// Chooses the next activation that will be timed. `picks` is the number of activations so far.
    fn plan(&self, picks: u32) {
        let budget = self.budget.get();
        let times_all = budget >= BUDGET_ALL as i64 || self.gap.get() == 1 && budget >= COST as i64;
        if times_all {
            self.gap.set(1);
            return self.due.set(picks.wrapping_add(1));
        }
        // In balance, the budget is the cost of one, and a gap earns the cost of one.
        let wait = (2 * COST as i64 - budget).max(COST as i64 / 2) as f64 * AWAKE_SHARE as f64;
        let gap = ((wait / self.mean.get().max(1.0)) as u64).clamp(2, GAP_MAX);
        self.gap.set(gap);
        self.due.set(picks.wrapping_add(self.draw(gap)));
    }

    /// Returns a random number of activations: the distance to the next activation that is timed.
    /// The mean is `gap`, and the maximum is [`LONGEST`] times the mean. Below the maximum, the
    /// distribution is geometric, so a new number can be drawn at any time without bias.
    fn draw(&self, gap: u64) -> u32 {
        // Marsaglia's xorshift64 (2003).
        let mut x = self.random.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.random.set(x);
        let unit = ((x >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        let distance = -unit.ln() * (gap as f64 - 0.5);
        (distance.ceil() as u64).clamp(1, LONGEST * gap) as u32
    }
}
