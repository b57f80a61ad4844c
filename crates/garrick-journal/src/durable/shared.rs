//! The shared part of a journal: the log, and the turns that wait for it.

use std::error::Error;
use std::fmt::Write as _;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hashbrown::HashSet;

use super::queue::{Queue, Waiting};
use crate::error::JournalError;
use crate::group::Group;
use crate::log::{Log, Refused};

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
    log: Box<dyn Log>,
    queue: Mutex<Queue>,
    /// Numbers so far, without `waiting`.
    counts: Mutex<JournalSample>,
    /// Names of the entities that exist.
    names: Mutex<HashSet<String>>,
}

/// Memory of the writer.
#[derive(Default)]
pub(super) struct Work {
    group: Group,
    turns: Vec<Waiting>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No foreign code is called while one of them is locked.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Core {
    pub(super) fn new(log: Box<dyn Log>) -> Self {
        Self {
            log,
            queue: Mutex::default(),
            counts: Mutex::default(),
            names: Mutex::default(),
        }
    }

    pub(super) fn log(&self) -> &dyn Log {
        &*self.log
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
    pub(super) fn write_some(&self, work: &mut Work) -> bool {
        let Work { group, turns } = work;
        for _ in 0..GROUPS_MAX {
            group.clear();
            lock(&self.queue).take(turns, group);
            if turns.is_empty() {
                break;
            }
            let appended = self.guarded(|log| log.append(group));
            self.count(group, turns.len(), appended.is_ok());
            match appended {
                Ok(refused) => self.commit(turns, &refused),
                Err(error) => undo(turns.drain(..), &describe(&error)),
            }
        }
        lock(&self.queue).goes_on()
    }

    /// Calls `f`, which writes the log. After a panic, it is not known what was written.
    fn guarded<R>(
        &self,
        f: impl FnOnce(&dyn Log) -> Result<R, JournalError>,
    ) -> Result<R, JournalError> {
        let done = panic::catch_unwind(AssertUnwindSafe(|| f(&*self.log)));
        done.unwrap_or(Err(JournalError::Broken))
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
    /// Undoes the turns whose events were refused.
    fn commit(&self, turns: &mut Vec<Waiting>, refused: &[Refused]) {
        let mut states = Vec::new();
        for mut turn in turns.drain(..) {
            let is_of = |refused: &&Refused| refused.journal == turn.journal;
            if let Some(refused) = refused.iter().find(is_of) {
                turn.pending.undo(describe(&refused.error));
                continue;
            }
            if let Some(state) = turn.state.take() {
                states.push((turn.journal, turn.last(), state));
            }
            // Relaxed: the commit orders this before the next turn of the entity.
            turn.durable.store(turn.last(), Relaxed);
            turn.pending.commit();
        }
        for (journal, number, state) in states {
            // The log counts an error. The events are still there.
            let _ = self.guarded(|log| log.save(journal, number, state.kind, &state.bytes));
        }
        self.tend();
    }

    /// Removes events that are not needed, if it is time.
    pub(super) fn tend(&self) {
        let _ = self.guarded(|log| {
            log.tend();
            Ok(())
        });
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
