//! The shared part of a journal: the log, and the turns that wait for it.

use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use garrick_actor::Handle;

use super::queue::{State, Waiting};
use super::sample::{Figures, JournalSample, lock};
use super::waits::Nanos;
use crate::error::{JournalError, describe};
use crate::group::{Group, JournalId};
use crate::log::Log;

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

/// The shared part of a journal.
pub(super) struct Core {
    log: Mutex<Log>,
    /// Number of segments from which on the log is compacted next.
    compact_at: AtomicUsize,
    /// The waiting turns, the names of the entities, and the numbers.
    figures: Arc<Figures>,
}

impl Core {
    /// Creates the shared part. `clock` has the clock by which times are measured.
    pub(super) fn new(mut log: Log, clock: Handle) -> Self {
        let figures = Figures::new(clock);
        figures.look(&mut log);
        Self {
            log: Mutex::new(log),
            compact_at: AtomicUsize::new(SEGMENTS_MANY),
            figures: Arc::new(figures),
        }
    }

    pub(super) fn figures(&self) -> &Arc<Figures> {
        &self.figures
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
        let is_first = lock(&self.figures.queue).push(&mut turn, || self.figures.now());
        undo(turn, CLOSED);
        is_first
    }

    /// Records that an entity exists. Returns false if there is another one with this name.
    #[must_use]
    pub(super) fn enter(&self, name: &str) -> bool {
        lock(&self.figures.names).insert(name.to_owned())
    }

    /// Records that an entity does not exist any more.
    pub(super) fn leave(&self, name: &str) {
        lock(&self.figures.names).remove(name);
    }

    /// Writes some groups of waiting turns. The turns that end meanwhile are the next group.
    /// Returns true if turns are waiting, so that the caller must call this method again.
    ///
    /// Returns after some time in any case, because the caller may occupy a worker.
    #[must_use]
    pub(super) fn write_some(&self) -> bool {
        let (mut group, mut turns) = (Group::new(), Vec::new());
        for _ in 0..GROUPS_MAX {
            lock(&self.figures.queue).take(&mut turns, &mut group);
            if turns.is_empty() {
                break;
            }
            self.figures.begin();
            let appended = self.guarded(|log| log.append(&group));
            self.figures.end(&group, turns.len(), &appended);
            self.look();
            group.clear();
            match appended {
                Ok(()) => self.commit(mem::take(&mut turns)),
                Err(error) => {
                    undo(mem::take(&mut turns), &describe(&error));
                    lock(&self.figures.queue).waits.decide();
                }
            }
        }
        lock(&self.figures.queue).goes_on()
    }

    /// Records that an entity has read its state from `events` events, since the time `began`.
    pub(super) fn recovered(&self, began: Nanos, events: u64) {
        self.figures.recover(began, events);
        // A state that could not be read is a notice.
        if let Some(mut log) = self.try_log() {
            self.figures.look(&mut log);
        }
    }

    /// Records the numbers of the log.
    fn look(&self) {
        self.figures.look(&mut self.log());
    }

    pub(super) fn sample(&self) -> JournalSample {
        self.figures.sample()
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
        lock(&self.figures.queue).waits.decide();
        for (journal, number, state) in states {
            self.save(journal, number, &state);
        }
        self.compact();
    }

    /// Saves a state. An error is a notice of the log: the events are still there.
    fn save(&self, journal: JournalId, number: u64, state: &State) {
        let saved = self.guarded(|log| log.save(journal, number, state.kind, &state.bytes));
        match saved {
            Ok(()) => self.figures.save(),
            Err(error) => self.log().notice(error),
        }
        self.look();
    }

    /// Removes the oldest segments if there are many. An error is a notice of the log: all events
    /// are still there.
    pub(super) fn compact(&self) {
        // Relaxed: one thread at a time writes the log.
        if self.log().segments() < self.compact_at.load(Relaxed) {
            return;
        }
        let compacted = self.guarded(|log| {
            self.figures.compact(log.compact(COPIED_MAX)?);
            Ok(())
        });
        let mut log = self.log();
        if let Err(error) = compacted {
            log.notice(error);
        }
        let next = (log.segments() + SEGMENTS_MORE).max(SEGMENTS_MANY);
        self.compact_at.store(next, Relaxed);
        self.figures.look(&mut log);
    }

    /// Undoes all waiting turns, and all that come later, because nobody writes them any more.
    pub(super) fn close(&self) {
        let turns = lock(&self.figures.queue).close();
        undo(turns, CLOSED);
    }
}

/// Undoes turns whose events are not in the log.
fn undo(turns: impl IntoIterator<Item = Waiting>, why: &str) {
    for turn in turns {
        turn.pending.undo(why);
    }
}
