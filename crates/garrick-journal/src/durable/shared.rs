//! The shared part of a journal: the log, and the turns that wait for it.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Write as _;
use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use super::queue::{Queue, State, Waiting};
use crate::error::JournalError;
use crate::group::{Group, JournalId};
use crate::log::Log;

/// Returns an error with its causes, as one line.
pub(super) fn describe(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        // Writing to a string cannot fail.
        let _ = write!(text, ": {error}");
        cause = error.source();
    }
    text
}

/// Number of segments from which on the log is compacted. Each opening of a log creates a segment.
const SEGMENTS_MANY: usize = 8;

/// Number of further segments after which the log is compacted again.
const SEGMENTS_MORE: usize = 4;

/// Maximum number of events of a segment that are copied so that the segment can be removed.
const COPIED_MAX: u64 = 1_000;

/// Numbers of a journal since it was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct JournalSample {
    /// Number of groups that were written, each with one sync.
    pub groups: u64,
    /// Number of turns in these groups.
    pub turns: u64,
    /// Number of events in these groups.
    pub events: u64,
    /// Number of bytes of these events, without what the log adds.
    pub bytes: u64,
    /// Number of groups that could not be written. Their turns were undone.
    pub failed: u64,
    /// Number of turns that wait for their group now.
    pub waiting: usize,
}

/// The shared part of a journal.
pub(super) struct Core {
    log: Mutex<Log>,
    queue: Mutex<Queue>,
    /// Number of segments from which on the log is compacted next.
    compact_at: AtomicUsize,
    /// Numbers so far, without `waiting`.
    counts: Mutex<JournalSample>,
    /// Names of the entities that exist.
    names: Mutex<BTreeSet<String>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The log has its own record of errors, and the others are whole at each call of foreign code.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Core {
    pub(super) fn new(log: Log) -> Self {
        Self {
            log: Mutex::new(log),
            queue: Mutex::default(),
            compact_at: AtomicUsize::new(SEGMENTS_MANY),
            counts: Mutex::default(),
            names: Mutex::default(),
        }
    }

    /// Returns the log. The caller must call no code of an actor meanwhile.
    pub(super) fn log(&self) -> MutexGuard<'_, Log> {
        lock(&self.log)
    }

    /// Returns the log like [`Core::log`], if no other thread uses it now.
    pub(super) fn try_log(&self) -> Option<MutexGuard<'_, Log>> {
        match self.log.try_lock() {
            Ok(log) => Some(log),
            Err(TryLockError::Poisoned(log)) => Some(log.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Appends a turn to the queue. Returns true if the caller must request that the turns be
    /// written.
    #[must_use]
    pub(super) fn push(&self, turn: Waiting) -> bool {
        lock(&self.queue).push(turn)
    }

    /// Records that an entity exists. Returns false if there is another one with this name.
    #[must_use]
    pub(super) fn enter(&self, name: &str) -> bool {
        lock(&self.names).insert(name.to_owned())
    }

    /// Records that an entity does not exist any more.
    pub(super) fn leave(&self, name: &str) {
        lock(&self.names).remove(name);
    }

    /// Writes the waiting turns, group by group, until there are none. The turns that end meanwhile
    /// are the next group.
    pub(super) fn write_all(&self) {
        let (mut group, mut turns) = (Group::new(), Vec::new());
        while lock(&self.queue).take(&mut turns, &mut group) {
            let appended = panic::catch_unwind(AssertUnwindSafe(|| self.log().append(&group)));
            self.count(&group, turns.len(), matches!(appended, Ok(Ok(()))));
            group.clear();
            match appended.unwrap_or(Err(JournalError::Broken)) {
                Ok(()) => self.commit(mem::take(&mut turns)),
                Err(error) => undo(mem::take(&mut turns), &describe(&error)),
            }
        }
    }

    /// Counts a group of turns. It was written if `is_written` is true.
    fn count(&self, group: &Group, turns: usize, is_written: bool) {
        let mut counts = lock(&self.counts);
        if is_written {
            counts.groups += 1;
            counts.turns += turns as u64;
            counts.events += group.len() as u64;
            counts.bytes += group.bytes() as u64;
        } else {
            counts.failed += 1;
        }
    }

    pub(super) fn sample(&self) -> JournalSample {
        let waiting = lock(&self.queue).len();
        let counts = *lock(&self.counts);
        JournalSample { waiting, ..counts }
    }

    /// Commits turns whose events are durable, and then saves the states that came with them.
    fn commit(&self, turns: Vec<Waiting>) {
        let mut states = Vec::new();
        for mut turn in turns {
            if let Some(state) = turn.state.take() {
                states.push((turn.journal, turn.last(), state));
            }
            // Relaxed: the commit orders this before the next turn of the entity.
            turn.durable.store(turn.last(), Relaxed);
            turn.pending.commit();
        }
        for (journal, number, state) in states {
            self.save(journal, number, &state);
        }
        self.compact();
    }

    /// Saves a state. An error is a notice of the log: the events are still there.
    fn save(&self, journal: JournalId, number: u64, state: &State) {
        let mut log = self.log();
        if let Err(error) = log.save(journal, number, state.kind, &state.bytes) {
            log.notice(error);
        }
    }

    /// Removes the oldest segments if there are many. An error is a notice of the log: all events
    /// are still there.
    pub(super) fn compact(&self) {
        let mut log = self.log();
        // Relaxed: the lock of the log orders the accesses.
        if log.segments() < self.compact_at.load(Relaxed) {
            return;
        }
        if let Err(error) = log.compact(COPIED_MAX) {
            log.notice(error);
        }
        let next = (log.segments() + SEGMENTS_MORE).max(SEGMENTS_MANY);
        self.compact_at.store(next, Relaxed);
    }

    /// Undoes all waiting turns, because nobody writes them any more.
    pub(super) fn close(&self) {
        let turns = lock(&self.queue).take_all();
        undo(turns, "the journal is closed");
    }
}

/// Undoes turns whose events are not in the log.
fn undo(turns: impl IntoIterator<Item = Waiting>, why: &str) {
    for turn in turns {
        turn.pending.undo(why);
    }
}
