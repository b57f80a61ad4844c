//! The counters of one worker, for readers on other threads.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crossbeam_utils::CachePadded;
use garrick_core::count::GroupReader;
use garrick_core::prim::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

use super::WorkerSample;
use super::beginning::Beginning;
use super::census::Censuses;
use super::durations::{Counters, Durations};
use super::kinds::{Kinds, Unnamed};
use super::sights::{Running, Sights};
use super::top::Found;
use crate::cell::Table;
use crate::world::Nanos;

/// Index of the number of turns in [`LaneReader::rare`]. The constants below are the indices of the
/// other counters.
pub(super) const TURNS: usize = 0;
pub(super) const PARKS: usize = 1;
pub(super) const PARKED: usize = 2;
/// Index of the counter that contains the time at which the worker fell asleep, plus 1 ns. The
/// counter is 0 while the worker is awake.
pub(super) const SINCE: usize = 3;
pub(super) const PUBLISHED: usize = 4;
pub(super) const CLAIMED: usize = 5;
pub(super) const RESCUES: usize = 6;

/// Counters by kind of task. Written by the worker, read by any thread.
pub(super) struct Counted {
    pub(super) kinds: Kinds,
    /// Number of activations of the worker that were counted so far.
    pub(super) activations: AtomicU64,
    /// The encoded [`Beginning`] of the latest timed activation.
    pub(super) beginning: AtomicU64,
    pub(super) censuses: Censuses,
    /// Number of tasks that were ready at the latest census (count of waiting messages).
    pub(super) ready: AtomicU64,
    /// Histogram of the times that messages have waited.
    pub(super) waits: Counters,
    /// Number of activations that the worker had begun when it last fell asleep.
    pub(super) rested: AtomicU32,
    /// Number of times that the worker has noticed a long activation which was not timed.
    pub(super) surprises: AtomicU64,
    /// Records of activations that other threads have seen running. The other threads add the
    /// records, and the worker removes them.
    pub(super) sights: Mutex<Sights>,
    /// True if one of the activations in `sights` was long. Set by other threads, and cleared by
    /// the worker. The flag has its own cache line. While the worker sleeps, waiting threads
    /// (guests) may run its tasks, and read the flag each time.
    pub(super) has_seen_long: CachePadded<AtomicBool>,
}

impl Counted {
    pub(super) fn sights(&self) -> MutexGuard<'_, Sights> {
        // No code that holds the lock can panic halfway.
        self.sights.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A reader of the counters of one worker, for any thread.
pub(super) struct LaneReader {
    pub(super) rare: GroupReader<7>,
    pub(super) counted: Option<Arc<Counted>>,
}

impl LaneReader {
    /// Returns the counts of the worker, including its current sleep up to `now`, if it sleeps. If
    /// every attempt to read the counts in `rare` fails, because the worker is just publishing
    /// them, returns 0 for these counts.
    pub(super) fn worker(&self, now: Nanos) -> WorkerSample {
        let rare = self.rare.try_snapshot().unwrap_or_default();
        let asleep = match rare[SINCE] {
            0 => 0,
            since => now.saturating_add(1).saturating_sub(since),
        };
        let counted = self.counted.as_ref();
        let mut waits = Durations::default();
        if let Some(counted) = counted {
            counted.waits.add_to(&mut waits);
        }
        WorkerSample {
            turns: rare[TURNS],
            parks: rare[PARKS],
            parked: rare[PARKED] + asleep,
            published: rare[PUBLISHED],
            claimed: rare[CLAIMED],
            // Relaxed: the count is independent.
            activations: counted.map_or(0, |counted| counted.activations.load(Relaxed)),
            rescues: rare[RESCUES],
            ready: counted.map_or(0, |counted| counted.ready.load(Relaxed)),
            waits,
            ..WorkerSample::default()
        }
    }

    /// Records the activation that the worker runs (`running`). The caller has read the argument
    /// `running` between the times `now` and `later`. Returns the name of the task's kind, and the
    /// duration of the activation so far.
    pub(super) fn glance(
        &self,
        running: Option<Running>,
        now: Nanos,
        later: Nanos,
    ) -> Option<(&'static Table, Nanos)> {
        let counted = self.counted.as_ref()?;
        // An activation that is seen for the first time began before `later`, and one that is seen
        // again has lasted until `now`. So no activation is reported longer than it is.
        let sight = counted.sights().glance(running, later)?;
        if sight.glances == 2 {
            // Relaxed: a hint for the worker.
            counted.has_seen_long.store(true, Relaxed);
        }
        // Relaxed: the word is independent.
        let beginning = Beginning::from_word(counted.beginning.load(Relaxed));
        let since = beginning
            .time_of(sight.running.picks)
            .unwrap_or(sight.since);
        Some((sight.running.table, now.saturating_sub(since)))
    }

    /// Returns the tasks that the latest census (count of waiting messages) has listed, and the
    /// length of the period in which their times were counted.
    pub(super) fn tasks(&self, now: Nanos) -> (Found, Nanos) {
        let Some(counted) = &self.counted else {
            return Default::default();
        };
        let found = counted.censuses.found();
        // The tasks of a worker that sleeps do not run.
        let until = if self.sleeps() { now } else { found.at };
        let over = until.saturating_sub(found.began);
        (found, over)
    }

    /// Returns true if the worker sleeps. A sleeping worker takes no census (it does not count its
    /// waiting messages).
    pub(super) fn sleeps(&self) -> bool {
        self.rare.try_snapshot().unwrap_or_default()[SINCE] != 0
    }

    /// Returns true if the worker is awake and has not answered the latest request for a census (a
    /// count of waiting messages).
    pub(super) fn wants_census(&self) -> bool {
        let counted = self.counted.as_ref();
        counted.is_some_and(|counted| counted.censuses.is_asked()) && !self.sleeps()
    }

    /// Adds the counts of each kind of task to the samples in `kinds`.
    pub(super) fn add_kinds(&self, kinds: &mut Vec<Unnamed>) {
        if let Some(counted) = &self.counted {
            counted.kinds.add_to(kinds);
        }
    }

    /// Returns true if the worker sleeps, and guests (threads that wait for an answer) have run
    /// activations of the worker since it fell asleep. `picks` is the number of activations of the
    /// worker so far.
    pub(super) fn has_missed(&self, picks: u32) -> bool {
        let counted = self.counted.as_ref();
        // Relaxed: a worker that has just begun to sleep is seen again later.
        counted.is_some_and(|counted| counted.rested.load(Relaxed) != picks) && self.sleeps()
    }

    /// Requests a census: a count of the messages in the mailboxes of the worker.
    pub(super) fn ask_census(&self) {
        if let Some(counted) = &self.counted {
            counted.censuses.ask();
        }
    }

    /// Returns the number of times that the worker has noticed a long activation which was not
    /// timed.
    pub(super) fn surprises(&self) -> u64 {
        let counted = self.counted.as_ref();
        // Relaxed: a hint.
        counted.map_or(0, |counted| counted.surprises.load(Relaxed))
    }
}
