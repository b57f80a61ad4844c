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

/// Maximum number of groups that are written before the writer looks at its mailbox.
const GROUPS_MAX: usize = 16;

/// Reason why turns are undone after the end of the writer.
const CLOSED: &str = "the journal is closed";

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
    /// written. Undoes the turn if nobody writes turns any more.
    #[must_use]
    pub(super) fn push(&self, turn: Waiting) -> bool {
        let mut turn = Some(turn);
        let is_first = lock(&self.queue).push(&mut turn);
        undo(turn, CLOSED);
        is_first
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

    /// Writes some groups of waiting turns. The turns that end meanwhile are the next group.
    /// Returns true if turns are waiting, so that the caller must call this method again.
    ///
    /// Returns after some time in any case, because the caller may occupy a worker.
    #[must_use]
    pub(super) fn write_some(&self) -> bool {
        let (mut group, mut turns) = (Group::new(), Vec::new());
        for _ in 0..GROUPS_MAX {
            lock(&self.queue).take(&mut turns, &mut group);
            if turns.is_empty() {
                break;
            }
            let appended = self.guarded(|log| log.append(&group));
            self.count(&group, turns.len(), appended.is_ok());
            group.clear();
            match appended {
                Ok(()) => self.commit(mem::take(&mut turns)),
                Err(error) => undo(mem::take(&mut turns), &describe(&error)),
            }
        }
        lock(&self.queue).goes_on()
    }

    /// Calls `f`, which writes the log. After a panic, nothing is known of the log: it is broken.
    fn guarded(
        &self,
        f: impl FnOnce(&mut Log) -> Result<(), JournalError>,
    ) -> Result<(), JournalError> {
        let done = panic::catch_unwind(AssertUnwindSafe(|| f(&mut self.log())));
        done.unwrap_or_else(|_| {
            self.log().set_broken();
            Err(JournalError::Broken)
        })
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
        let saved = self.guarded(|log| log.save(journal, number, state.kind, &state.bytes));
        if let Err(error) = saved {
            self.log().notice(error);
        }
    }

    /// Removes the oldest segments if there are many. An error is a notice of the log: all events
    /// are still there.
    pub(super) fn compact(&self) {
        // Relaxed: one thread at a time writes the log.
        if self.log().segments() < self.compact_at.load(Relaxed) {
            return;
        }
        let compacted = self.guarded(|log| log.compact(COPIED_MAX).map(|_| ()));
        let mut log = self.log();
        if let Err(error) = compacted {
            log.notice(error);
        }
        let next = (log.segments() + SEGMENTS_MORE).max(SEGMENTS_MANY);
        self.compact_at.store(next, Relaxed);
    }

    /// Undoes all waiting turns, and all that come later, because nobody writes them any more.
    pub(super) fn close(&self) {
        let turns = lock(&self.queue).close();
        undo(turns, CLOSED);
    }
}

/// Undoes turns whose events are not in the log.
fn undo(turns: impl IntoIterator<Item = Waiting>, why: &str) {
    for turn in turns {
        turn.pending.undo(why);
    }
}
