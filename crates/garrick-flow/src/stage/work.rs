//! Counters of a stage's work, written by its task and read by monitors.
//!
//! The time of a stage is not measured step by step. The clock is read when the stage is woken and
//! when it goes to rest. The time from waking to resting counts as busy. The time from resting to
//! waking counts as starved, as back-pressured, or as another wait. If several stages share a
//! thread, each step reads the clock once, when it returns. In the diagram, `^` marks the reads:
//!
//! ```text
//!   alone       wake |step|step|step|step| rest . . . starved . . . wake |step| rest . . full . .
//!                    ^                   ^                          ^         ^
//!   a team      wake |  a  |  b  |  a  |  a rests |  b rests |
//!                    ^     ^     ^     ^          ^          ^
//! ```
//!
//! Readers see the time of the current activity before the activity ends. Each kind of activity has
//! a stopwatch ([`Watch`]), which takes a single word and runs while the stage has this activity.
//! If the stopwatch runs, a reader computes the time up to now by reading the clock itself. So the
//! stage writes its stopwatches only when its activity changes.
//!
//! Busy time is wall-clock time: if the system gives the core to another thread meanwhile, the time
//! of the other thread counts as well.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use garrick_core::count::{Tally, TallyReader};
use garrick_sched::{Nanos, nanos};

use super::Clock;
use crate::wait::Lack;

const STEPS: usize = 0;
const RESTS: usize = 1;
const SLOW: usize = 2;
const RESTARTS: usize = 3;
/// Index of the first stopwatch among the counters. There is one stopwatch for each activity
/// ([`Doing`]).
const WATCHES: usize = 4;
const COUNTS: usize = WATCHES + 4;

thread_local! {
    /// Point in time up to which the time of this thread is already attributed to stages. `None` if
    /// the thread may have slept after that point.
    static SINCE: Cell<Option<Nanos>> = const { Cell::new(None) };
}

/// An activity of a stage, such as working or waiting for messages. A stopwatch measures the time
/// of each activity. The value of a variant is the index of its stopwatch, relative to the first
/// stopwatch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doing {
    /// The stage takes steps.
    Works = 0,
    /// The stage waits for messages.
    Starves = 1,
    /// The stage waits for room in a channel.
    IsFull = 2,
    /// The stage waits for something other than a channel, such as a timer.
    Pauses = 3,
}

impl From<Lack> for Doing {
    fn from(lack: Lack) -> Self {
        match lack {
            Lack::Messages => Self::Starves,
            Lack::Room => Self::IsFull,
            Lack::Other => Self::Pauses,
        }
    }
}

/// A stopwatch in one word, so that a reader always sees a consistent value.
///
/// ```text
///    63 bits: total time (if stopped), or total time minus start time (if running)   1 bit: runs
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
struct Watch(u64);

impl Watch {
    const RUNS: u64 = 1;

    fn runs(self) -> bool {
        self.0 & Self::RUNS != 0
    }

    #[must_use]
    fn started(self, now: Nanos) -> Self {
        debug_assert!(!self.runs(), "a watch is started once");
        Self((self.0 >> 1).wrapping_sub(now) << 1 | Self::RUNS)
    }

    #[must_use]
    fn stopped(self, now: Nanos) -> Self {
        debug_assert!(self.runs(), "only a watch that runs is stopped");
        Self((self.0 >> 1).wrapping_add(now) << 1)
    }

    /// Returns the total time for which the stopwatch has run up to `now`.
    fn total(self, now: Nanos) -> Nanos {
        let total = if self.runs() {
            self.stopped(now).0
        } else {
            self.0
        };
        // The clock of a reader may be slightly behind the start, which makes the sum negative.
        (total.cast_signed() >> 1).max(0).cast_unsigned()
    }
}

/// The clock of a stage, which readers on other threads can read.
#[derive(Debug, Default)]
struct Time {
    /// Moment when the clock of the stage's thread was 0. Written by the first step that the stage
    /// takes on a thread, and read by monitors. Not set for a stage without a thread, whose steps a
    /// test takes.
    zero: OnceLock<Instant>,
    /// Current time of a stage without a thread, whose steps a test takes. Written by the test,
    /// read by monitors.
    by_hand: AtomicU64,
    /// True if the stage runs in a simulation. In this case, `by_hand` contains the time of the
    /// latest wake-up, because readers cannot read the clock of a simulation.
    #[cfg(feature = "sim")]
    is_simulated: std::sync::atomic::AtomicBool,
}

impl Time {
    fn now(&self) -> Nanos {
        match self.zero.get() {
            Some(zero) => nanos(zero.elapsed()),
            None => self.by_hand.load(Relaxed),
        }
    }

    /// Returns true if monitors can read the clock that the stage uses.
    fn is_known(&self, clock: Clock<'_>) -> bool {
        matches!(clock, Clock::Fixed(_)) || self.zero.get().is_some()
    }

    /// Reads the clock of the stage, and makes this clock available to monitors.
    fn read(&self, clock: Clock<'_>) -> Nanos {
        let now = clock.now();
        #[cfg(feature = "sim")]
        if self.is_simulated.load(Relaxed) {
            self.by_hand.store(now, Relaxed);
            return now;
        }
        if let Clock::Turn(_) = clock {
            self.zero.get_or_init(|| {
                let moment = Instant::now();
                moment
                    .checked_sub(Duration::from_nanos(now))
                    .unwrap_or(moment)
            });
        }
        now
    }
}

/// Counters and stopwatches for the work of a stage.
#[derive(Debug)]
pub(crate) struct Work {
    /// Counters that the stage's task writes, and that monitors read through [`WorkReader`].
    counts: Tally<COUNTS>,
    /// Clock of the stage, which monitors can read as well.
    time: Arc<Time>,
    /// True if the stage shares its thread with other stages.
    is_shared: bool,
    /// Minimum duration of a slow step, if slow steps are counted.
    slow: Option<Nanos>,
    /// The current activity, and the time at which it began. `None` before the first step, after
    /// the end, and while the next step is due but other stages use the thread.
    doing: Option<(Doing, Nanos)>,
    /// Time at which the current step began. The time is exact only if the clock is read after each
    /// step.
    began: Nanos,
}

/// A handle that reads the counters of a stage's work, from any thread.
#[derive(Debug, Clone)]
pub(crate) struct WorkReader {
    counts: TallyReader<COUNTS>,
    time: Arc<Time>,
}

/// The counts and times of a stage's work so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) steps: u64,
    pub(crate) rests: u64,
    pub(crate) slow: u64,
    pub(crate) restarts: u64,
    pub(crate) busy: Nanos,
    pub(crate) starved: Nanos,
    pub(crate) full: Nanos,
}

impl Work {
    /// Creates counters at zero. `slow` is the minimum duration of a slow step, or `None` if slow
    /// steps are not counted. If they are counted, each step reads the clock.
    pub(crate) fn new(is_shared: bool, slow: Option<Duration>) -> Self {
        Self {
            counts: Tally::new(),
            time: Arc::default(),
            is_shared,
            slow: slow.map(nanos),
            doing: None,
            began: 0,
        }
    }

    pub(crate) fn reader(&self) -> WorkReader {
        WorkReader {
            counts: self.counts.reader(),
            time: Arc::clone(&self.time),
        }
    }

    /// Records that the stage runs in a simulation.
    #[cfg(feature = "sim")]
    pub(crate) fn set_simulated(&self) {
        self.time.is_simulated.store(true, Relaxed);
    }

    /// Records that a step begins.
    #[inline]
    pub(crate) fn step(&mut self, clock: Clock<'_>) {
        self.counts.add(STEPS, 1);
        if !matches!(self.doing, Some((Doing::Works, _))) {
            self.wakes(clock);
        }
    }

    /// Records that the stage begins to work.
    fn wakes(&mut self, clock: Clock<'_>) {
        let now = match SINCE.get() {
            Some(since) if self.is_shared && self.time.is_known(clock) => since,
            _ => self.time.read(clock),
        };
        SINCE.set(Some(now));
        self.began = now;
        self.turn_to(Some(Doing::Works), now);
    }

    /// Records that a step has returned, and that another step may follow.
    #[inline]
    pub(crate) fn stepped(&mut self, now: impl FnOnce() -> Nanos) {
        if self.is_shared || self.slow.is_some() {
            let now = now();
            self.count_slow(now);
            SINCE.set(Some(now));
            if self.is_shared {
                self.turn_to(None, now);
            }
        }
    }

    /// Records that the stage goes to sleep now. `lack` is the kind of thing that the stage waits
    /// for.
    pub(crate) fn rested(&mut self, lack: Lack, now: impl FnOnce() -> Nanos) {
        self.counts.add(RESTS, 1);
        SINCE.set(None);
        let next = Doing::from(lack);
        if self.doing.is_some_and(|(doing, _)| doing == next) {
            // The stage was woken, but no step was due. It continues to wait.
            return;
        }
        let now = now();
        self.count_slow(now);
        self.turn_to(Some(next), now);
    }

    /// Records that the stage was restarted.
    pub(crate) fn restarted(&mut self) {
        self.counts.add(RESTARTS, 1);
    }

    /// Records that the stage has ended now. Resets `SINCE`, because the thread of the stage can
    /// sleep after this call.
    pub(crate) fn left(&mut self, now: impl FnOnce() -> Nanos) {
        SINCE.set(None);
        if self.doing.is_some() {
            let now = now();
            self.count_slow(now);
            self.turn_to(None, now);
        }
    }

    /// Records that the stage was dropped. Its current activity is not counted, because there is no
    /// clock to measure it.
    pub(crate) fn dropped(&mut self) {
        if let Some((_, since)) = self.doing {
            self.turn_to(None, since);
        }
    }

    /// Stops the stopwatch that runs, and starts the stopwatch of the activity `next`.
    fn turn_to(&mut self, next: Option<Doing>, now: Nanos) {
        if let Some((doing, _)) = self.doing {
            self.set(doing, |watch| watch.stopped(now));
        }
        if let Some(next) = next {
            self.set(next, |watch| watch.started(now));
        }
        self.doing = next.map(|next| (next, now));
    }

    fn set(&mut self, doing: Doing, change: impl FnOnce(Watch) -> Watch) {
        let index = WATCHES + doing as usize;
        let before = self.counts.get(index);
        let after = change(Watch(before)).0;
        self.counts.add(index, after.wrapping_sub(before));
    }

    /// Counts the step that ends at `now` as slow if it took long enough.
    fn count_slow(&mut self, now: Nanos) {
        if let (Some((Doing::Works, _)), Some(slow)) = (self.doing, self.slow) {
            self.counts
                .add(SLOW, u64::from(now.saturating_sub(self.began) >= slow));
            self.began = now;
        }
    }
}

impl WorkReader {
    /// Returns the counts and times of the stage's work up to now.
    pub(crate) fn get(&self) -> Done {
        let counts = self.counts.values();
        // The clock is read after the counts, so that it is not behind the start of a watch.
        let now = self.time.now();
        let time = |doing: Doing| Watch(counts[WATCHES + doing as usize]).total(now);
        Done {
            steps: counts[STEPS],
            rests: counts[RESTS],
            slow: counts[SLOW],
            restarts: counts[RESTARTS],
            busy: time(Doing::Works),
            starved: time(Doing::Starves),
            full: time(Doing::IsFull),
        }
    }

    /// Sets the time of a stage without a thread, whose steps a test takes.
    pub(crate) fn set_time(&self, now: Nanos) {
        self.time.by_hand.store(now, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clock that panics when it is read.
    fn unread() -> Nanos {
        unreachable!("the clock was read")
    }

    /// Returns how many steps `work` has counted until `now`, how often the stage slept, and its
    /// busy, starved and back-pressured time.
    fn at(work: &Work, now: Nanos) -> (u64, u64, [Nanos; 3]) {
        let reader = work.reader();
        reader.set_time(now);
        let done = reader.get();
        (done.steps, done.rests, [done.busy, done.starved, done.full])
    }

    #[test]
    fn a_watch_counts_its_runs() {
        let watch = Watch(0).started(100);
        assert_eq!((watch.total(100), watch.total(107)), (0, 7));
        assert_eq!(watch.total(93), 0, "a clock that is behind");
        let watch = watch.stopped(110);
        assert_eq!((watch.total(0), watch.total(u64::MAX)), (10, 10));
        let watch = watch.started(u64::MAX >> 2);
        assert_eq!(watch.total((u64::MAX >> 2) + 5), 15);
    }

    #[test]
    fn all_between_waking_and_resting_is_busy_and_all_else_is_a_wait() {
        let mut work = Work::new(false, None);
        work.step(Clock::Fixed(100));
        assert_eq!(at(&work, 120), (1, 0, [20, 0, 0]), "in the middle of it");
        work.rested(Lack::Messages, || 130);
        assert_eq!(at(&work, 150), (1, 1, [30, 20, 0]), "a wait goes on");
        work.step(Clock::Fixed(1_000));
        work.rested(Lack::Room, || 1_005);
        work.rested(Lack::Room, unread);
        assert_eq!(at(&work, 1_100), (2, 3, [35, 870, 95]));
        work.rested(Lack::Messages, || 1_105);
        work.rested(Lack::Other, || 1_110);
        work.left(|| 2_000);
        work.left(unread);
        assert_eq!(at(&work, 9_000), (2, 5, [35, 875, 100]));
    }

    #[test]
    fn steps_alone_on_a_thread_do_not_read_the_clock() {
        let mut work = Work::new(false, None);
        work.step(Clock::Fixed(0));
        for _ in 0..1_000 {
            work.stepped(unread);
            work.step(Clock::Fixed(7));
        }
        assert_eq!(at(&work, 5_000), (1_001, 0, [5_000, 0, 0]));
        work.left(|| 6_000);
    }

    #[test]
    fn those_who_share_a_thread_have_their_own_time() {
        let (mut one, mut other) = (Work::new(true, None), Work::new(true, None));
        one.step(Clock::Fixed(10));
        one.stepped(|| 15);
        other.step(Clock::Fixed(1));
        other.stepped(|| 35);
        one.step(Clock::Fixed(1));
        one.rested(Lack::Messages, || 36);
        other.step(Clock::Fixed(100));
        other.rested(Lack::Messages, || 200);
        assert_eq!(at(&one, 200).2, [6, 164, 0]);
        assert_eq!(at(&other, 200).2, [120, 0, 0]);
    }

    #[test]
    fn a_stage_that_is_dropped_does_not_wait_for_ever() {
        let mut work = Work::new(false, None);
        work.step(Clock::Fixed(0));
        work.rested(Lack::Messages, || 10);
        work.dropped();
        assert_eq!(at(&work, 1_000_000).2, [10, 0, 0]);
    }

    #[test]
    fn slow_steps_are_counted_where_that_is_wanted() {
        let mut work = Work::new(false, Some(Duration::from_nanos(50)));
        work.step(Clock::Fixed(0));
        work.stepped(|| 49);
        work.step(Clock::Fixed(1));
        work.stepped(|| 99);
        work.step(Clock::Fixed(1));
        work.left(|| 1_000);
        assert_eq!(work.reader().get().slow, 2);
        assert_eq!(at(&work, 5_000).2, [1_000, 0, 0]);
    }
}
