//! The shared part of a journal: the log, and the turns that wait until their events are written.

use std::collections::VecDeque;
use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

use garrick_actor::Handle;

use super::queue::{State, Unsaved, Waiting};
use super::sample::{Figures, JournalSample, lock};
use super::told::Mailboxes;
use super::waits::Nanos;
use crate::error::{JournalError, describe};
use crate::group::Group;
use crate::log::{Log, Refused};

/// Maximum number of groups that the writer writes before it checks its mailbox.
const GROUPS_MAX: usize = 16;

/// Maximum number of states that are saved after a group, unless the states that wait need too much
/// memory. All turns wait meanwhile, and each state needs a few syncs.
const STATES_MAX: usize = 8;

/// Reason that is reported for turns that are undone because the writer has ended.
const CLOSED: &str = "the journal is closed";

/// The part of a journal that its handles, its entities and its writer share.
pub(super) struct Core {
    log: Box<dyn Log>,
    /// The waiting turns, the names of the entities, and the counters.
    figures: Arc<Figures>,
    /// Names of entities that have ended, and whose journals may have no event. The log has not
    /// forgotten them yet.
    left: Mutex<VecDeque<String>>,
    /// The mailboxes in which restarted entities may find messages about their duties.
    mailboxes: Mailboxes,
}

/// Buffers that the writer reuses, and the states that it must save.
#[derive(Default)]
pub(super) struct Work {
    group: Group,
    turns: Vec<Waiting>,
    /// States that are saved after later groups.
    unsaved: Unsaved,
}

impl Core {
    /// Creates the part of a journal that its handles, its entities and its writer share. Times are
    /// measured by the clock of the system `clock`.
    pub(super) fn new(log: Box<dyn Log>, clock: Handle) -> Self {
        let core = Self {
            log,
            figures: Arc::new(Figures::new(clock)),
            left: Mutex::default(),
            mailboxes: Mailboxes::default(),
        };
        core.look(true);
        core
    }

    pub(super) fn figures(&self) -> &Arc<Figures> {
        &self.figures
    }

    pub(super) fn log(&self) -> &dyn Log {
        &*self.log
    }

    pub(super) fn mailboxes(&self) -> &Mailboxes {
        &self.mailboxes
    }

    /// Appends a turn to the queue. Returns true if the caller must request that the turns be
    /// written. Undoes the turn if turns are no longer written.
    #[must_use]
    pub(super) fn push(&self, turn: Waiting) -> bool {
        let mut turn = Some(turn);
        let is_first = lock(&self.figures.queue).push(&mut turn, || self.figures.now());
        undo(turn, CLOSED);
        is_first
    }

    /// Records that an entity exists. Returns false if another entity has this name.
    #[must_use]
    pub(super) fn enter(&self, name: &str) -> bool {
        lock(&self.figures.names).insert(name.to_owned())
    }

    /// Records that an entity no longer exists. If `is_empty` is true, its journal may have no
    /// event, and the log then forgets its name.
    pub(super) fn leave(&self, name: &str, is_empty: bool) {
        lock(&self.figures.names).remove(name);
        if is_empty {
            lock(&self.left).push_back(name.to_owned());
            self.forget_left();
        }
    }

    /// Lets the log forget the names that entities without events have left. If the log is in use,
    /// so that it cannot forget a name now, this name and the later ones are left for the next
    /// call. So a call is fast even if the log is in use for long and many names are left.
    fn forget_left(&self) {
        let mut left = mem::take(&mut *lock(&self.left));
        if left.is_empty() {
            return;
        }
        {
            // Locked: an entity that begins with one of these names gets its number afterwards.
            let names = lock(&self.figures.names);
            let forget = |name: &str| self.guarded(|log| Ok(log.forget(name)));
            while let Some(name) = left.front() {
                if !names.contains(name) && matches!(forget(name), Ok(false)) {
                    break;
                }
                left.pop_front();
            }
        }
        let mut later = lock(&self.left);
        // Only the names that other threads have added meanwhile are copied.
        mem::swap(&mut *later, &mut left);
        later.append(&mut left);
    }

    /// Writes at most [`GROUPS_MAX`] groups of waiting turns. Turns that end while a group is being
    /// written form the next group. After each group, or if no turn waits, saves a few states.
    /// Returns true if turns or states are still waiting, so that the caller must call this method
    /// again.
    ///
    /// The number of groups is limited, because the caller may occupy a worker.
    #[must_use]
    pub(super) fn write_some(&self, work: &mut Work) -> bool {
        let Work {
            group,
            turns,
            unsaved,
        } = work;
        for groups in 0..GROUPS_MAX {
            group.clear();
            lock(&self.figures.queue).take(turns, group);
            if turns.is_empty() {
                if groups == 0 && !unsaved.is_empty() {
                    self.save_some(unsaved);
                    self.look(true);
                }
                break;
            }
            self.figures.begin();
            let appended = self.guarded(|log| log.append(group));
            self.figures
                .end(group, turns.len(), appended.as_ref().err());
            // Before an asker may look.
            lock(&self.figures.queue).waits.decide();
            match appended {
                Ok(refused) => {
                    self.commit(turns, &refused, unsaved);
                    self.save_some(unsaved);
                }
                Err(error) => {
                    undo(turns.drain(..), &describe(&error));
                    if matches!(error, JournalError::Full { .. }) {
                        // The log may find space for the next group.
                        self.tend();
                    }
                }
            }
            self.look(true);
            self.forget_left();
        }
        lock(&self.figures.queue).goes_on(!unsaved.is_empty())
    }

    /// Records that an entity has read its state from `events` events. Reading began at `began`.
    pub(super) fn recovered(&self, began: Nanos, events: u64) {
        self.figures.recover(began, events);
        // A state that could not be read is a notice.
        self.look(false);
    }

    /// Records the counters of the log. If `waits` is false, does nothing while the log is in use.
    fn look(&self, waits: bool) {
        if let Some(sample) = self.log.sample(waits) {
            self.figures.look(&sample);
        }
    }

    pub(super) fn sample(&self) -> JournalSample {
        self.figures.sample()
    }

    /// Calls `f`, which writes to the log. If `f` panics, returns [`JournalError::Broken`], because
    /// it is unknown what was written.
    fn guarded<R>(
        &self,
        f: impl FnOnce(&dyn Log) -> Result<R, JournalError>,
    ) -> Result<R, JournalError> {
        let done = panic::catch_unwind(AssertUnwindSafe(|| f(&*self.log)));
        done.unwrap_or(Err(JournalError::Broken))
    }

    /// Commits the turns whose events are durable, and undoes the turns whose events were refused.
    /// Adds the states that the committed turns have encoded to the states that must be saved.
    fn commit(&self, turns: &mut Vec<Waiting>, refused: &[Refused], unsaved: &mut Unsaved) {
        for mut turn in turns.drain(..) {
            let is_of = |refused: &&Refused| refused.journal == turn.journal;
            if let Some(refused) = refused.iter().find(is_of) {
                turn.pending.undo(describe(&refused.error));
                continue;
            }
            match turn.batch.state.take() {
                Some(Ok(state)) => unsaved.add(turn.journal, state),
                Some(Err(error)) => self.log.notice(*error),
                None => {}
            }
            // Relaxed: the commit orders this before the next turn of the entity.
            turn.durable.store(turn.last(), Relaxed);
            turn.pending.commit();
        }
    }

    /// Saves a few states, and lets the log remove events that are no longer needed.
    fn save_some(&self, unsaved: &mut Unsaved) {
        let mut saved = 0;
        while (saved < STATES_MAX || unsaved.is_large())
            && let Some((journal, state)) = unsaved.pop()
        {
            saved += 1;
            let State {
                number,
                kind,
                bytes,
            } = *state;
            let saved = self.guarded(|log| log.save(journal, number, kind, &bytes));
            if let Err(error) = saved {
                // The events are still there.
                self.log.notice(error);
            }
        }
        self.tend();
    }

    /// Lets the log remove events that are no longer needed. The log decides when to do this.
    pub(super) fn tend(&self) {
        let _ = self.guarded(|log| {
            log.tend();
            Ok(())
        });
    }

    /// Undoes all waiting turns, and all later ones, because turns are no longer written.
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
