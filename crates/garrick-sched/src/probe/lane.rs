//! Counters of one worker.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex, MutexGuard};

use crossbeam_utils::CachePadded;
use garrick_core::count::Group;
use garrick_core::prim::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

use super::beginning::Beginning;
use super::census::{self, Censuses, Tally};
use super::counted::{
    CLAIMED, Counted, LaneReader, PARKED, PARKS, PUBLISHED, RESCUES, SINCE, TURNS,
};
use super::durations::Counters;
use super::gauge::Gauge;
use super::kinds::{Count, Kinds};
use super::ledger::{Ledger, Point, Posted, Sighted, Source, Timed};
use super::sights::{Running, SLOW_TURN, Sight, Sights};
use crate::cell::{CellPtr, Table, TaskId};
use crate::world::Nanos;

/// The counters of one worker, called its lane. Only this worker writes them.
pub(crate) struct Lane {
    /// Counters that do not depend on the kind of task, and that change rarely.
    rare: RefCell<Group<7>>,
    /// Counters by kind of task. `None` if work is not counted by kind.
    books: Option<Books>,
}

/// Counters of one worker that exist only if work is counted separately for each kind of task. Also
/// contains the data from which these counters are computed.
struct Books {
    counted: Arc<Counted>,
    ledger: Ledger,
    /// The current activation. `None` if it is not timed.
    activation: Cell<Option<Activation>>,
    /// The data for censuses (counts of waiting messages). Only the worker accesses this data.
    tally: Tally,
    /// The gauge that measures the turns of each kind of message.
    gauge: Gauge,
}

/// The time at the beginning of a timed activation, and the label of its task.
pub(crate) struct Looked {
    pub(crate) now: Nanos,
    /// True if the label was requested from the task. False if the task was in use.
    pub(crate) has_asked: bool,
    /// Label of the task. `None` if the label was not requested, or if the task has none.
    pub(crate) label: Option<String>,
}

/// The number of activations and the number of turns that a worker has begun.
#[derive(Clone, Copy)]
pub(crate) struct Progress {
    /// Number of activations that the worker has begun, modulo 2^32.
    pub(crate) picks: u32,
    pub(crate) turns: u64,
}

impl Progress {
    fn at(self, now: Nanos) -> Point {
        Point {
            now,
            turns: self.turns,
            picks: self.picks,
        }
    }
}

/// A timed activation that is running.
#[derive(Clone, Copy)]
struct Activation {
    /// Index of the counters for the task's kind.
    place: usize,
    began: Nanos,
    /// The number of activations and the number of turns that the worker had begun when this
    /// activation began. This activation is counted, but its turns are not.
    progress: Progress,
}

impl Lane {
    /// Creates a lane: the counters of one worker. If `counts` is true, the lane has counters for
    /// each kind of task. `seed` determines which activations are timed. `clock` returns the time.
    pub(crate) fn new(counts: bool, seed: u64, clock: impl Fn() -> Nanos) -> Self {
        let books = || Books {
            counted: Arc::new(Counted {
                kinds: Kinds::new(),
                activations: AtomicU64::new(0),
                beginning: AtomicU64::new(u64::MAX),
                censuses: Censuses::default(),
                ready: AtomicU64::new(0),
                waits: Counters::default(),
                rested: AtomicU32::new(0),
                surprises: AtomicU64::new(0),
                sights: Mutex::default(),
                has_seen_long: CachePadded::new(AtomicBool::new(false)),
            }),
            ledger: Ledger::new(seed, overhead_of(&clock), clock()),
            activation: Cell::new(None),
            tally: Tally::new(),
            gauge: Gauge::new(!seed),
        };
        Self {
            rare: RefCell::default(),
            books: counts.then(books),
        }
    }

    /// Returns a value through which other threads read the counters of this lane.
    pub(super) fn reader(&self) -> LaneReader {
        LaneReader {
            rare: self.rare.borrow().reader(),
            counted: self.books.as_ref().map(|books| books.counted.clone()),
        }
    }

    /// Returns true if the work of each kind of task is counted.
    #[inline]
    pub(crate) fn counts(&self) -> bool {
        self.books.is_some()
    }

    /// Counts tasks of one kind: `begun` tasks that were created on this worker, and `ended` tasks
    /// that have ended on this worker or have left it.
    pub(crate) fn add_lives(&self, (table, begun, ended): (&'static Table, u64, u64)) {
        if let Some(books) = &self.books {
            let kind = books.counted.kinds.of(table);
            kind.add(Count::Begun, begun);
            kind.add(Count::Ended, ended);
        }
    }

    /// Counts a failure of a task with the function table `table`.
    pub(crate) fn failed(&self, table: &'static Table) {
        if let Some(books) = &self.books {
            books.counted.kinds.of(table).add(Count::Failures, 1);
        }
    }

    /// Counts a restart: a supervisor has replaced a task.
    pub(crate) fn restarted(&self, cell: CellPtr) {
        self.count(cell, Count::Restarts);
    }

    /// Counts a task that has recovered from a panic.
    pub(crate) fn recovered(&self, cell: CellPtr) {
        self.count(cell, Count::Recoveries);
    }

    #[inline]
    fn count(&self, cell: CellPtr, count: Count) {
        if let Some(books) = &self.books {
            books.counted.kinds.of(cell.table()).add(count, 1);
        }
    }

    /// Returns the sequence number of the activation that the worker must time next, by
    /// [`Lane::begin`] and [`Lane::end`]. Returns `None` if work is not counted by kind of task.
    #[inline]
    pub(crate) fn due(&self) -> Option<u32> {
        self.books.as_ref().map(|books| books.ledger.due())
    }

    /// Selects the activation with the number `picks + 1` for timing. Replaces the activation that
    /// was selected before, because it did not take place: there was no cell to run.
    pub(crate) fn postpone(&self, picks: u32) {
        if let Some(books) = &self.books {
            books.ledger.postpone(picks);
        }
    }

    /// Subtracts one from the number of activations that have followed the latest timed activation,
    /// because the activation that was counted last did not take place: there was no cell to run.
    pub(crate) fn skip(&self) {
        if let Some(books) = &self.books {
            books.ledger.skip();
        }
    }

    /// Begins a timed activation of a task. `progress` has the numbers of activations and turns so
    /// far, including this activation, but none of its turns.
    ///
    /// `look` returns the time. If the argument of `look` is true, `look` also returns the label of
    /// the task.
    pub(crate) fn begin(
        &self,
        table: &'static Table,
        task: TaskId,
        progress: Progress,
        look: impl FnOnce(bool) -> Looked,
    ) {
        let Some(books) = &self.books else { return };
        let counted = &*books.counted;
        let place = counted.kinds.place_of(table);
        let kind = counted.kinds.at(place);
        let wants_label = books.tally.follow(task, table);
        let looked = look(wants_label);
        match wants_label {
            true if looked.has_asked => books.tally.name(looked.label),
            true => books.tally.name_later(),
            false => {}
        }
        let began = looked.now;
        let beginning = Beginning::of(progress.picks, began);
        // Relaxed: one writer, and the word is independent.
        counted.beginning.store(beginning.word(), Relaxed);
        if kind.messages().is_some() {
            books.gauge.begin(began, progress.turns, kind.allowance());
        }
        books.activation.set(Some(Activation {
            place,
            began,
            progress,
        }));
    }

    /// Ends the current activation, if it is timed. `turns` is the number of turns of the worker so
    /// far. Returns true if the activation was timed. In this case, the next activation to time has
    /// been chosen.
    pub(crate) fn end(&self, turns: u64, now: impl FnOnce() -> Nanos) -> bool {
        let Some(books) = &self.books else {
            return false;
        };
        let Some(activation) = books.activation.take() else {
            return false;
        };
        books.end(&activation, turns, now());
        true
    }

    /// Returns true if another thread has seen a long activation that is perhaps not counted yet.
    /// The worker should then call [`Lane::looks`] between two activations.
    #[inline]
    pub(crate) fn has_seen_long(&self) -> bool {
        let books = self.books.as_ref();
        // Relaxed: a hint.
        books.is_some_and(|books| books.counted.has_seen_long.load(Relaxed))
    }

    /// If one of the activations that followed the latest timed activation was long, counts the
    /// work of all these activations, chooses another activation for timing, and returns true.
    /// Otherwise returns false. Also returns false while the worker sleeps or runs a timed
    /// activation, because the work is counted later in these two cases.
    pub(crate) fn looks(&self, progress: Progress, now: impl FnOnce() -> Nanos) -> bool {
        let Some(books) = &self.books else {
            return false;
        };
        if books.ledger.sleeps() {
            // A guest runs the activation, and counts it at the end of its visit.
            return false;
        }
        // Relaxed: a hint.
        books.counted.has_seen_long.store(false, Relaxed);
        // The work of a timed activation is counted at its end.
        books.activation.get().is_none() && books.looks(progress.at(now()))
    }

    /// Returns the gauge that measures turns by kind of message. Returns `None` if turns are not
    /// measured in the current activation.
    #[inline]
    pub(crate) fn gauge(&self) -> Option<&Gauge> {
        let books = self.books.as_ref()?;
        Some(&books.gauge).filter(|gauge| gauge.is_on())
    }

    /// Returns true if the worker must take a census: count its waiting messages.
    #[inline]
    pub(crate) fn wants_census(&self) -> bool {
        let books = self.books.as_ref();
        books.is_some_and(|books| books.counted.censuses.is_asked())
    }

    /// Takes a census at the time `now`: counts the messages in the mailboxes. `ready` is the
    /// number of tasks that are ready to run. The function `walk` adds tasks to the census: all
    /// tasks with messages if `is_whole` is true, and otherwise only some of them.
    pub(crate) fn take_census(
        &self,
        now: Nanos,
        is_whole: bool,
        ready: usize,
        walk: impl FnOnce(&mut census::Count<'_>),
    ) {
        if let Some(Books { counted, tally, .. }) = &self.books {
            // Relaxed: the number is independent.
            counted.ready.store(ready as u64, Relaxed);
            tally.take(&counted.censuses, &counted.kinds, now, is_whole, walk);
        }
    }

    /// Lists a task if its mailbox is among the longest. `left` describes the messages that the
    /// last activation of the task has left in the mailbox: the sequence number of the oldest
    /// message, and how many messages there are.
    pub(crate) fn left_waiting(
        &self,
        table: &'static Table,
        task: TaskId,
        left: (usize, usize),
        label: impl FnOnce() -> Option<String>,
    ) {
        if let Some(books) = &self.books {
            books.tally.put(task, table, left, label);
        }
    }

    /// Counts a message that has waited for `time`. The receiver of the message is a task with the
    /// function table `table`.
    pub(crate) fn waited(&self, table: &'static Table, time: Nanos) {
        if let Some(books) = &self.books {
            books.counted.waits.add(time, 1);
            books.counted.kinds.of(table).waited(time);
        }
    }

    /// Counts a turn that this worker has run for another worker, because that worker is in a long
    /// turn.
    pub(crate) fn rescued(&self) {
        self.change(|rare| rare.add(RESCUES, 1));
    }

    /// Publishes the number of turns that the worker has run.
    pub(crate) fn show_turns(&self, turns: u64) {
        self.change(|rare| rare.set(TURNS, turns));
    }

    /// Changes the counters that do not depend on the kind of task, and publishes them. Does
    /// nothing under loom, because no other code depends on the order of these counts, and the type
    /// that publishes them has its own loom models.
    #[inline]
    fn change(&self, change: impl FnOnce(&mut Group<7>)) {
        if !cfg!(garrick_loom) {
            let mut rare = self.rare.borrow_mut();
            change(&mut rare);
            rare.publish();
        }
    }

    /// Records that the worker has no cell to run. After a while, the worker may go to sleep.
    pub(crate) fn idles(&self) {
        if let Some(books) = &self.books {
            books.ledger.idles();
        }
    }

    /// Records that the worker now stops running cells for some time, without going to sleep.
    /// [`Lane::resumes`] records the end of this time.
    pub(crate) fn pauses(&self, progress: Progress, now: impl FnOnce() -> Nanos) {
        if let Some(books) = &self.books {
            books.rests(progress.at(now()));
        }
    }

    /// Records the end of a time in which the worker ran no cells. [`Lane::pauses`] has recorded
    /// the beginning of this time. `picks` is the number of activations so far.
    pub(crate) fn resumes(&self, picks: u32, now: impl FnOnce() -> Nanos) {
        if let Some(books) = &self.books {
            books.ledger.wakes(now(), picks);
        }
    }

    /// Records that the worker goes to sleep. The argument `is_empty` is true if no message waits
    /// in the mailbox of any of its tasks.
    pub(crate) fn parks(&self, progress: Progress, now: Nanos, is_empty: bool) {
        if let Some(books) = &self.books {
            books.rests(progress.at(now));
            if is_empty && (books.tally.has_shown() || self.wants_census()) {
                self.take_census(now, true, 0, |_| {});
            }
        }
        self.change(|rare| {
            rare.add(PARKS, 1);
            rare.set(SINCE, now.saturating_add(1));
        });
    }

    /// Records that the worker has ended: from now on, the worker counts as asleep, no messages
    /// wait for its tasks, and none of its tasks is busy. Without this record, readers would see
    /// the values of the latest census (count of waiting messages) forever.
    pub(crate) fn ends(&self, progress: Progress, now: Nanos) {
        if let Some(books) = &self.books {
            books.rests(progress.at(now));
            books
                .tally
                .end(&books.counted.censuses, &books.counted.kinds);
            // Relaxed: the number is independent.
            books.counted.ready.store(0, Relaxed);
        }
        if !self.is_parked() {
            self.change(|rare| rare.set(SINCE, now.saturating_add(1)));
        }
    }

    /// Returns true if the latest record says that the worker sleeps.
    pub(crate) fn is_parked(&self) -> bool {
        self.rare.borrow().values()[SINCE] != 0
    }

    /// Records that the worker has woken from its sleep, and returns the current time. `picks` is
    /// the number of activations so far. Returns `None` if the worker was not sleeping.
    pub(crate) fn wakes(&self, picks: u32, now: impl FnOnce() -> Nanos) -> Option<Nanos> {
        if !self.is_parked() {
            return None;
        }
        let now = now();
        let mut awake = 0;
        if let Some(books) = &self.books {
            awake = books.ledger.wakes(now, picks);
        }
        self.change(|rare| {
            let slept = now.saturating_add(1).saturating_sub(rare.values()[SINCE]);
            rare.add(PARKED, slept.saturating_sub(awake));
            rare.set(SINCE, 0);
        });
        Some(now)
    }

    /// Checks if a guest has run a long activation of this worker while the worker slept. A guest
    /// is a thread that waits for an answer. Returns the time at which another thread first saw
    /// this activation, or `None` if there was no such activation. `picks` is the number of
    /// activations so far.
    ///
    /// The activations that guests have run are not counted before the worker wakes.
    #[inline]
    pub(crate) fn missed(&self, picks: u32) -> Option<Nanos> {
        if !self.has_seen_long() {
            return None;
        }
        let books = self.books.as_ref()?;
        // Relaxed: a hint.
        books.counted.has_seen_long.store(false, Relaxed);
        let since = books.ledger.since().picks;
        books.counted.sights().long_since(since, picks)
    }

    /// Counts `count` cells that this worker has given away to other workers.
    pub(crate) fn published(&self, count: usize) {
        self.change(|rare| rare.add(PUBLISHED, count as u64));
    }

    /// Counts a cell that this worker has taken from the shared queue or from another worker.
    pub(crate) fn claimed(&self) {
        self.change(|rare| rare.add(CLAIMED, 1));
    }
}

impl Books {
    /// Counts a timed activation that has ended.
    fn end(&self, activation: &Activation, turns: u64, ended: Nanos) {
        let kind = self.counted.kinds.at(activation.place);
        let before = activation.progress;
        let timed = Timed {
            place: activation.place,
            lasted: ended.saturating_sub(activation.began),
            turns: turns.saturating_sub(before.turns),
        };
        let since = self.ledger.since();
        let gap = self.ledger.gap();
        let at = Progress { turns, ..before }.at(ended);
        let seen = RefCell::new(Vec::new());
        let represents = self.ledger.timed(
            timed,
            at,
            || self.sighted(&seen, since.picks, before.picks.wrapping_sub(1)),
            |posted| self.post(posted, &seen.borrow()),
        );
        let weight = if represents.is_long { 1 } else { gap };
        self.tally.add_time(represents.time);
        if let Some(messages) = kind.messages()
            && let Some(allowance) =
                (self.gauge).end(turns, ended, (weight, represents.time), messages)
        {
            kind.set_allowance(allowance);
        }
        let each = timed.lasted / timed.turns.max(1);
        kind.add_turns(each, timed.turns.max(1).saturating_mul(weight));
        if timed.lasted >= SLOW_TURN {
            kind.add(Count::SlowTurns, self.slow_turns(&timed, before.picks));
        }
    }

    /// Returns the number of slow turns of a timed activation. If the activation has several turns,
    /// and other threads have seen the activation running at least twice, counts the turns that
    /// these threads have seen running for at least [`SLOW_TURN`]. Otherwise counts all turns if
    /// their average duration is at least [`SLOW_TURN`], and else none.
    fn slow_turns(&self, timed: &Timed, picks: u32) -> u64 {
        let turns = timed.turns.max(1);
        let seen = self.sights().take(picks.wrapping_sub(1), picks);
        match seen.first() {
            Some(sight) if turns > 1 && sight.glances > 1 => sight.slow,
            _ if timed.lasted / turns >= SLOW_TURN => turns,
            _ => 0,
        }
    }

    /// Records that the worker goes to sleep.
    fn rests(&self, at: Point) {
        let since = self.ledger.since();
        let seen = RefCell::new(Vec::new());
        // Relaxed: one writer. A reader checks if the worker sleeps.
        self.counted.rested.store(at.picks, Relaxed);
        self.ledger.rests(
            at,
            || self.sighted(&seen, since.picks, at.picks),
            |posted| self.post(posted, &seen.borrow()),
        );
        self.gauge.rested();
    }

    /// If one of the activations that followed the latest timed activation was long, counts the
    /// work of all these activations, and returns true. Otherwise returns false.
    fn looks(&self, at: Point) -> bool {
        let since = self.ledger.since();
        let seen = RefCell::new(Vec::new());
        self.ledger.looks(
            at,
            || self.sighted(&seen, since.picks, at.picks),
            |posted| self.post(posted, &seen.borrow()),
        )
    }

    fn sights(&self) -> MutexGuard<'_, Sights> {
        self.counted.sights()
    }

    /// Takes the records that other threads have made of the activations with numbers above `since`
    /// and up to `to`. Stores the records in `seen`, and returns the activations. Also increments
    /// `surprises`, because the worker has noticed a long activation.
    fn sighted(&self, seen: &RefCell<Vec<Sight>>, since: u32, to: u32) -> Vec<Sighted> {
        let counted = &*self.counted;
        let surprises = counted.surprises.load(Relaxed);
        // Relaxed, both: one writer, and the count is a hint.
        counted.surprises.store(surprises.wrapping_add(1), Relaxed);
        let mut seen = seen.borrow_mut();
        *seen = self.sights().take(since, to);
        let sighted = |sight: &Sight| Sighted {
            place: self.counted.kinds.place_of(sight.running.table),
            glances: sight.glances,
            turns: sight.turns(),
        };
        seen.iter().map(sighted).collect()
    }

    /// Adds work to the counters of a kind of task. If another thread has seen a task doing this
    /// work, also adds the duration of the work to the time of that task.
    fn post(&self, posted: Posted, seen: &[Sight]) {
        let counted = &*self.counted;
        let kind = counted.kinds.at(posted.place);
        kind.add(Count::Turns, posted.work.turns);
        kind.add(Count::Activations, posted.work.activations);
        kind.add(Count::Busy, posted.work.time);
        let activations = counted.activations.load(Relaxed);
        // Relaxed, both: one writer, and the count is independent.
        (counted.activations).store(activations.wrapping_add(posted.work.activations), Relaxed);
        if posted.source != Source::Timed
            && let Some(messages) = kind.messages()
        {
            messages.divide(posted.work.turns, posted.work.time);
        }
        if let Source::Seen(index) = posted.source
            && let Some(sight) = seen.get(index)
        {
            let Running { task, table, .. } = sight.running;
            self.tally.add_time_for(task, table, posted.work.time);
            kind.add(Count::SlowTurns, sight.slow);
            let each = posted.work.time / sight.turns().max(1);
            kind.add_turns(each, sight.turns());
        }
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        if let Some(books) = &self.books {
            books.ledger.ends(|posted| books.post(posted, &[]));
        }
    }
}

/// Returns the duration of one reading of the clock.
fn overhead_of(clock: impl Fn() -> Nanos) -> Nanos {
    let difference = |_| {
        let before = clock();
        clock().saturating_sub(before)
    };
    (0..16).map(difference).min().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::KindSample;
    use super::super::kinds::Unnamed;
    use super::*;
    use crate::runtime::tables::nothing_to_drop;

    /// Duration of a quick activation in these tests.
    const QUICK: Nanos = 100;
    /// Simulated time between two glances. At a glance, another thread reads which activation is
    /// running.
    const GLANCE: Nanos = 1_000_000;

    /// Number of activations between two checks for long activations.
    const BLOCK: u32 = 16;

    /// First of the two kinds of tasks that these tests compare.
    static FIRST: Table = Table::of_messages::<u8>(nothing_to_drop);
    static SECOND: Table = Table::of_messages::<u8>(nothing_to_drop);

    /// A lane (the counters of one worker) with a simulated clock. If `glances` is true, also
    /// simulates another thread, which regularly reads which activation is running.
    struct Simulated {
        lane: Lane,
        reader: LaneReader,
        glances: bool,
        sleeps: bool,
        now: Nanos,
        progress: Progress,
        timed: u64,
    }

    impl Simulated {
        fn new(seed: u64, glances: bool) -> Self {
            let lane = Lane::new(true, seed, || 0);
            Self {
                reader: lane.reader(),
                lane,
                glances,
                sleeps: false,
                now: 0,
                progress: Progress { picks: 0, turns: 0 },
                timed: 0,
            }
        }

        /// Runs an activation that has `turns` turns and lasts for `lasts`.
        fn run_turns(&mut self, table: &'static Table, turns: u64, lasts: Nanos) {
            let task = TaskId(std::ptr::from_ref(table).addr());
            if self.progress.picks.is_multiple_of(BLOCK) && self.lane.has_seen_long() {
                self.lane.looks(self.progress, || self.now);
            }
            self.progress.picks = self.progress.picks.wrapping_add(1);
            let is_due = !self.sleeps && self.lane.due() == Some(self.progress.picks);
            if is_due {
                self.timed += 1;
                let (now, label) = (self.now, None);
                let look = |has_asked| Looked {
                    now,
                    has_asked,
                    label,
                };
                self.lane.begin(table, task, self.progress, look);
            }
            let (began, ends) = (self.now, self.now + lasts);
            let mut glance = (began / GLANCE + 1) * GLANCE;
            while self.glances && glance < ends {
                let running = Running {
                    picks: self.progress.picks,
                    table,
                    task,
                    turn: self.progress.turns + 1 + (glance - began) * turns / lasts,
                };
                self.reader.glance(Some(running), glance, glance);
                glance += GLANCE;
            }
            self.now = ends;
            self.progress.turns += turns;
            if is_due {
                assert!(self.lane.end(self.progress.turns, || ends));
            }
        }

        fn run(&mut self, table: &'static Table, lasts: Nanos) {
            self.run_turns(table, 1, lasts);
        }

        fn parks(&mut self) {
            self.sleeps = true;
            self.lane.parks(self.progress, self.now, true);
        }

        /// Simulates that the worker goes to sleep and does not wake any more.
        fn ends(&mut self) {
            self.parks();
            self.lane = Lane::new(false, 0, || 0);
        }

        /// Simulates that a guest (a thread that waits for an answer) runs an activation of the
        /// worker while the worker counts as asleep. If another simulated thread has seen that the
        /// activation was long, counts the activation.
        fn misses(&mut self, table: &'static Table, lasts: Nanos) {
            self.run(table, lasts);
            let now = self.now;
            if let Some(since) = self.lane.missed(self.progress.picks) {
                self.lane.wakes(self.progress.picks, || since);
                self.now = now;
                self.parks();
            }
        }

        fn wakes(&mut self, after: Nanos) {
            self.now += after;
            self.sleeps = false;
            self.lane.wakes(self.progress.picks, || self.now);
        }

        /// Runs a slow activation that lasts for `slow`, and then `count` quick activations of
        /// `kind`.
        fn round(&mut self, slow: Nanos, count: usize, kind: &'static Table) {
            self.run(&FIRST, slow);
            (0..count).for_each(|_| self.run(kind, QUICK));
        }

        /// Repeats `round` for five simulated seconds. For each second after the first, divides the
        /// measured time of tasks of the first kind by their true time. Returns the smallest and
        /// the largest quotient.
        fn shares(&mut self, slow: Nanos, count: usize, kind: &'static Table) -> [f64; 2] {
            let (mut truth, mut before, mut shares) = (0, 0, [f64::MAX, 0.0]);
            for second in 1..6 {
                while self.now < second * 1_000_000_000 {
                    let began = self.now;
                    self.round(slow, count, kind);
                    let is_same = std::ptr::eq(kind, &raw const FIRST);
                    truth += if is_same { self.now - began } else { slow };
                }
                let first = self.busy(&FIRST);
                let all = first + self.busy(&SECOND);
                assert!(all <= self.now, "no more time is measured than has passed");
                let left = self.now - all;
                assert!(left <= self.now / 50 + 20_000_000, "{all} of {}", self.now);
                if second > 1 {
                    let share = (first - before) as f64 / truth as f64;
                    shares = [shares[0].min(share), shares[1].max(share)];
                }
                (before, truth) = (first, 0);
            }
            shares
        }

        fn sample(&self, table: &'static Table) -> KindSample {
            let mut kinds = Vec::new();
            self.reader.add_kinds(&mut kinds);
            let is_of = |(of, _): &Unnamed| of.is_some_and(|of| std::ptr::eq(of, table));
            let found = kinds.into_iter().find(is_of);
            found.map(|(_, sample)| sample).unwrap_or_default()
        }

        /// Returns the total time that was measured for a kind of task.
        fn busy(&self, table: &'static Table) -> Nanos {
            self.sample(table).busy
        }
    }

    #[test]
    fn a_slow_kind_among_quick_ones_is_measured_in_every_window() {
        for (slow, count) in [
            (30_000_000, 3_000),
            (30_000_000, 40_000),
            (5_000_000, 50),
            (5_000_000, 5_000),
            (1_000_000, 1_000),
            (1_000_000, 2_000),
            (500_000, 5_000),
            (100_000, 200),
        ] {
            for (seed, glances) in [(13, true), (14, true), (15, true), (13, false)] {
                let [least, most] = Simulated::new(seed, glances).shares(slow, count, &SECOND);
                let case = format!("{slow}, {count}, {seed}, {glances}: {least}, {most}");
                let slack = match slow {
                    _ if !glances => 0.15,
                    ..1_000_000 => 0.1,
                    _ => 0.05,
                };
                assert!(least > 1.0 - slack && most < 1.0 + slack, "{case}");
            }
        }
    }

    #[test]
    fn kinds_that_are_not_long_get_their_time_in_the_end() {
        for (slow, count) in [(40_000, 1_000), (10_000, 100), (2_000, 10), (60_000, 100)] {
            let mut lane = Simulated::new(21, true);
            let mut rounds = 0;
            while lane.now < 10_000_000_000 {
                rounds += 1;
                lane.round(slow, count, &SECOND);
            }
            let share = lane.busy(&FIRST) as f64 / (rounds * slow) as f64;
            assert!((0.8..1.2).contains(&share), "{slow}, {count}: {share}");
            let all = lane.busy(&FIRST) + lane.busy(&SECOND);
            assert!(all <= lane.now, "{all} of {}", lane.now);
        }
    }

    #[test]
    fn a_slow_task_among_quick_ones_of_its_kind_is_measured() {
        for (slow, count) in [(30_000_000, 100_000), (5_000_000, 600), (1_000_000, 10_000)] {
            let [least, most] = Simulated::new(13, true).shares(slow, count, &FIRST);
            assert!(
                least > 0.97 && most <= 1.03,
                "{slow}, {count}: {least}, {most}"
            );
        }
    }

    #[test]
    fn an_activation_that_is_long_once_is_counted_wherever_it_comes() {
        for seed in 1..50 {
            let mut lane = Simulated::new(seed * 0x9e37_79b9, true);
            let before = 10_000 + seed * 777;
            (0..before).for_each(|_| lane.run(&SECOND, QUICK));
            // Thirty messages of 5 ms.
            lane.run_turns(&FIRST, 30, 150_000_000);
            (0..10_000).for_each(|_| lane.run(&SECOND, QUICK));
            let found = lane.sample(&FIRST);
            let is_near = |busy: Nanos| busy.abs_diff(150_000_000) < 300_000;
            assert!(is_near(found.busy), "{seed}: {}", found.busy);
            assert!(found.turns.abs_diff(30) <= 1, "{seed}: {}", found.turns);
            assert_eq!((found.activations, found.slow_turns), (1, 0), "{seed}");
            lane.ends();
            let all = found.turns + lane.sample(&SECOND).turns;
            assert_eq!(all, before + 10_000 + 30, "{seed}");
        }
    }

    #[test]
    fn slow_turns_are_those_that_are_slow_and_not_their_activations() {
        for seed in 1..20 {
            let mut lane = Simulated::new(seed * 0x9e37_79b9, true);
            (0..seed * 3_000).for_each(|_| lane.run(&SECOND, QUICK));
            // Turns of 30 ms, of 150 ms, and one alone.
            lane.run_turns(&FIRST, 20, 600_000_000);
            (0..5_000).for_each(|_| lane.run(&SECOND, QUICK));
            assert_eq!(lane.sample(&FIRST).slow_turns, 0, "{seed}");
            lane.run_turns(&FIRST, 4, 600_000_000);
            (0..5_000).for_each(|_| lane.run(&SECOND, QUICK));
            assert_eq!(lane.sample(&FIRST).slow_turns, 4, "{seed}");
            lane.run(&FIRST, 110_000_000);
            (0..5_000).for_each(|_| lane.run(&SECOND, QUICK));
            assert_eq!(lane.sample(&FIRST).slow_turns, 5, "{seed}");
        }
    }

    #[test]
    fn long_activations_in_a_row_are_counted_while_they_run() {
        const LONG: Nanos = 30_000_000;
        for seed in 1..50 {
            let mut lane = Simulated::new(seed * 0x9e37_79b9, true);
            // Then hundreds of activations pass between two that are timed.
            (0..10_000).for_each(|_| lane.run(&SECOND, QUICK));
            for number in 1..100 {
                lane.run(&FIRST, LONG);
                let missing = number * LONG - lane.busy(&FIRST).min(number * LONG);
                assert!(
                    missing <= u64::from(BLOCK) * LONG,
                    "{seed}, {number}: {missing}"
                );
            }
            lane.ends();
            let error = lane.busy(&FIRST).abs_diff(99 * LONG);
            assert!(error < LONG / 10, "{seed}: {error}");
        }
    }

    #[test]
    fn a_long_activation_before_a_sleep_is_counted() {
        let mut lane = Simulated::new(9, true);
        (0..20_000).for_each(|_| lane.run(&SECOND, QUICK));
        lane.run(&FIRST, 20_000_000);
        lane.parks();
        lane.wakes(5_000_000_000);
        let busy = lane.busy(&FIRST);
        assert!(busy.abs_diff(20_000_000) < 300_000, "{busy}");
        let sleeps = lane.now - lane.busy(&FIRST) - lane.busy(&SECOND);
        assert!(sleeps.abs_diff(5_000_000_000) < 300_000, "{sleeps}");
    }

    #[test]
    fn what_runs_rarely_is_counted_exactly() {
        let mut lane = Simulated::new(7, false);
        for _ in 0..2_000 {
            lane.wakes(2_000_000);
            lane.run_turns(&FIRST, 3, 2_000);
            lane.run(&SECOND, 500);
            lane.parks();
        }
        let of = |found: KindSample| (found.turns, found.activations, found.busy);
        assert_eq!(of(lane.sample(&FIRST)), (6_000, 2_000, 4_000_000));
        assert_eq!(of(lane.sample(&SECOND)), (2_000, 2_000, 1_000_000));
    }

    #[test]
    fn quick_tasks_are_timed_rarely() {
        let mut lane = Simulated::new(13, true);
        for _ in 0..2_000_000 {
            lane.run(&FIRST, 30);
            lane.run(&SECOND, 20);
        }
        let share = lane.busy(&FIRST) as f64 / 60e6;
        assert!((0.9..1.1).contains(&share), "{share}");
        let turns = lane.sample(&FIRST).turns as f64 / 2e6;
        assert!((0.9..1.1).contains(&turns), "{turns}");
        let timed = lane.timed as f64 / 4e6;
        assert!(timed < 0.001, "{timed}");
        lane.ends();
        let all = lane.sample(&FIRST).turns + lane.sample(&SECOND).turns;
        assert_eq!(all, 4_000_000);
    }

    #[test]
    fn no_rhythm_deceives_the_samples() {
        for period in [2, 16, 256] {
            let mut lane = Simulated::new(11, true);
            for step in 0..4_000_000_u64 {
                let is_first = step % period < period / 2;
                lane.run(if is_first { &FIRST } else { &SECOND }, 25);
            }
            let share = lane.busy(&FIRST) as f64 / lane.now as f64;
            assert!((0.45..0.55).contains(&share), "{period}: {share}");
        }
    }

    #[test]
    fn rare_activations_of_many_turns_are_counted() {
        let mut lane = Simulated::new(5, true);
        for _ in 0..100_000 {
            (0..1_000).for_each(|_| lane.run(&SECOND, 20));
            lane.run_turns(&FIRST, 256, 2_000);
        }
        let share = lane.sample(&FIRST).turns as f64 / (100_000.0 * 256.0);
        assert!((0.7..1.3).contains(&share), "{share}");
    }

    #[test]
    fn bursts_are_measured_as_a_whole() {
        for burst in [1, 30, 300, 3_000] {
            let mut lane = Simulated::new(17, true);
            for _ in 0..500 {
                lane.wakes(100_000);
                // The last one differs from the others.
                (0..burst).for_each(|_| lane.run(&FIRST, 300));
                lane.run(&SECOND, 300);
                lane.parks();
            }
            lane.ends();
            let [first, second] = [&FIRST, &SECOND].map(|table| lane.sample(table));
            assert_eq!(first.turns + second.turns, 500 * (burst + 1));
            let share =
                second.turns as f64 * (burst + 1) as f64 / (first.turns + second.turns) as f64;
            let slack = (burst as f64 / 50.0).sqrt().clamp(0.3, 5.0);
            assert!((share - 1.0).abs() <= slack, "{burst}: {share}");
        }
    }

    #[test]
    fn visits_that_are_not_recorded_count_like_those_that_are() {
        let mut lane = Simulated::new(3, true);
        lane.parks();
        for visit in 0..1_000_000 {
            // Every 500th visit is recorded. A visit to the second kind takes three times as long.
            let (table, lasts) = match visit % 3 {
                0 => (&SECOND, 3 * QUICK),
                _ => (&FIRST, QUICK),
            };
            lane.now += 50;
            if visit % 500 == 0 {
                lane.wakes(0);
                lane.run(table, lasts);
                lane.parks();
            } else {
                lane.misses(table, lasts);
            }
        }
        assert!(lane.reader.has_missed(lane.progress.picks));
        lane.wakes(0);
        lane.parks();
        assert!(!lane.reader.has_missed(lane.progress.picks));
        lane.ends();
        for (table, visits) in [(&FIRST, 2), (&SECOND, 3)] {
            let share = lane.busy(table) as f64 / (visits * QUICK * 1_000_000 / 3) as f64;
            assert!((0.9..1.1).contains(&share), "{visits}: {share}");
        }
        let turns = [&FIRST, &SECOND].map(|table| lane.sample(table).turns);
        assert_eq!(turns.iter().sum::<u64>(), 1_000_000, "{turns:?}");
    }

    #[test]
    fn a_long_visit_that_is_not_recorded_is_counted() {
        let mut lane = Simulated::new(3, true);
        for visit in 0..100 {
            lane.run(&SECOND, QUICK);
            lane.parks();
            (0..1_000).for_each(|_| lane.misses(&SECOND, QUICK));
            if visit == 50 {
                lane.misses(&FIRST, 30_000_000);
            }
            lane.wakes(1_000_000);
        }
        let sample = lane.sample(&FIRST);
        assert_eq!(sample.turns, 1);
        // The lookout sees it after 1 ms at the latest.
        assert!(
            (28_900_000..30_100_000).contains(&sample.busy),
            "{}",
            sample.busy
        );
        let others = lane.busy(&SECOND);
        assert!(others < 20_000_000, "{others}");
    }

    #[test]
    fn a_long_activation_before_a_visit_is_not_counted_again() {
        let mut lane = Simulated::new(3, true);
        lane.run(&FIRST, 30_000_000);
        lane.parks();
        let before = lane.busy(&FIRST);
        lane.now += 1_000_000_000;
        lane.misses(&SECOND, QUICK);
        lane.wakes(0);
        lane.parks();
        assert_eq!(lane.busy(&FIRST), before);
        assert!(lane.busy(&SECOND) < 1_000_000);
    }

    #[test]
    fn the_longest_mailbox_is_forgotten_with_its_messages() {
        let simulated = Simulated::new(1, false);
        let task = TaskId(std::ptr::from_ref(&FIRST).addr());
        let lane = &simulated.lane;
        let mailboxes = || {
            let kind = simulated.sample(&FIRST);
            (kind.in_mailboxes, kind.longest_mailbox)
        };
        // So many tasks are ready that the census does not read this mailbox.
        lane.left_waiting(&FIRST, task, (0, 200), || None);
        lane.take_census(1, false, 5_000, |_| {});
        assert_eq!(mailboxes(), (0, 200));
        lane.take_census(2, true, 0, |_| {});
        assert_eq!(mailboxes(), (0, 0));
    }

    #[test]
    fn sleep_counts_while_it_lasts() {
        let lane = Lane::new(false, 1, || 0);
        let reader = lane.reader();
        lane.show_turns(5);
        lane.parks(Progress { picks: 0, turns: 0 }, 100, true);
        assert_eq!(reader.worker(130).parked, 30);
        lane.wakes(0, || 150);
        lane.wakes(0, || 170);
        let sample = reader.worker(200);
        assert_eq!((sample.parked, sample.parks, sample.turns), (50, 1, 5));
    }
}
