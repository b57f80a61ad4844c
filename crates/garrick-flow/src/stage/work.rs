//! Work of a stage, counted by its task and read by monitors.
//!
//! The busy time of a stage is not measured step by step. The clock is read when the stage is woken
//! and when it goes to rest, and all the time in between counts as busy. While a stage does not
//! rest, its time is added about once per [`BOOK_EVERY`], so short steps rarely read the clock. If
//! several stages share a thread, each step reads the clock once, when it returns:
//!
//! ```text
//!   alone       wake |step|step|step|step| rest              wake |step| rest
//!                    ^      (added on the way, if long)    ^      ^      ^
//!   a team      wake |  a  |  b  |  a  |  a rests |  b rests |
//!                    ^     ^     ^     ^          ^          ^
//! ```
//!
//! Busy time is wall-clock time: if the system gives the core to another thread in between, that
//! time counts as well.

use std::cell::Cell;
use std::time::Duration;

use garrick_core::count::{Tally, TallyReader};
use garrick_sched::{Nanos, nanos};

const STEPS: usize = 0;
const RESTS: usize = 1;
const BUSY: usize = 2;
const SLOW: usize = 3;
const RESTARTS: usize = 4;

/// Maximum lag of the busy time of a stage that does not rest. This lag does not matter to a
/// monitor that reads the time once per second.
const BOOK_EVERY: Duration = Duration::from_millis(1);
/// Maximum number of steps after which the time is added.
const STEPS_MAX: u32 = 256;

thread_local! {
    /// Time up to which the time of this thread has been added. `None` if the thread may have
    /// rested since.
    static SINCE: Cell<Option<Nanos>> = const { Cell::new(None) };
}

/// Counts the work of a stage.
#[derive(Debug)]
pub(crate) struct Work {
    /// Counters written by the stage's task, and read through [`WorkReader`].
    counts: Tally<5>,
    /// True if the stage shares its thread with other stages.
    is_shared: bool,
    /// Minimum duration of a slow step, if slow steps are counted.
    slow: Option<Nanos>,
    /// Number of steps since time was last added.
    unbooked: u32,
    /// Number of steps after which time is added.
    book_at: u32,
}

/// Reads the work of a stage.
#[derive(Debug, Clone)]
pub(crate) struct WorkReader(TallyReader<5>);

/// Work of a stage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) steps: u64,
    pub(crate) rests: u64,
    pub(crate) busy: Nanos,
    pub(crate) slow: u64,
    pub(crate) restarts: u64,
}

impl Work {
    /// Creates counters at zero. `slow` is the minimum duration of a slow step, if slow steps are
    /// counted. In that case each step reads the clock.
    pub(crate) fn new(is_shared: bool, slow: Option<Duration>) -> Self {
        Self {
            counts: Tally::new(),
            is_shared,
            slow: slow.map(nanos),
            unbooked: 0,
            book_at: 1,
        }
    }

    pub(crate) fn reader(&self) -> WorkReader {
        WorkReader(self.counts.reader())
    }

    /// Records that a step begins.
    #[inline]
    pub(crate) fn step(&mut self, now: impl FnOnce() -> Nanos) {
        self.counts.add(STEPS, 1);
        self.unbooked += 1;
        if SINCE.get().is_none() {
            SINCE.set(Some(now()));
        }
    }

    /// Records that a step has returned, and that another step may follow.
    #[inline]
    pub(crate) fn stepped(&mut self, now: impl FnOnce() -> Nanos) {
        if self.is_shared || self.slow.is_some() || self.unbooked >= self.book_at {
            self.book(now);
        }
    }

    /// Records that the stage rests now.
    pub(crate) fn rested(&mut self, now: impl FnOnce() -> Nanos) {
        self.counts.add(RESTS, 1);
        self.left(now);
    }

    /// Records that the stage was restarted.
    pub(crate) fn restarted(&mut self) {
        self.counts.add(RESTARTS, 1);
    }

    /// Records that the stage rests or has ended now. Its thread may rest as well.
    pub(crate) fn left(&mut self, now: impl FnOnce() -> Nanos) {
        self.book(now);
        SINCE.set(None);
    }

    /// Adds the time since the last call of this method, if there was a step.
    fn book(&mut self, now: impl FnOnce() -> Nanos) {
        let (Some(since), steps @ 1..) = (SINCE.get(), self.unbooked) else {
            return;
        };
        let now = now();
        let took = now.saturating_sub(since);
        self.counts.add(BUSY, took);
        if self.slow.is_some_and(|slow| took >= slow) {
            self.counts.add(SLOW, 1);
        }
        let each = (took / Nanos::from(steps)).max(1);
        let steps = (nanos(BOOK_EVERY) / each).clamp(1, STEPS_MAX.into());
        self.book_at = u32::try_from(steps).unwrap_or(STEPS_MAX);
        self.unbooked = 0;
        SINCE.set(Some(now));
    }
}

impl WorkReader {
    pub(crate) fn get(&self) -> Done {
        let counts = self.0.values();
        Done {
            steps: counts[STEPS],
            rests: counts[RESTS],
            busy: counts[BUSY],
            slow: counts[SLOW],
            restarts: counts[RESTARTS],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clock that panics when it is read.
    fn unread() -> Nanos {
        unreachable!("the clock was read")
    }

    #[test]
    fn all_between_waking_and_resting_is_busy() {
        let mut work = Work::new(false, None);
        work.step(|| 100);
        work.rested(|| 130);
        work.step(|| 1_000);
        work.rested(|| 1_005);
        let done = work.reader().get();
        assert_eq!((done.steps, done.rests, done.busy), (2, 2, 35));
        work.rested(unread);
        assert_eq!(work.reader().get().rests, 3, "it was woken for nothing");
    }

    #[test]
    fn short_steps_do_not_read_the_clock() {
        let mut work = Work::new(false, None);
        work.step(|| 0);
        work.stepped(|| 1_000);
        for _ in 0..255 {
            work.step(unread);
            work.stepped(unread);
        }
        work.step(unread);
        work.stepped(|| 257_000);
        assert_eq!(work.reader().get().busy, 257_000);
        work.left(|| unreachable!("no step is left to book"));
    }

    #[test]
    fn long_steps_are_booked_one_by_one() {
        let mut work = Work::new(false, None);
        work.step(|| 0);
        for step in 1..=3 {
            work.stepped(|| step * 2_000_000);
            assert_eq!(work.reader().get().busy, step * 2_000_000);
            work.step(unread);
        }
        work.left(|| 6_000_000);
    }

    #[test]
    fn those_who_share_a_thread_have_their_own_time() {
        let (mut one, mut other) = (Work::new(true, None), Work::new(true, None));
        one.step(|| 10);
        one.stepped(|| 15);
        other.step(unread);
        other.stepped(|| 35);
        one.step(unread);
        one.rested(|| 36);
        other.step(|| 100);
        other.rested(|| 200);
        assert_eq!(one.reader().get().busy, 6);
        assert_eq!(other.reader().get().busy, 120);
    }

    #[test]
    fn slow_steps_are_counted_where_that_is_wanted() {
        let mut work = Work::new(false, Some(Duration::from_nanos(50)));
        work.step(|| 0);
        work.stepped(|| 49);
        work.step(unread);
        work.stepped(|| 99);
        work.step(unread);
        work.left(|| 1_000);
        assert_eq!(work.reader().get().slow, 2);
    }
}
