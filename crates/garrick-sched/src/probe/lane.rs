//! Counters of one worker.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use garrick_core::count::{Group, GroupReader};
use garrick_core::prim::atomic::{AtomicU64, Ordering::Relaxed};

use super::activity::{Activity, Beginning};
use super::away::TurnsAway;
use super::census::{self, Censuses, Found, Tally};
use super::clocking::{Clocking, TimeBy};
use super::gauge::Gauge;
use super::kinds::{self, Count, Kind, Kinds, Unnamed};
use super::top::Outstanding;
use super::{AwaySample, KindSample, TaskSample, WorkerSample};
use crate::cell::{CellPtr, Table, TaskId};
use crate::world::Nanos;

/// Indices of the counters in [`Lane::rare`].
const TURNS: usize = 0;
const PARKS: usize = 1;
const PARKED: usize = 2;
/// Time at which the worker fell asleep, plus 1. It is 0 while the worker is awake.
const SINCE: usize = 3;
const PUBLISHED: usize = 4;
const CLAIMED: usize = 5;

/// Duration, in nanoseconds, from which on an activation makes its kind slow. All activations of a
/// slow kind are timed. Timing an activation takes about a fortieth of this duration.
const SLOW: Nanos = 2_000;
/// Duration, in nanoseconds, from which on a turn counts as slow.
const SLOW_TURN: Nanos = 100_000_000;

/// Counters of one worker. Only this worker writes them.
pub(crate) struct Lane {
    /// Counters that are always counted, and change rarely.
    rare: RefCell<Group<6>>,
    /// Counters by kind, if kinds are counted.
    counted: Option<Arc<Counted>>,
    /// The current activation.
    activation: Cell<Option<Activation>>,
    clocking: Clocking,
    /// The worker's part of its censuses, if kinds are counted.
    tally: Option<Tally>,
    /// Measures turns by kind of message, if kinds are counted.
    gauge: Option<Gauge>,
}

/// Counters that change with each activation. Written by the worker, read by any thread.
struct Counted {
    kinds: Kinds,
    /// Word of the current [`Activity`].
    activity: AtomicU64,
    /// Word of the [`Beginning`] of the last timed activation.
    beginning: AtomicU64,
    censuses: Censuses,
}

/// The time at the beginning of a timed activation, and the label of its task.
pub(crate) struct Looked {
    pub(crate) now: Nanos,
    /// Label of the task. `None` if the label was not requested, or if the task has none.
    pub(crate) label: Option<String>,
}

/// Current activation of a worker.
#[derive(Clone, Copy)]
struct Activation {
    /// Place of its kind.
    place: usize,
    /// Number of turns of the worker before the activation.
    turns: u64,
    /// Start time of the activation, and the reason why it is timed. `None` if the activation is
    /// not timed.
    timed: Option<(Nanos, TimeBy)>,
}

/// Reads a [`Lane`].
struct LaneReader {
    rare: GroupReader<6>,
    counted: Option<Arc<Counted>>,
    seen: Mutex<Seen>,
}

/// Activity of a worker at the last sample.
#[derive(Default)]
struct Seen {
    activity: Activity,
    /// Time just after the first sample that contained the activity.
    since: Nanos,
}

impl Lane {
    /// Creates a lane. If `counts` is true, the lane has counters for each kind of task. `seed`
    /// determines which activations are timed.
    pub(crate) fn new(counts: bool, seed: u64) -> Self {
        let counted = || {
            Arc::new(Counted {
                kinds: Kinds::new(),
                activity: AtomicU64::new(0),
                beginning: AtomicU64::new(u64::MAX),
                censuses: Censuses::default(),
            })
        };
        Self {
            rare: RefCell::default(),
            counted: counts.then(counted),
            activation: Cell::new(None),
            clocking: Clocking::new(seed),
            tally: counts.then(Tally::new),
            gauge: counts.then(|| Gauge::new(!seed)),
        }
    }

    /// Returns a reader of this lane.
    fn reader(&self) -> LaneReader {
        LaneReader {
            rare: self.rare.borrow().reader(),
            counted: self.counted.clone(),
            seen: Mutex::default(),
        }
    }

    /// Returns true if kinds are counted.
    #[inline]
    pub(crate) fn counts(&self) -> bool {
        self.counted.is_some()
    }

    /// Counts a task that was created on this worker.
    #[inline]
    pub(crate) fn begun(&self, cell: CellPtr) {
        self.count(cell, Count::Begun);
    }

    /// Counts a task that is about to end on this worker or to leave it.
    #[inline]
    pub(crate) fn ended(&self, cell: CellPtr) {
        self.count(cell, Count::Ended);
    }

    /// Counts a failure of a task whose table is `table`.
    pub(crate) fn failed(&self, table: &'static Table) {
        if let Some(counted) = &self.counted {
            counted.kinds.of(table).add(Count::Failures, 1);
        }
    }

    /// Counts a task that its supervisor has replaced by a new one.
    pub(crate) fn restarted(&self, cell: CellPtr) {
        self.count(cell, Count::Restarts);
    }

    /// Counts a task that has survived its panic.
    pub(crate) fn recovered(&self, cell: CellPtr) {
        self.count(cell, Count::Recoveries);
    }

    #[inline]
    fn count(&self, cell: CellPtr, count: Count) {
        if let Some(counted) = &self.counted {
            counted.kinds.of(cell.table()).add(count, 1);
        }
    }

    /// Begins an activation of a task. `turns` is the number of earlier turns of the worker.
    ///
    /// `look` is called only if the activation is timed. It returns the time, and the label of the
    /// task if its argument is true.
    #[inline]
    pub(crate) fn begin(
        &self,
        table: &'static Table,
        task: TaskId,
        turns: u64,
        look: impl FnOnce(bool) -> Looked,
    ) {
        let (Some(counted), Some(tally)) = (&self.counted, &self.tally) else {
            return;
        };
        let place = counted.kinds.place_of(table);
        let kind = counted.kinds.at(place);
        let time_by = if kind.is_slow() {
            Some(TimeBy::Kind)
        } else {
            self.clocking.step().map(TimeBy::Gap)
        };
        let timed = time_by.map(|time_by| {
            let wants_label = tally.follow(task, table);
            let looked = look(wants_label);
            if wants_label {
                tally.name(looked.label);
            }
            (looked.now, time_by)
        });
        counted.change_activity(|activity| activity.begins(place));
        if let Some((began, _)) = timed {
            let beginning = Beginning::of(counted.activity(), began);
            // Relaxed: one writer, and the word is independent.
            counted.beginning.store(beginning.word(), Relaxed);
            self.begin_messages(kind, began, turns);
        }
        self.activation.set(Some(Activation {
            place,
            turns,
            timed,
        }));
    }

    /// Ends the activation. `turns` is the number of turns of the worker so far.
    #[inline]
    pub(crate) fn end(&self, turns: u64, now: impl FnOnce() -> Nanos) {
        let (Some(counted), Some(tally)) = (&self.counted, &self.tally) else {
            return;
        };
        let Some(activation) = self.activation.take() else {
            return;
        };
        let kind = counted.kinds.at(activation.place);
        kind.add(Count::Turns, turns.saturating_sub(activation.turns));
        kind.add(Count::Activations, 1);
        if let Some((began, time_by)) = activation.timed {
            let ended = now();
            kind.set_slow(ended.saturating_sub(began) >= SLOW);
            let represents = self.clocking.timed(time_by, began, ended);
            self.end_messages(kind, turns, ended, (time_by.weight(), represents));
            let turns = turns.saturating_sub(activation.turns).max(1);
            let each = ended.saturating_sub(began) / turns;
            kind.add_turns(each, turns.saturating_mul(time_by.weight()));
            if each >= SLOW_TURN {
                kind.add(Count::SlowTurns, turns);
            }
            kind.add(Count::Busy, represents);
            tally.add_time(represents);
        }
        counted.change_activity(Activity::ends);
    }

    /// Begins to measure turns by kind of message, if the messages of the kind of task have kinds.
    fn begin_messages(&self, kind: &Kind, began: Nanos, turns: u64) {
        if let (Some(gauge), Some(_)) = (&self.gauge, kind.messages()) {
            gauge.begin(began, turns, kind.allowance());
        }
    }

    /// Counts the measured turns by kind of message. `turns` is the number of turns of the worker
    /// so far. The activation represents `represents.0` activations and the time `represents.1`.
    fn end_messages(&self, kind: &Kind, turns: u64, ended: Nanos, represents: (u64, Nanos)) {
        if let (Some(gauge), Some(messages)) = (&self.gauge, kind.messages())
            && let Some(allowance) = gauge.end(turns, ended, represents, messages)
        {
            kind.set_allowance(allowance);
        }
    }

    /// Returns the measurement of turns by kind of message, if there is one in the current
    /// activation.
    #[inline]
    pub(crate) fn gauge(&self) -> Option<&Gauge> {
        self.gauge.as_ref().filter(|gauge| gauge.is_on())
    }

    /// Returns true if the worker must take a census.
    #[inline]
    pub(crate) fn wants_census(&self) -> bool {
        let counted = self.counted.as_ref();
        counted.is_some_and(|counted| counted.censuses.is_asked())
    }

    /// Takes a census at the time `now`. `walk` counts the tasks. If `is_whole` is true, `walk`
    /// counts all tasks with messages. Otherwise it counts only some of them.
    pub(crate) fn take_census(
        &self,
        now: Nanos,
        is_whole: bool,
        walk: impl FnOnce(&mut census::Count<'_>),
    ) {
        if let (Some(counted), Some(tally)) = (&self.counted, &self.tally) {
            tally.take(&counted.censuses, &counted.kinds, now, is_whole, walk);
        }
    }

    /// Lists a task whose activation has left `waiting` messages, if its mailbox is among the
    /// longest.
    pub(crate) fn left_waiting(
        &self,
        table: &'static Table,
        task: TaskId,
        waiting: u64,
        label: impl FnOnce() -> Option<String>,
    ) {
        if let Some(tally) = &self.tally {
            tally.put(task, table, waiting, label);
        }
    }

    /// Calls `recover`, and shows during the call that a task recovers from its panic. The recovery
    /// counts as an activation of the worker, but not of the kind.
    pub(crate) fn show_recovery<R>(&self, table: &'static Table, recover: impl FnOnce() -> R) -> R {
        let Some(counted) = &self.counted else {
            return recover();
        };
        let place = counted.kinds.place_of(table);
        counted.change_activity(|activity| activity.begins(place));
        let recovered = recover();
        counted.change_activity(Activity::ends);
        recovered
    }

    /// Publishes the number of turns.
    pub(crate) fn show_turns(&self, turns: u64) {
        self.change(|rare| rare.set(TURNS, turns));
    }

    /// Changes the counters that are always counted, and publishes them. Does nothing in models,
    /// because these counts order nothing, and the group has its own models.
    #[inline]
    fn change(&self, change: impl FnOnce(&mut Group<6>)) {
        if !cfg!(garrick_loom) {
            let mut rare = self.rare.borrow_mut();
            change(&mut rare);
            rare.publish();
        }
    }

    /// Records that the worker goes to sleep. `is_empty` is true if no message waits in the mailbox
    /// of any of its tasks.
    pub(crate) fn parks(&self, now: Nanos, is_empty: bool) {
        self.clocking.rested();
        if let Some(gauge) = &self.gauge {
            gauge.rested();
        }
        let has_shown = self.tally.as_ref().is_some_and(Tally::has_shown);
        if is_empty && (has_shown || self.wants_census()) {
            self.take_census(now, true, |_| {});
        }
        self.change(|rare| {
            rare.add(PARKS, 1);
            rare.set(SINCE, now.saturating_add(1));
        });
    }

    /// Returns true if the worker was last recorded as sleeping.
    pub(crate) fn is_parked(&self) -> bool {
        self.rare.borrow().values()[SINCE] != 0
    }

    /// Records the end of the sleep and returns the time. Returns `None` if the worker was not
    /// sleeping.
    pub(crate) fn wakes(&self, now: impl FnOnce() -> Nanos) -> Option<Nanos> {
        if !self.is_parked() {
            return None;
        }
        let now = now();
        self.change(|rare| {
            let since = rare.values()[SINCE];
            rare.add(PARKED, now.saturating_add(1).saturating_sub(since));
            rare.set(SINCE, 0);
        });
        Some(now)
    }

    /// Counts `count` cells that were given away.
    pub(crate) fn published(&self, count: usize) {
        self.change(|rare| rare.add(PUBLISHED, count as u64));
    }

    /// Counts a cell that this worker has taken from the shared queue or from another worker.
    pub(crate) fn claimed(&self) {
        self.change(|rare| rare.add(CLAIMED, 1));
    }
}

impl LaneReader {
    /// Returns the counters that are always counted. `now` is needed to include the current sleep,
    /// if there is one. Returns zeros if the worker was publishing its counters at each try.
    fn worker(&self, now: Nanos) -> WorkerSample {
        let rare = self.rare.try_snapshot().unwrap_or_default();
        let asleep = match rare[SINCE] {
            0 => 0,
            since => now.saturating_add(1).saturating_sub(since),
        };
        WorkerSample {
            turns: rare[TURNS],
            parks: rare[PARKS],
            parked: rare[PARKED] + asleep,
            published: rare[PUBLISHED],
            claimed: rare[CLAIMED],
            ..WorkerSample::default()
        }
    }

    /// Adds the activity of the worker to a sample. The activity was read between the times `now`
    /// and `later`.
    fn add_activity(
        &self,
        activity: Activity,
        now: Nanos,
        later: Nanos,
        sample: &mut WorkerSample,
    ) {
        let Some(counted) = &self.counted else { return };
        sample.activations = activity.activations();
        let Some(place) = activity.place() else {
            return;
        };
        {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            if seen.activity != activity {
                *seen = Seen {
                    activity,
                    since: later,
                };
            }
            // Relaxed: the word is independent.
            let beginning = Beginning::from_word(counted.beginning.load(Relaxed));
            let since = beginning.time_of(activity).unwrap_or(seen.since);
            sample.lasts = now.saturating_sub(since);
        }
        // The name comes from foreign code, which is called after the lock is released.
        sample.running = Some(kinds::name_of(counted.kinds.table_at(place)));
    }

    /// Returns the worker's current activity.
    fn activity(&self) -> Activity {
        let counted = self.counted.as_deref();
        counted.map_or_else(Activity::default, Counted::activity)
    }

    /// Returns the tasks that the last census has listed, and the length of the period in which
    /// their times were counted.
    fn tasks(&self, now: Nanos) -> (Found, Nanos) {
        let Some(counted) = &self.counted else {
            return Default::default();
        };
        let found = counted.censuses.found();
        // The tasks of a worker that sleeps do not run.
        let until = if self.sleeps() { now } else { found.at };
        let over = until.saturating_sub(found.began);
        (found, over)
    }

    /// Returns true if the worker sleeps. A sleeping worker takes no census.
    fn sleeps(&self) -> bool {
        self.rare.try_snapshot().unwrap_or_default()[SINCE] != 0
    }

    /// Returns true if the worker has not answered the last request for a census and is awake.
    fn wants_census(&self) -> bool {
        let counted = self.counted.as_ref();
        counted.is_some_and(|counted| counted.censuses.is_asked()) && !self.sleeps()
    }

    /// Adds the counts by kind.
    fn add_kinds(&self, kinds: &mut Vec<Unnamed>) {
        if let Some(counted) = &self.counted {
            counted.kinds.add_to(kinds);
        }
    }
}

/// The lanes of a sponsor, and the counts of tasks that were created outside of it.
pub(crate) struct Lanes {
    /// A reader for each worker. Set when the worker starts.
    readers: Vec<OnceLock<LaneReader>>,
    /// Counts of tasks that other threads have created for this sponsor, if kinds are counted.
    outside: Option<Mutex<Kinds>>,
    /// Turns of the sponsor that are away, if kinds are counted.
    away: Option<TurnsAway>,
}

impl Lanes {
    /// Creates lanes for `workers` workers.
    pub(crate) fn new(workers: usize, counts: bool) -> Self {
        Self {
            readers: (0..workers).map(|_| OnceLock::new()).collect(),
            outside: counts.then(|| Mutex::new(Kinds::new())),
            away: counts.then(TurnsAway::default),
        }
    }

    /// Creates the lane of worker number `index`.
    pub(crate) fn open(&self, index: usize, seed: impl FnOnce() -> u64) -> Lane {
        let counts = self.outside.is_some();
        let lane = Lane::new(counts, if counts { seed() } else { 0 });
        let fresh = self.readers[index].set(lane.reader()).is_ok();
        debug_assert!(fresh, "a worker begins once");
        lane
    }

    /// Counts a task that a thread outside of the sponsor has created for the sponsor or moved to
    /// it.
    pub(crate) fn begun_outside(&self, cell: CellPtr) {
        if let Some(outside) = &self.outside {
            let kinds = outside.lock().unwrap_or_else(PoisonError::into_inner);
            kinds.of(cell.table()).add(Count::Begun, 1);
        }
    }

    /// Counts a turn that leaves its seat, by the kind of its task. Returns the number of the turn
    /// if kinds are counted.
    pub(crate) fn leave(&self, table: &'static Table, now: impl FnOnce() -> Nanos) -> Option<u64> {
        let away = self.away.as_ref()?;
        Some(away.leave(table, now()))
    }

    /// Counts the turn with the number `number` as back on its seat.
    pub(crate) fn come_back(&self, number: Option<u64>) {
        if let (Some(away), Some(number)) = (&self.away, number) {
            away.come_back(number);
        }
    }

    /// Returns the turns that are away, by kind.
    pub(crate) fn away(&self, now: Nanos) -> Vec<AwaySample> {
        let away = self.away.as_ref();
        away.map_or_else(Vec::new, |away| away.samples(now))
    }

    /// Returns the counters of the workers, in the order of their indices. `clock` is called to get
    /// the time after the counters were read.
    pub(crate) fn workers(&self, now: Nanos, clock: impl FnOnce() -> Nanos) -> Vec<WorkerSample> {
        let readers: Vec<_> = self.readers.iter().map(OnceLock::get).collect();
        let activity = |reader: &Option<&LaneReader>| reader.map(LaneReader::activity);
        let activities: Vec<_> = readers.iter().map(activity).collect();
        // An activity that is seen for the first time began before `later`, and one that is seen
        // again has lasted until `now`. So no activation is reported longer than it is.
        let later = if self.outside.is_some() { clock() } else { now };
        let sample = |(reader, activity): (Option<&LaneReader>, Option<Activity>)| {
            let mut sample = reader.map_or_else(WorkerSample::default, |lane| lane.worker(now));
            if let (Some(lane), Some(activity)) = (reader, activity) {
                lane.add_activity(activity, now, later, &mut sample);
            }
            sample
        };
        readers.into_iter().zip(activities).map(sample).collect()
    }

    /// Requests a census of each worker. Returns true if at least one worker is awake and must
    /// answer.
    pub(crate) fn ask_census(&self) -> bool {
        for lane in self.readers.iter().filter_map(OnceLock::get) {
            if let Some(counted) = &lane.counted {
                counted.censuses.ask();
            }
        }
        self.want_census()
    }

    /// Returns true if a worker that is awake has not answered the last request for a census.
    pub(crate) fn want_census(&self) -> bool {
        let mut lanes = self.readers.iter().filter_map(OnceLock::get);
        lanes.any(LaneReader::wants_census)
    }

    /// Returns the tasks with the longest mailboxes and the busiest tasks of all workers.
    pub(crate) fn tasks(&self, now: Nanos) -> Vec<TaskSample> {
        let mut tasks = Outstanding::default();
        for lane in self.readers.iter().filter_map(OnceLock::get) {
            let (found, over) = lane.tasks(now);
            tasks.add(found.busiest, found.longest, over);
        }
        tasks.samples()
    }

    /// Returns the counters of the tasks, by kind.
    pub(crate) fn kinds(&self) -> Vec<KindSample> {
        let mut kinds = Vec::new();
        for lane in self.readers.iter().filter_map(OnceLock::get) {
            lane.add_kinds(&mut kinds);
        }
        // These counters are read last: a task that has ended on a worker was counted as begun
        // before that.
        if let Some(outside) = &self.outside {
            let outside = outside.lock().unwrap_or_else(PoisonError::into_inner);
            outside.add_to(&mut kinds);
        }
        kinds::named(kinds)
    }
}

impl Counted {
    fn activity(&self) -> Activity {
        // Relaxed: the word is independent, and a place is never freed.
        Activity::from_word(self.activity.load(Relaxed))
    }

    /// Publishes another activity. Only the worker may call this.
    #[inline]
    fn change_activity(&self, change: impl FnOnce(Activity) -> Activity) {
        // Relaxed: one writer, and the word is independent.
        let next = change(self.activity());
        self.activity.store(next.word(), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::super::clocking::{GAP_MAX, GAP_SHARE};
    use super::*;
    use crate::runtime::tables::nothing_to_drop;

    #[test]
    fn what_runs_after_a_rest_is_timed_and_the_samples_stand_for_all() {
        let clocking = Clocking::new(7);
        for count in [1_u64, 5, 100, 10_000] {
            clocking.rested();
            let timed: Vec<_> = (0..count).filter_map(|_| clocking.step()).collect();
            let stood_for: u64 = timed.iter().sum();
            let first = count.min(GAP_SHARE) as usize;
            assert_eq!(
                timed[..first],
                vec![1; first],
                "{count}: the first are all timed"
            );
            assert!(stood_for <= count + GAP_MAX, "{count}: {stood_for}");
            assert!(count - count / GAP_SHARE <= stood_for + GAP_MAX.min(count / GAP_SHARE));
        }
    }

    #[test]
    fn no_rhythm_deceives_the_samples() {
        let clocking = Clocking::new(11);
        let mut weights = [0; 2];
        for step in 0..1_000_000 {
            if let Some(weight) = clocking.step() {
                weights[step % 2] += weight;
            }
        }
        let share = weights[0] as f64 / (weights[0] + weights[1]) as f64;
        assert!(
            (0.45..0.55).contains(&share),
            "half of them are even: {share}"
        );
    }

    /// Time for which activations are run, and duration of a quick one.
    const TIME: Nanos = 2_000_000_000;
    const QUICK: Nanos = 100;

    /// Two kinds of tasks.
    static FIRST: Table = Table::of_messages::<u8>(nothing_to_drop);
    static SECOND: Table = Table::of_messages::<u8>(nothing_to_drop);

    /// A lane with a clock of its own.
    struct Simulated {
        lane: Lane,
        now: Nanos,
        activations: u64,
        timed: Cell<u64>,
    }

    impl Simulated {
        fn new(seed: u64) -> Self {
            Self {
                lane: Lane::new(true, seed),
                now: 0,
                activations: 0,
                timed: Cell::new(0),
            }
        }

        /// Runs an activation that takes `lasts`.
        fn run(&mut self, table: &'static Table, lasts: Nanos) {
            let task = TaskId(std::ptr::from_ref(table).addr());
            self.lane.begin(table, task, self.activations, |_| {
                self.timed.set(self.timed.get() + 1);
                Looked {
                    now: self.now,
                    label: None,
                }
            });
            self.now += lasts;
            self.activations += 1;
            self.lane.end(self.activations, || self.now);
        }

        /// Runs one slow activation, and then `count` quick ones of `kind`.
        fn round(&mut self, slow: Nanos, count: usize, kind: &'static Table) {
            self.run(&FIRST, slow);
            (0..count).for_each(|_| self.run(kind, QUICK));
            let all = self.busy(&FIRST) + self.busy(&SECOND);
            assert!(all <= self.now, "no more time is measured than has passed");
        }

        /// Runs rounds for [`TIME`]. Returns the measured time of the first kind, as a share of
        /// its true time.
        fn share(&mut self, slow: Nanos, count: usize, kind: &'static Table) -> f64 {
            let mut truth = 0;
            while self.now < TIME {
                let began = self.now;
                self.round(slow, count, kind);
                let is_same = std::ptr::eq(kind, &raw const FIRST);
                truth += if is_same { self.now - began } else { slow };
            }
            self.busy(&FIRST) as f64 / truth as f64
        }

        /// Returns the measured time of a kind.
        fn busy(&self, table: &'static Table) -> Nanos {
            let mut kinds = Vec::new();
            self.lane.reader().add_kinds(&mut kinds);
            let of = kinds
                .iter()
                .find(|(of, _)| of.is_some_and(|of| std::ptr::eq(of, table)));
            of.map_or(0, |(_, sample)| sample.busy)
        }
    }

    #[test]
    fn a_slow_kind_among_quick_ones_is_measured_exactly() {
        for (slow, count) in [
            (30_000_000, 3_000),
            (5_000_000, 5_000),
            (1_000_000, 1_000),
            (1_000_000, 2_000),
            (100_000, 200),
            (40_000, 1_000),
        ] {
            let mut lane = Simulated::new(13);
            let share = lane.share(slow, count, &SECOND);
            assert!((0.97..=1.0).contains(&share), "{slow}, {count}: {share}");
            let all = (lane.busy(&FIRST) + lane.busy(&SECOND)) as f64 / lane.now as f64;
            assert!((0.9..=1.0).contains(&all), "{slow}, {count}: {all}");
        }
    }

    #[test]
    fn a_slow_task_among_quick_ones_of_its_kind_is_found() {
        for (slow, count, least) in [
            (30_000_000, 3_000, 0.95),
            (30_000_000, 10_000, 0.5),
            (5_000_000, 600, 0.95),
            (1_000_000, 100, 0.95),
        ] {
            let share = Simulated::new(13).share(slow, count, &FIRST);
            assert!((least..=1.0).contains(&share), "{slow}, {count}: {share}");
        }
    }

    #[test]
    fn a_slow_kind_is_found_within_a_second() {
        for (slow, count) in [(5_000_000, 5_000), (1_000_000, 2_000), (100_000, 1_000)] {
            // Each seed chooses other activations.
            for seed in 1..20 {
                let mut lane = Simulated::new(seed * 0x9e37_79b9);
                // So many quick ones come first that the gaps are long.
                (0..10_000).for_each(|_| lane.run(&SECOND, QUICK));
                let began = lane.now;
                while lane.busy(&FIRST) == 0 {
                    lane.round(slow, count, &SECOND);
                }
                let took = lane.now - began;
                assert!(took < 1_000_000_000, "{slow}, {count}: {took}");
            }
        }
    }

    #[test]
    fn quick_tasks_are_timed_rarely() {
        let mut lane = Simulated::new(13);
        for _ in 0..1_000_000 {
            lane.run(&FIRST, 30);
            lane.run(&SECOND, 20);
        }
        let share = lane.busy(&FIRST) as f64 / 30e6;
        assert!((0.9..1.1).contains(&share), "{share}");
        let timed = lane.timed.get() as f64 / lane.activations as f64;
        assert!(timed < 0.01, "{timed}");
    }

    #[test]
    fn bursts_are_measured_as_a_whole() {
        for burst in [30, 100, 300, 1_000] {
            let clocking = Clocking::new(17);
            let (mut now, mut worked, mut found) = (0, 0, 0);
            for _ in 0..2_000 {
                clocking.rested();
                now += 1_000_000;
                for _ in 0..burst {
                    let weight = clocking.step();
                    now += 300;
                    worked += 300;
                    if let Some(weight) = weight {
                        found += clocking.timed(TimeBy::Gap(weight), now - 300, now);
                    }
                }
            }
            let share = found as f64 / worked as f64;
            assert!((0.92..=1.0).contains(&share), "{burst}: {share}");
        }
    }

    #[test]
    fn sleep_counts_while_it_lasts() {
        let lane = Lane::new(false, 1);
        let reader = lane.reader();
        lane.show_turns(5);
        lane.parks(100, true);
        assert_eq!(reader.worker(130).parked, 30);
        lane.wakes(|| 150);
        lane.wakes(|| 170);
        let sample = reader.worker(200);
        assert_eq!((sample.parked, sample.parks, sample.turns), (50, 1, 5));
    }
}
