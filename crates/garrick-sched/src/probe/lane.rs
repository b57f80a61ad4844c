//! Counters of one worker.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use garrick_core::count::{Group, GroupReader};
use garrick_core::prim::atomic::{AtomicU64, Ordering::Relaxed};

use super::activity::Activity;
use super::away::TurnsAway;
use super::kinds::{self, Count, Kinds, Unnamed};
use super::{AwaySample, KindSample, WorkerSample};
use crate::cell::{CellPtr, Table};
use crate::world::Nanos;

/// Indices of the counters in [`Lane::rare`].
const TURNS: usize = 0;
const PARKS: usize = 1;
const PARKED: usize = 2;
/// Time at which the worker fell asleep, plus 1. It is 0 while the worker is awake.
const SINCE: usize = 3;
const PUBLISHED: usize = 4;
const CLAIMED: usize = 5;

/// On average, at least one of `n / GAP_SHARE` activations is timed, where n is the number of
/// activations since the last rest.
const GAP_SHARE: u64 = 8;
/// On average, at least one of this number of activations is always timed.
const GAP_MAX: u64 = 256;
/// Time between two timed activations from which on more of the next activations are timed.
const LONG: Nanos = 50_000;
/// After a long time, the number of additional timed activations is this time divided by
/// `TIMED_EVERY`. Timing an activation takes about a fortieth of `TIMED_EVERY`.
const TIMED_EVERY: Nanos = 2_000;
/// Maximum number of activations that may be timed in addition after a long time.
const SPARE_MAX: u64 = 16_384;

/// Counters of one worker. Only this worker writes them.
pub(crate) struct Lane {
    /// Counters that are always counted, and change rarely.
    rare: RefCell<Group<6>>,
    /// Counters by kind, if kinds are counted.
    counted: Option<Arc<Counted>>,
    /// The current activation.
    activation: Cell<Option<Activation>>,
    clocking: Clocking,
}

/// Counters that change with each activation. Written by the worker, read by any thread.
struct Counted {
    kinds: Kinds,
    /// Word of the current [`Activity`].
    activity: AtomicU64,
}

/// Current activation of a worker.
#[derive(Clone, Copy)]
struct Activation {
    /// Place of its kind.
    place: usize,
    /// Number of turns of the worker before the activation.
    turns: u64,
    /// Start time of the activation, and the number of activations that it represents. `None` if
    /// the activation is not timed.
    timed: Option<(Nanos, u64)>,
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
            })
        };
        Self {
            rare: RefCell::default(),
            counted: counts.then(counted),
            activation: Cell::new(None),
            clocking: Clocking::new(seed),
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

    /// Counts a turn that failed.
    pub(crate) fn failed(&self, cell: CellPtr) {
        self.count(cell, Count::Failures);
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

    /// Begins an activation. `turns` is the number of earlier turns of the worker. `look` returns
    /// the time and the number of waiting messages. `look` is called only if the activation is
    /// timed.
    #[inline]
    pub(crate) fn begin(
        &self,
        table: &'static Table,
        turns: u64,
        look: impl FnOnce() -> (Nanos, u64),
    ) {
        let Some(counted) = &self.counted else { return };
        let weight = self.clocking.step();
        let place = counted.kinds.place_of(table);
        let timed = weight.map(|weight| {
            let (now, waiting) = look();
            let kind = counted.kinds.at(place);
            kind.add(Count::Looks, 1);
            kind.add(Count::Waiting, waiting);
            (now, weight)
        });
        counted.change_activity(|activity| activity.begins(place));
        self.activation.set(Some(Activation {
            place,
            turns,
            timed,
        }));
    }

    /// Ends the activation. `turns` is the number of turns of the worker so far.
    #[inline]
    pub(crate) fn end(&self, turns: u64, now: impl FnOnce() -> Nanos) {
        let (Some(counted), Some(activation)) = (&self.counted, self.activation.take()) else {
            return;
        };
        let kind = counted.kinds.at(activation.place);
        kind.add(Count::Turns, turns.saturating_sub(activation.turns));
        kind.add(Count::Activations, 1);
        if let Some((began, weight)) = activation.timed {
            let ended = now();
            // Saturating: the clock of a world may jump arbitrarily, and nothing may panic when a
            // turn has committed.
            let lasted = ended.saturating_sub(began);
            let passed = self.clocking.timed(began, ended);
            kind.add(Count::Busy, lasted.saturating_mul(weight).min(passed));
        }
        counted.change_activity(Activity::ends);
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

    /// Records that the worker goes to sleep.
    pub(crate) fn parks(&self, now: Nanos) {
        self.clocking.rested();
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

    /// Counts a cell that was taken over from another worker.
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

    /// Adds the activity of the worker between `now` and `later` to a sample.
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
            sample.lasts = now.saturating_sub(seen.since);
        }
        // Foreign code, and so called without the lock.
        sample.running = Some(kinds::name_of(counted.kinds.table_at(place)));
    }

    /// Returns the worker's current activity.
    fn activity(&self) -> Activity {
        let counted = self.counted.as_deref();
        counted.map_or_else(Activity::default, Counted::activity)
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

    /// Counts a turn of a kind that leaves its seat. Returns the number of the turn if kinds are
    /// counted.
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

    /// Returns the counters of the tasks, by kind.
    pub(crate) fn kinds(&self) -> Vec<KindSample> {
        let mut kinds = Vec::new();
        for lane in self.readers.iter().filter_map(OnceLock::get) {
            lane.add_kinds(&mut kinds);
        }
        // Last: a task that has ended here was counted as begun by then.
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

/// Selects the activations that are timed. Each of them represents the activations since the last
/// timed one, including itself.
///
/// The number of represented activations is random, and its average increases with the number of
/// activations since the last rest. But the more time has passed since the last timed activation,
/// the more of the next activations are all timed. So if one task in a thousand takes long, its
/// activations are timed, except for the first one.
pub(crate) struct Clocking {
    /// Number of activations from the last rest to the next timed one.
    since_rest: Cell<u64>,
    /// Number of activations that the next timed one represents.
    gap: Cell<u64>,
    /// Number of activations before the next timed one.
    left: Cell<u64>,
    /// Number of activations that are timed next, without a gap.
    spare: Cell<u64>,
    /// End of the last timed activation, or `None` after a rest.
    ended: Cell<Option<Nanos>>,
    random: Cell<u64>,
}

impl Clocking {
    fn new(seed: u64) -> Self {
        let clocking = Self {
            since_rest: Cell::new(0),
            gap: Cell::new(1),
            left: Cell::new(0),
            spare: Cell::new(0),
            ended: Cell::new(None),
            random: Cell::new(seed | 1),
        };
        clocking.rested();
        clocking
    }

    /// Starts again with short gaps, after a rest.
    fn rested(&self) {
        self.since_rest.set(1);
        self.gap.set(1);
        self.left.set(0);
        self.ended.set(None);
    }

    /// Advances by one activation. If it is timed, returns the number of activations that it
    /// represents.
    #[inline]
    fn step(&self) -> Option<u64> {
        let left = self.left.get();
        if left > 0 {
            self.left.set(left - 1);
            return None;
        }
        Some(self.gap.get())
    }

    /// Records the beginning and the end of a timed activation, and chooses the next one to time.
    /// Returns the time that has passed since the last timed activation ended, which is an upper
    /// bound on the total duration of the represented activations.
    #[inline(never)]
    fn timed(&self, began: Nanos, ended: Nanos) -> Nanos {
        let since = self.ended.replace(Some(ended)).unwrap_or(began);
        let passed = ended.saturating_sub(since);
        let more = if passed < LONG {
            0
        } else {
            passed / TIMED_EVERY
        };
        let spare = (self.spare.get() + more).min(SPARE_MAX);
        let gap = if spare > 0 {
            self.spare.set(spare - 1);
            1
        } else {
            let average = (self.since_rest.get() / GAP_SHARE).clamp(1, GAP_MAX);
            1 + self.draw() % (2 * average - 1)
        };
        self.since_rest.set(self.since_rest.get() + gap);
        self.gap.set(gap);
        self.left.set(gap - 1);
        passed
    }

    /// Returns the next random number of Marsaglia's xorshift64 (2003).
    fn draw(&self) -> u64 {
        let mut x = self.random.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.random.set(x);
        x >> 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_after_a_rest_is_timed_and_the_samples_stand_for_all() {
        let clocking = Clocking::new(7);
        for count in [1_u64, 5, 100, 10_000] {
            clocking.rested();
            let step = |_| {
                clocking
                    .step()
                    .inspect(|_| assert_eq!(clocking.timed(0, 0), 0))
            };
            let timed: Vec<_> = (0..count).filter_map(step).collect();
            let stood_for: u64 = timed.iter().sum();
            let first = count.min(GAP_SHARE) as usize;
            assert_eq!(
                timed[..first],
                vec![1; first],
                "{count}: the first are all timed"
            );
            let at_the_end = (2 * GAP_MAX).min(2 * count / GAP_SHARE);
            assert!(stood_for <= count, "{count}: {stood_for}");
            assert!(count <= stood_for + at_the_end, "{count}: {stood_for}");
        }
    }

    #[test]
    fn no_rhythm_deceives_the_samples() {
        let clocking = Clocking::new(11);
        let mut weights = [0; 2];
        for step in 0..1_000_000 {
            if let Some(weight) = clocking.step() {
                weights[step % 2] += weight;
                clocking.timed(0, 0);
            }
        }
        let share = weights[0] as f64 / (weights[0] + weights[1]) as f64;
        assert!(
            (0.45..0.55).contains(&share),
            "half of them are even: {share}"
        );
    }

    /// Runs activations of these durations for a second. Returns the time that was measured for
    /// those of the first duration, as a share of their true time, and the number of clock reads.
    fn measured(durations: impl Iterator<Item = Nanos> + Clone, slow: Nanos) -> (f64, u64, u64) {
        let clocking = Clocking::new(13);
        let (mut now, mut activations, mut timed_ones) = (0, 0, 0);
        let (mut truth, mut found, mut all) = (0, 0, 0);
        for lasted in durations.cycle() {
            if now >= 1_000_000_000 {
                break;
            }
            let weight = clocking.step();
            now += lasted;
            activations += 1;
            truth += if lasted == slow { lasted } else { 0 };
            let Some(weight) = weight else { continue };
            timed_ones += 1;
            let passed = clocking.timed(now - lasted, now);
            let busy = (lasted * weight).min(passed);
            all += busy;
            found += if lasted == slow { busy } else { 0 };
        }
        assert!(all <= now, "no more time was measured than has passed");
        (found as f64 / truth as f64, timed_ones, activations)
    }

    #[test]
    fn a_slow_task_among_many_quick_ones_is_measured_exactly() {
        for (slow, quick) in [(30_000_000, 3_000), (5_000_000, 1_000), (1_000_000, 300)] {
            let durations = std::iter::once(slow).chain((0..quick).map(|_| 100));
            let (share, ..) = measured(durations, slow);
            assert!((0.95..=1.0).contains(&share), "{slow}: {share}");
        }
    }

    #[test]
    fn quick_tasks_are_timed_rarely() {
        let (share, timed, activations) = measured([20, 30].into_iter(), 20);
        assert!((0.9..1.1).contains(&share), "{share}");
        assert!(timed < activations / 100, "{timed} of {activations}");
        // The more time they take, the more of them are timed.
        let (_, timed, activations) = measured(std::iter::once(1_000), 1_000);
        assert!(timed < activations * 2 / 3, "{timed} of {activations}");
    }

    #[test]
    fn sleep_counts_while_it_lasts() {
        let lane = Lane::new(false, 1);
        let reader = lane.reader();
        lane.show_turns(5);
        lane.parks(100);
        assert_eq!(reader.worker(130).parked, 30);
        lane.wakes(|| 150);
        lane.wakes(|| 170);
        let sample = reader.worker(200);
        assert_eq!((sample.parked, sample.parks, sample.turns), (50, 1, 5));
    }
}
