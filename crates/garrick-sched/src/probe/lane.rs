//! What one worker counts.

use std::cell::{Cell, RefCell};
use std::ptr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use garrick_core::count::{Group, GroupReader};
use garrick_core::prim::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed};

use super::kinds::{self, Count, Kinds, Unnamed};
use super::{KindSample, WorkerSample};
use crate::cell::{CellPtr, Table};
use crate::world::Nanos;

/// The counters that go together: [`Lane::rare`].
const TURNS: usize = 0;
const PARKS: usize = 1;
const PARKED: usize = 2;
/// When it went to sleep, and 1; or 0.
const SINCE: usize = 3;
const PUBLISHED: usize = 4;
const CLAIMED: usize = 5;

/// One in so many activations is timed at least, after a rest and later.
const GAP_SHARE: u64 = 8;
/// And one in so many at least, at all times.
const GAP_MAX: u64 = 256;

/// The counters of one worker, which alone writes them.
pub(crate) struct Lane {
    /// What is counted at all times, and rarely.
    rare: RefCell<Group<6>>,
    /// What is counted by kind, if that is wanted.
    counted: Option<Arc<Counted>>,
    /// The activation under way.
    activation: Cell<Option<Activation>>,
    clocking: Clocking,
}

/// What is counted once an activation. Written by the worker, read by everybody.
struct Counted {
    kinds: Kinds,
    activations: AtomicU64,
    /// The kind that runs now, or null.
    running: AtomicPtr<Table>,
}

/// An activation under way.
#[derive(Clone, Copy)]
struct Activation {
    table: &'static Table,
    /// Turns of the worker before it.
    turns: u64,
    /// When it began, and how many activations it stands for, if it is timed.
    timed: Option<(Nanos, u64)>,
}

/// Reads a [`Lane`].
struct LaneReader {
    rare: GroupReader<6>,
    counted: Option<Arc<Counted>>,
}

impl Lane {
    /// `counts` says whether kinds are counted; `seed` makes the samples random.
    pub(crate) fn new(counts: bool, seed: u64) -> Self {
        let counted = || {
            Arc::new(Counted {
                kinds: Kinds::new(),
                activations: AtomicU64::new(0),
                running: AtomicPtr::default(),
            })
        };
        Self {
            rare: RefCell::default(),
            counted: counts.then(counted),
            activation: Cell::new(None),
            clocking: Clocking::new(seed),
        }
    }

    /// A reader of it.
    fn reader(&self) -> LaneReader {
        LaneReader {
            rare: self.rare.borrow().reader(),
            counted: self.counted.clone(),
        }
    }

    /// Whether kinds are counted.
    #[inline]
    pub(crate) fn counts(&self) -> bool {
        self.counted.is_some()
    }

    /// A task has been made here.
    #[inline]
    pub(crate) fn begun(&self, cell: CellPtr) {
        self.count(cell, Count::Begun);
    }

    /// A task is about to end here, or to leave.
    #[inline]
    pub(crate) fn ended(&self, cell: CellPtr) {
        self.count(cell, Count::Ended);
    }

    /// A turn has panicked.
    pub(crate) fn panicked(&self, cell: CellPtr) {
        self.count(cell, Count::Panics);
    }

    /// A task has survived its panic.
    pub(crate) fn recovered(&self, cell: CellPtr) {
        self.count(cell, Count::Recoveries);
    }

    #[inline]
    fn count(&self, cell: CellPtr, count: Count) {
        if let Some(counted) = &self.counted {
            counted.kinds.of(cell.table()).add(count, 1);
        }
    }

    /// An activation begins after so many turns of the worker. If it is one to be timed, `look` says what time it is, and
    /// how many messages wait.
    #[inline]
    pub(crate) fn begin(
        &self,
        table: &'static Table,
        turns: u64,
        look: impl FnOnce() -> (Nanos, u64),
    ) {
        let Some(counted) = &self.counted else { return };
        let weight = self.clocking.step();
        let timed = weight.map(|weight| {
            let (now, waiting) = look();
            let kind = counted.kinds.of(table);
            kind.add(Count::Looks, 1);
            kind.add(Count::Waiting, waiting);
            (now, weight)
        });
        counted
            .running
            .store(ptr::from_ref(table).cast_mut(), Relaxed);
        self.activation.set(Some(Activation {
            table,
            turns,
            timed,
        }));
    }

    /// The activation is over, after so many turns of the worker.
    #[inline]
    pub(crate) fn end(&self, turns: u64, now: impl FnOnce() -> Nanos) {
        let (Some(counted), Some(activation)) = (&self.counted, self.activation.take()) else {
            return;
        };
        let kind = counted.kinds.of(activation.table);
        kind.add(Count::Turns, turns.saturating_sub(activation.turns));
        kind.add(Count::Activations, 1);
        if let Some((began, weight)) = activation.timed {
            // Saturating: the clock of a world may leap as far as it likes, and nothing may panic when a turn has committed.
            kind.add(
                Count::Busy,
                now().saturating_sub(began).saturating_mul(weight),
            );
        }
        // Relaxed, both: one writer; a reader that sees one activation twice looks at this alone.
        let activations = counted.activations.load(Relaxed);
        counted.activations.store(activations + 1, Relaxed);
    }

    /// Shows how many turns there were.
    pub(crate) fn show_turns(&self, turns: u64) {
        self.change(|rare| rare.set(TURNS, turns));
    }

    /// Changes what is counted at all times, and shows it. Not in models of what is counted: these counts order nothing, and
    /// the group has models of its own.
    #[inline]
    fn change(&self, change: impl FnOnce(&mut Group<6>)) {
        if !cfg!(garrick_loom) {
            let mut rare = self.rare.borrow_mut();
            change(&mut rare);
            rare.publish();
        }
    }

    /// The worker goes to sleep.
    pub(crate) fn parks(&self, now: Nanos) {
        if let Some(counted) = &self.counted {
            counted.running.store(ptr::null_mut(), Relaxed);
        }
        self.clocking.rested();
        self.change(|rare| {
            rare.add(PARKS, 1);
            rare.set(SINCE, now.saturating_add(1));
        });
    }

    /// Ends the sleep, if there is one, and returns the time then.
    pub(crate) fn wakes(&self, now: impl FnOnce() -> Nanos) -> Option<Nanos> {
        if self.rare.borrow().values()[SINCE] == 0 {
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

    /// It has given `count` cells away.
    pub(crate) fn published(&self, count: usize) {
        self.change(|rare| rare.add(PUBLISHED, count as u64));
    }

    /// It has taken one over.
    pub(crate) fn claimed(&self) {
        self.change(|rare| rare.add(CLAIMED, 1));
    }
}

impl LaneReader {
    /// What was counted at all times; `now` is for a sleep that lasts. None if the worker was busy showing it at
    /// each try.
    fn worker(&self, now: Nanos) -> Option<WorkerSample> {
        let rare = self.rare.try_snapshot().ok()?;
        let asleep = match rare[SINCE] {
            0 => 0,
            since => now.saturating_add(1).saturating_sub(since),
        };
        let counted = self.counted.as_deref();
        Some(WorkerSample {
            turns: rare[TURNS],
            parks: rare[PARKS],
            parked: rare[PARKED] + asleep,
            published: rare[PUBLISHED],
            claimed: rare[CLAIMED],
            activations: counted.map_or(0, |counted| counted.activations.load(Relaxed)),
            running: counted.and_then(Counted::running),
        })
    }

    /// Adds what was counted by kind.
    fn add_kinds(&self, kinds: &mut Vec<Unnamed>) {
        if let Some(counted) = &self.counted {
            counted.kinds.add_to(kinds);
        }
    }
}

/// The lanes of a sponsor, and what is counted from outside.
pub(crate) struct Lanes {
    /// One for each worker, from when it begins.
    readers: Vec<OnceLock<LaneReader>>,
    /// What threads of others have made here, if kinds are counted.
    outside: Option<Mutex<Kinds>>,
}

impl Lanes {
    /// Lanes for `workers` workers.
    pub(crate) fn new(workers: usize, counts: bool) -> Self {
        Self {
            readers: (0..workers).map(|_| OnceLock::new()).collect(),
            outside: counts.then(|| Mutex::new(Kinds::new())),
        }
    }

    /// The lane of worker number `index` of the sponsor.
    pub(crate) fn open(&self, index: usize, seed: impl FnOnce() -> u64) -> Lane {
        let counts = self.outside.is_some();
        let lane = Lane::new(counts, if counts { seed() } else { 0 });
        let fresh = self.readers[index].set(lane.reader()).is_ok();
        debug_assert!(fresh, "a worker begins once");
        lane
    }

    /// A thread that is no worker of the sponsor has made a task for it, or given it one.
    pub(crate) fn begun_outside(&self, cell: CellPtr) {
        if let Some(outside) = &self.outside {
            let kinds = outside.lock().unwrap_or_else(PoisonError::into_inner);
            kinds.of(cell.table()).add(Count::Begun, 1);
        }
    }

    /// What the workers have done, those first that began first.
    pub(crate) fn workers(&self, now: Nanos) -> Vec<WorkerSample> {
        let sample = |reader: &OnceLock<LaneReader>| reader.get().and_then(|lane| lane.worker(now));
        self.readers
            .iter()
            .map(|reader| sample(reader).unwrap_or_default())
            .collect()
    }

    /// What the tasks have done, kind by kind.
    pub(crate) fn kinds(&self) -> Vec<KindSample> {
        let mut kinds = Vec::new();
        for lane in self.readers.iter().filter_map(OnceLock::get) {
            lane.add_kinds(&mut kinds);
        }
        // Last: what has ended here was counted as begun by then.
        if let Some(outside) = &self.outside {
            let outside = outside.lock().unwrap_or_else(PoisonError::into_inner);
            outside.add_to(&mut kinds);
        }
        kinds::named(kinds)
    }
}

impl Counted {
    fn running(&self) -> Option<&'static str> {
        let table = self.running.load(Relaxed);
        // SAFETY: made from a `&'static Table`, or null.
        let table: Option<&'static Table> = unsafe { table.as_ref() };
        table.map(Table::name_of)
    }
}

/// Which activations are timed: one in each gap, at a random place. Gaps begin with 1 after a rest, and grow with
/// what has run since.
pub(crate) struct Clocking {
    /// Activations since the rest, up to the end of this gap.
    since_rest: Cell<u64>,
    /// Length of this gap.
    gap: Cell<u64>,
    /// Activations until the one that is timed.
    left: Cell<u64>,
    /// Activations in this gap after that.
    after: Cell<u64>,
    random: Cell<u64>,
}

impl Clocking {
    fn new(seed: u64) -> Self {
        let clocking = Self {
            since_rest: Cell::new(0),
            gap: Cell::new(1),
            left: Cell::new(0),
            after: Cell::new(0),
            random: Cell::new(seed | 1),
        };
        clocking.rested();
        clocking
    }

    /// The next activations are timed.
    fn rested(&self) {
        self.since_rest.set(1);
        self.gap.set(1);
        self.left.set(0);
        self.after.set(0);
    }

    /// The next activation: for how many it stands, if it is one to be timed.
    #[inline]
    fn step(&self) -> Option<u64> {
        let left = self.left.get();
        if left > 0 {
            self.left.set(left - 1);
            return None;
        }
        Some(self.next_gap())
    }

    /// Lays out the next gap, and says how long this one is.
    #[inline(never)]
    fn next_gap(&self) -> u64 {
        let gap = (self.since_rest.get() / GAP_SHARE).clamp(1, GAP_MAX);
        self.since_rest.set(self.since_rest.get() + gap);
        let place = self.draw() % gap;
        self.left.set(self.after.get() + place);
        self.after.set(gap - 1 - place);
        self.gap.replace(gap)
    }

    /// The next random number: Marsaglia's xorshift64 (2003).
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

    #[test]
    fn sleep_counts_while_it_lasts() {
        let lane = Lane::new(false, 1);
        let reader = lane.reader();
        lane.show_turns(5);
        lane.parks(100);
        assert_eq!(reader.worker(130).unwrap().parked, 30);
        lane.wakes(|| 150);
        lane.wakes(|| 170);
        let sample = reader.worker(200).unwrap();
        assert_eq!((sample.parked, sample.parks, sample.turns), (50, 1, 5));
    }
}
