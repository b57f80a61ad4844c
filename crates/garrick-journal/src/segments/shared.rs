//! Implements [`Log`] for a [`SegmentLog`] in a mutex, so that several threads can use it.

use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use hashbrown::HashMap;

use super::SegmentLog;
use super::index::Held;
use crate::error::JournalError;
use crate::event::EventKind;
use crate::group::{Group, JournalId};
use crate::log::{Log, LogSample, READ_BYTES, Refused, Start};

/// Maximum number of events for which a journal is read on the caller's thread. For so few events,
/// using another thread would take longer.
const FEW_EVENTS: u64 = 64;

/// Number of segments at which the log is compacted. The number is greater than 1, because each
/// opening of a log creates a segment.
const SEGMENTS_MANY: usize = 8;

/// Number of further segments after which the log is compacted again.
const SEGMENTS_MORE: usize = 4;

/// Number of needed events up to which a compaction always removes the oldest segment. The needed
/// events are copied first. If the oldest segment has more needed events, it is removed only if at
/// least half of the log is not needed.
const COPIED_MAX: u64 = 1_000;

/// Locks the log. If a thread has panicked while it used the log, marks the log as broken.
fn lock(log: &Mutex<SegmentLog>) -> MutexGuard<'_, SegmentLog> {
    log.lock().unwrap_or_else(|poisoned| mend(log, poisoned))
}

/// Locks the log like [`lock`]. If `waits` is false, returns `None` while another thread uses the
/// log.
fn lock_if(log: &Mutex<SegmentLog>, waits: bool) -> Option<MutexGuard<'_, SegmentLog>> {
    match log.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(mend(log, poisoned)),
        Err(TryLockError::WouldBlock) => waits.then(|| lock(log)),
    }
}

fn mend<'l>(
    log: &'l Mutex<SegmentLog>,
    poisoned: PoisonError<MutexGuard<'l, SegmentLog>>,
) -> MutexGuard<'l, SegmentLog> {
    let mut guard = poisoned.into_inner();
    guard.set_broken();
    log.clear_poison();
    guard
}

impl SegmentLog {
    fn begin_to_read(&mut self, name: &str, waits: bool) -> Result<Option<Start>, JournalError> {
        if self.is_broken() {
            // The newest events may be missing in the index.
            return Err(JournalError::Broken);
        }
        let journal = self.journal(name)?;
        let (newest, oldest) = (self.newest(journal), self.oldest(journal));
        if !waits && (newest + 1 - oldest > FEW_EVENTS || self.is_saved_large(journal)) {
            return Ok(None);
        }
        let snapshot = self.snapshot(journal)?;
        Ok(Some(Start {
            journal,
            newest,
            oldest,
            snapshot,
        }))
    }

    /// Appends the events of a group, except the events of journals with a conflict. A journal has
    /// a conflict if one of the events does not have the next number of the journal. Returns these
    /// journals with their errors.
    fn append_others(&mut self, group: &Group) -> Result<Vec<Refused>, JournalError> {
        let (mut newest, mut refused) = (HashMap::new(), HashMap::new());
        for (journal, event) in group.events() {
            let newest = newest.entry(journal).or_insert(self.newest(journal));
            let found = self.index.get(journal);
            if found.is_some() && event.number == *newest + 1 {
                *newest += 1;
                continue;
            }
            refused
                .entry(journal)
                .or_insert_with(|| JournalError::Conflict {
                    journal: match found {
                        Some(found) => found.name.to_string(),
                        None => format!("number {}", journal.get()),
                    },
                    expected: found.map_or(0, |_| *newest + 1),
                    found: event.number,
                });
        }
        let mut others = Group::new();
        for (journal, event) in group.events() {
            if !refused.contains_key(&journal) {
                others.add(journal, event)?;
            }
        }
        self.append(&others)?;
        let refused = refused.into_iter();
        Ok(refused
            .map(|(journal, error)| Refused { journal, error })
            .collect())
    }

    /// Compacts the log if it has many segments.
    fn compact_if_due(&mut self) {
        if self.segments() < self.compact_at.max(SEGMENTS_MANY) {
            return;
        }
        // A segment with many events that are needed stays, until half of the log is not needed.
        // Then one is copied as a whole each time.
        let (mut may_be_whole, mut was_whole) = (self.is_half_useless(), false);
        let compacted = self.compact_while(|log, oldest| {
            let is_cheap = log.index.live_in(oldest) <= COPIED_MAX;
            let is_next = is_cheap || mem::take(&mut may_be_whole);
            was_whole |= is_next && !is_cheap;
            is_next
        });
        self.compact_at = self.segments() + SEGMENTS_MORE;
        match compacted {
            Ok(compacted) => {
                self.tended.compactions += u64::from(compacted.segments > 0);
                self.tended.copied += compacted.copied_bytes;
                if was_whole && self.is_half_useless() {
                    // The next one follows after the next group.
                    self.compact_at = 0;
                }
            }
            // All events are still there.
            Err(error) => self.notice(error),
        }
    }

    /// Returns true if at least half of the bytes of the log probably belong to events that are not
    /// needed. The estimate uses the numbers of events, not their sizes.
    fn is_half_useless(&self) -> bool {
        let (mut useless, mut all) = (0, 0);
        for (number, segment) in &self.segments {
            let Held { live, written } = self.index.held_in(*number);
            // Less than 2^30 bytes and 2^32 events.
            useless += segment.length * (written - live) / written.max(1);
            all += segment.length;
        }
        useless * 2 >= all
    }
}

impl Log for Mutex<SegmentLog> {
    fn start(&self, name: &str, waits: bool) -> Result<Option<Start>, JournalError> {
        let Some(mut log) = lock_if(self, waits) else {
            return Ok(None);
        };
        log.begin_to_read(name, waits)
    }

    fn read(&self, journal: JournalId, from: u64, events: &mut Group) -> Result<(), JournalError> {
        let mut added = Ok(());
        lock(self).read_while(journal, from, |event| {
            added = events.add(journal, event);
            added.is_ok() && events.size() < READ_BYTES
        })?;
        added
    }

    fn append(&self, group: &Group) -> Result<Vec<Refused>, JournalError> {
        let mut log = lock(self);
        match log.append(group) {
            Ok(()) => Ok(Vec::new()),
            Err(JournalError::Conflict { .. }) => log.append_others(group),
            Err(error) => Err(error),
        }
    }

    fn save(
        &self,
        journal: JournalId,
        number: u64,
        kind: EventKind,
        state: &[u8],
    ) -> Result<(), JournalError> {
        let mut log = lock(self);
        if log.is_broken() {
            return Err(JournalError::Broken);
        }
        log.save(journal, number, kind, state)?;
        log.tended.saved += 1;
        Ok(())
    }

    fn tend(&self) {
        lock(self).compact_if_due();
    }

    fn is_broken(&self) -> bool {
        lock(self).is_broken()
    }

    fn sample(&self, waits: bool) -> Option<LogSample> {
        Some(lock_if(self, waits)?.sample())
    }

    fn notice(&self, error: JournalError) {
        lock(self).notice(error);
    }

    fn take_notices(&self) -> Vec<JournalError> {
        lock(self).take_notices()
    }
}
