//! Implements [`Log`] for a [`SegmentLog`] in a mutex, so that several threads can use it.

use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use hashbrown::HashMap;

use super::SegmentLog;
use super::compact::Compacted;
use super::index::Held;
use crate::error::JournalError;
use crate::event::EventKind;
use crate::group::{Group, JournalId};
use crate::log::{Log, LogSample, READ_BYTES, Refused, Snapshot, Start};

/// Maximum number of events for which a journal is read on the caller's thread. For so few events,
/// using another thread would take longer.
const FEW_EVENTS: u64 = 64;

/// Number of segments at which the log is compacted. The number is greater than 1, because each
/// opening of a log creates a segment.
const SEGMENTS_MANY: usize = 8;

/// Number of further segments after which the log is compacted again.
const SEGMENTS_MORE: usize = 4;

/// Number of copied bytes at which a compaction ends, because all turns wait for it. The next
/// compaction follows after the next group.
const COPIED_MAX: u64 = 8 << 20;

/// Maximum size of a small segment in bytes. Small segments are copied even if all of their events
/// are needed, because each opening of a log creates a segment.
const SMALL_BYTES: u64 = 1 << 20;

/// Number of segments of a scattered log. More segments follow for each full segment that the bytes
/// of the log need.
const SEGMENTS_SCATTERED: u64 = 64;

/// Number of segments of a scattered log for each full segment that the bytes of the log need.
const SCATTERED_FACTOR: u64 = 4;

/// A full segment has at least this many times the size of a small segment.
const SMALL_PARTS: u64 = 16;

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

    /// Compacts the log if it has many segments, or if the disk is full. Does nothing if the log is
    /// broken, or was opened for reading.
    fn compact_if_due(&mut self) {
        if self.check_usable().is_err() {
            return;
        }
        let mut is_due = self.segments() >= self.compact_at.max(SEGMENTS_MANY);
        if mem::take(&mut self.is_full) {
            // Copies may need the space of these segments.
            let (removed, error) = self.compact_while(|log, oldest, _| log.live_in(oldest) == 0);
            is_due = error.is_none() && (is_due || removed.segments > 0);
            self.note_compaction(removed, error);
        }
        if !is_due {
            return;
        }
        // A segment from which too few bytes would be gained stays, until half of the log is not
        // needed. Then one is copied as a whole each time.
        let may_be_whole = self.is_half_useless() || self.is_scattered();
        let (mut is_whole_left, mut goes_on) = (may_be_whole, false);
        let (compacted, error) = self.compact_while(|log, oldest, copied| {
            let is_cheap = log.is_gain(oldest) || log.is_small(oldest);
            let is_next = is_cheap || is_whole_left;
            if is_next && copied >= COPIED_MAX && log.live_in(oldest) > 0 {
                goes_on = true;
                return false;
            }
            is_whole_left &= is_cheap;
            is_next
        });
        let was_whole = may_be_whole && !is_whole_left;
        self.compact_at = if error.is_some() {
            self.segments() + 1
        } else if goes_on || was_whole && (self.is_half_useless() || self.is_scattered()) {
            // The next one follows after the next group.
            0
        } else {
            self.segments() + SEGMENTS_MORE
        };
        self.note_compaction(compacted, error);
    }

    /// Counts a compaction. If it has failed, adds its error to the notices: all events are still
    /// there.
    fn note_compaction(&mut self, compacted: Compacted, error: Option<JournalError>) {
        self.tended.compactions += u64::from(compacted.segments > 0);
        self.tended.copied += compacted.copied_bytes;
        error.into_iter().for_each(|error| self.notice(error));
    }

    /// Returns true if at most half of the events of a segment are needed.
    fn is_gain(&self, segment: u32) -> bool {
        let Held { live, written } = self.index.held_in(segment);
        live * 2 <= written
    }

    /// Returns true if a segment is small, so that it can be copied although all of its events are
    /// needed.
    fn is_small(&self, segment: u32) -> bool {
        let small = SMALL_BYTES.min(self.options.segment_bytes / SMALL_PARTS);
        let segment = self.segments.get(&segment);
        segment.is_some_and(|segment| segment.length <= small)
    }

    /// Returns true if the log has far more segments than its bytes need. For example, each opening
    /// of a log has created a small segment after a large one whose events are all needed.
    fn is_scattered(&self) -> bool {
        let needed = self.bytes() / self.options.segment_bytes;
        self.segments() as u64 >= SEGMENTS_SCATTERED + SCATTERED_FACTOR * needed
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
        let appended = match log.append(group) {
            Ok(()) => Ok(Vec::new()),
            Err(JournalError::Conflict { .. }) => log.append_others(group),
            Err(error) => Err(error),
        };
        log.is_full = matches!(appended, Err(JournalError::Full { .. }));
        appended
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

    fn saved_before(
        &self,
        journal: JournalId,
        number: u64,
    ) -> Result<Option<Snapshot>, JournalError> {
        let log = lock(self);
        if log.is_broken() {
            return Err(JournalError::Broken);
        }
        log.snapshot_before(journal, number)
    }

    fn tend(&self) {
        lock(self).compact_if_due();
    }

    fn forget(&self, name: &str) -> bool {
        let log = lock_if(self, false);
        log.map(|mut log| log.index.remove_unused(name)).is_some()
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

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use garrick_sim::testing::Kit;

    use crate::{Event, Group, Log, Options, SegmentLog};

    #[test]
    fn names_without_events_are_forgotten() {
        let mut kit = Kit::new();
        let log = Mutex::new(Options::new().open(Arc::new(kit.disk())).unwrap().0);
        let journals = |log: &Mutex<SegmentLog>| log.lock().unwrap().index.iter().count();
        let start = |name: &str| log.start(name, true).unwrap().unwrap();
        let kept = start("kept").journal;
        let mut group = Group::new();
        let event = Event {
            number: 1,
            ..Event::default()
        };
        group.add(kept, event).unwrap();
        assert!(log.append(&group).unwrap().is_empty());
        let names = || (0..100).map(|number| format!("probed/{number}"));
        names().for_each(|name| assert_eq!(start(&name).newest, 0));
        assert_eq!(journals(&log), 101);
        {
            let _used = log.lock().unwrap();
            assert!(!log.forget("probed/0"), "it would have to wait");
        }
        assert!(names().all(|name| log.forget(&name)) && log.forget("kept"));
        assert_eq!(journals(&log), 1);
        assert_eq!((start("kept").journal, start("kept").newest), (kept, 1));
        assert_eq!(start("probed/0").journal.get(), 102, "a new number");
    }
}
