//! The counters of a journal.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use garrick_actor::Handle;
use hashbrown::HashSet;

use super::queue::Queue;
use super::waits::Nanos;
use crate::error::{JournalError, describe};
use crate::group::Group;
use crate::log::LogSample;

/// Counters of a journal since it was opened.
///
/// Times are measured by the clock of the system on which the journal was opened. The journal reads
/// this clock a few times for each group, and not for each turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct JournalSample {
    /// Number of groups of events that were written, each with one sync.
    pub groups: u64,
    /// Number of turns whose events were written.
    pub turns: u64,
    /// Number of events that were written.
    pub events: u64,
    /// Size in bytes of the events that were written, without the bytes that the log adds.
    pub bytes: u64,
    /// Number of groups of events that could not be written. The turns that had recorded these
    /// events were undone.
    pub failed: u64,
    /// Number of groups of events that could not be written since the most recent successful write.
    pub failing: u64,
    /// Number of turns that are waiting now for their events to be durable, including the turns of
    /// the group that is being written.
    pub waiting: usize,
    /// Upper bound of the time for which the oldest waiting turn has waited. Zero if no turn waits.
    /// The true time is shorter by at most the time between two groups.
    pub oldest: Duration,
    /// Number of syncs of files and of the folder. Groups of events, new segments, saved states and
    /// compactions cause syncs.
    pub syncs: u64,
    /// Number of bytes that were written to the disk for groups of events, new segments, saved
    /// states and compactions.
    pub written: u64,
    /// Total time of writing and syncing groups of events, including the group that is being
    /// written.
    pub writing: Duration,
    /// Longest time of writing and syncing one group of events so far, including the group that is
    /// being written.
    pub longest: Duration,
    /// Number of entities that exist now.
    pub entities: usize,
    /// Current number of files with events.
    pub segments: usize,
    /// Current size of the files with events, in bytes.
    pub size: u64,
    /// Number of compactions that have removed files.
    pub compactions: u64,
    /// Number of bytes that compactions have copied. These bytes belong to events that were still
    /// needed.
    pub copied: u64,
    /// Number of times that the state of an entity was saved.
    pub saved: u64,
    /// Number of notices (errors that lost no data) so far: see
    /// [`Journal::take_notices`](crate::Journal::take_notices).
    pub notices: u64,
    /// True if the log is broken, so that nothing can be written until it is opened again.
    pub is_broken: bool,
    /// Total number of times that entities have read their states. An entity reads its state after
    /// its start, and after a turn that was undone.
    pub recoveries: u64,
    /// Number of events that entities have read to compute their states.
    pub recovered: u64,
    /// Total time in which entities have read their states.
    pub recovering: Duration,
}

/// The counters of a journal, except for those that its queue and its set of entities determine.
#[derive(Default)]
struct Counts {
    /// Counters of the sample, except for `waiting`, `oldest` and `entities`.
    sample: JournalSample,
    /// Time at which the writing of the current group began. `None` if no group is being written.
    since: Option<Nanos>,
    /// Error of the newest group, if that group could not be written. If the log is broken, this is
    /// the error that has broken the log.
    failure: Option<Arc<str>>,
    /// Text of the newest notice (a report of an error that lost no data).
    notice: Option<Arc<str>>,
}

/// The counters of a journal. Reading them never waits for the disk, and does not keep the log
/// open.
pub(super) struct Figures {
    counts: Mutex<Counts>,
    pub(super) queue: Mutex<Queue>,
    /// Names of the entities that exist.
    pub(super) names: Mutex<HashSet<String>>,
    clock: Handle,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The log has its own record of errors, and the others are whole at each call of foreign code.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn between(start: Nanos, end: Nanos) -> Duration {
    Duration::from_nanos(end.saturating_sub(start))
}

impl Figures {
    pub(super) fn new(clock: Handle) -> Self {
        Self {
            counts: Mutex::default(),
            queue: Mutex::default(),
            names: Mutex::default(),
            clock,
        }
    }

    pub(super) fn now(&self) -> Nanos {
        self.clock.now()
    }

    /// Records that the writing of a group begins.
    pub(super) fn begin(&self) {
        let now = self.now();
        lock(&self.counts).since = Some(now);
    }

    /// Records that a group of turns was written, or that it could not be written because of
    /// `error`.
    pub(super) fn end(&self, group: &Group, turns: usize, error: Option<&JournalError>) {
        let now = self.now();
        let mut counts = lock(&self.counts);
        let taken = counts
            .since
            .take()
            .map_or(Duration::ZERO, |since| between(since, now));
        counts.failure = error.map(|error| describe(error).into());
        let sample = &mut counts.sample;
        sample.writing += taken;
        sample.longest = sample.longest.max(taken);
        if error.is_some() {
            sample.failed += 1;
            sample.failing += 1;
            return;
        }
        sample.failing = 0;
        sample.groups += 1;
        sample.turns += turns as u64;
        sample.events += group.len() as u64;
        sample.bytes += group.bytes() as u64;
    }

    /// Records the counters of the log.
    pub(super) fn look(&self, seen: &LogSample) {
        let mut counts = lock(&self.counts);
        if counts.sample.notices != seen.notices {
            counts.notice.clone_from(&seen.notice);
        }
        if let Some(cause) = &seen.cause {
            // The error of each later group tells only that the log is broken.
            counts.failure = Some(Arc::clone(cause));
        }
        let sample = &mut counts.sample;
        sample.syncs = seen.syncs;
        sample.written = seen.written;
        sample.segments = seen.files;
        sample.size = seen.bytes;
        sample.compactions = seen.compactions;
        sample.copied = seen.copied;
        sample.saved = seen.saved;
        sample.notices = seen.notices;
        sample.is_broken = seen.is_broken;
    }

    /// Records that an entity has read its state from `events` events. It began to read at the time
    /// `began`.
    pub(super) fn recover(&self, began: Nanos, events: u64) {
        let taken = between(began, self.now());
        let mut counts = lock(&self.counts);
        counts.sample.recoveries += 1;
        counts.sample.recovered += events;
        counts.sample.recovering += taken;
    }

    pub(super) fn sample(&self) -> JournalSample {
        let (waiting, oldest) = lock(&self.queue).waits.oldest();
        let entities = lock(&self.names).len();
        let (mut sample, since) = {
            let counts = lock(&self.counts);
            (counts.sample, counts.since)
        };
        let now = self.now();
        if let Some(since) = since {
            sample.writing += between(since, now);
            sample.longest = sample.longest.max(between(since, now));
        }
        sample.waiting = waiting;
        sample.oldest = oldest.map_or(Duration::ZERO, |oldest| between(oldest, now));
        sample.entities = entities;
        sample
    }

    /// Returns the error of the newest group, if that group could not be written. If the log is
    /// broken, returns the error that has broken the log.
    pub(super) fn failure(&self) -> Option<Arc<str>> {
        lock(&self.counts).failure.clone()
    }

    /// Returns the newest notice (a report of an error that lost no data).
    pub(super) fn notice(&self) -> Option<Arc<str>> {
        lock(&self.counts).notice.clone()
    }

    /// Returns true if turns are no longer written.
    pub(super) fn is_closed(&self) -> bool {
        lock(&self.queue).is_closed()
    }
}
