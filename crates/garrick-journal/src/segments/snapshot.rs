//! Snapshots. A snapshot is a file with the state of a journal after some event.

use garrick_actor::files::Files;
use hashbrown::HashMap;

use super::SegmentLog;
use super::index::SNAPSHOTS_KEPT;
use super::segment::remove;
use crate::error::JournalError;
use crate::event::{Event, EventKind};
use crate::frame::{Frame, decode};
use crate::group::{JournalId, check_state};
use crate::log::Snapshot;

/// Suffix of the names of snapshots.
const SUFFIX: &str = ".snapshot";

/// Suffix that is appended to the file name of a damaged snapshot.
const DAMAGED: &str = ".damaged";

/// Maximum size in bytes for which a snapshot is read on the caller's thread.
const FEW_BYTES: u64 = 64 << 10;

/// Returns the name of the file of a snapshot.
pub(super) fn name_of(journal: JournalId, number: u64) -> String {
    format!("{:016x}-{number:020}{SUFFIX}", journal.0)
}

/// Returns the journal and the number of the snapshot in a file with this name. Returns `None` for
/// other files.
fn of_name(name: &str) -> Option<(u64, u64)> {
    let (journal, number) = name.strip_suffix(SUFFIX)?.split_once('-')?;
    let journal = u64::from_str_radix(journal, 16).ok()?;
    // An event with the number `u64::MAX` would have no next one.
    let number = number.parse().ok().filter(|number| *number < u64::MAX)?;
    (name_of(JournalId(journal), number) == name).then_some((journal, number))
}

/// Returns true if a file with this name is a snapshot.
pub(super) fn is_name(name: &str) -> bool {
    of_name(name).is_some()
}

/// Returns, for each journal, the numbers of the events after which its snapshots were taken.
pub(super) fn found(names: &[String]) -> HashMap<u64, Vec<u64>> {
    let mut found: HashMap<_, Vec<_>> = HashMap::new();
    for (journal, number) in names.iter().filter_map(|name| of_name(name)) {
        found.entry(journal).or_default().push(number);
    }
    found
}

impl SegmentLog {
    /// Saves the state of a journal after the event with the number `number`. Keeps the two newest
    /// snapshots, and the events after the older one.
    ///
    /// # Errors
    /// Returns [`JournalError::Conflict`] if there is no event with this number yet, or if there is
    /// a snapshot with this or a greater number, and any error of the disk. Earlier snapshots
    /// remain.
    pub fn save(
        &mut self,
        journal: JournalId,
        number: u64,
        kind: EventKind,
        state: &[u8],
    ) -> Result<(), JournalError> {
        if self.lock.is_none() {
            return Err(JournalError::ReadOnly);
        }
        check_state(state)?;
        let newest = self.newest(journal);
        let Some(found) = self.index.get(journal) else {
            return Ok(());
        };
        let newest_saved = found.snapshots.last().copied().unwrap_or(0);
        if number > newest || number <= newest_saved {
            return Err(JournalError::Conflict {
                journal: found.name.to_string(),
                expected: newest,
                found: number,
            });
        }
        let name = name_of(journal, number);
        let mut bytes = Vec::new();
        let frame = Frame::Event {
            journal: journal.0,
            event: Event {
                number,
                kind,
                is_whole: true,
                payload: state,
            },
        };
        frame.put(&mut bytes);
        if let Err(error) = self.files.replace(&name, &bytes) {
            // The file may be there, and may not be durable.
            let _ = self.remove_snapshot(journal, number);
            return Err(JournalError::disk("write", &name, error));
        }
        self.left.retain(|left| *left != (journal, number));
        if let Some(found) = self.index.get_mut(journal) {
            found.snapshots.push(number);
        }
        self.index.trim(journal);
        if let Err(error) = self.remove_old_snapshots(journal) {
            // They are removed with the next snapshot, or when the log is opened.
            self.notice(error);
        }
        Ok(())
    }

    /// Removes all snapshots of a journal except the two newest ones.
    fn remove_old_snapshots(&mut self, journal: JournalId) -> Result<(), JournalError> {
        while let Some(found) = self.index.get_mut(journal)
            && found.snapshots.len() > SNAPSHOTS_KEPT
        {
            let number = found.snapshots.remove(0);
            self.remove_snapshot(journal, number)?;
        }
        Ok(())
    }

    /// Removes the file of a snapshot that is no longer valid. If the file cannot be removed, the
    /// next compaction first removes it, because the compacted log may no longer contain the
    /// deletion of the journal.
    pub(super) fn remove_snapshot(
        &mut self,
        journal: JournalId,
        number: u64,
    ) -> Result<(), JournalError> {
        let removed = remove(&*self.files, &name_of(journal, number));
        if removed.is_err() {
            self.left.push((journal, number));
        }
        removed
    }

    /// Returns the newest readable snapshot of a journal. The caller then reads the events after
    /// it. Returns `None` if no snapshot can be used, so that all events from
    /// [`SegmentLog::oldest`] on must be read.
    ///
    /// # Errors
    /// Returns the error of the newest snapshot if the state cannot be computed: no snapshot can be
    /// read, the events that the snapshots cover were removed, and the oldest event does not
    /// contain the whole state. If a snapshot cannot be read, but an older snapshot, all events or
    /// the event with the whole state can be read, the error becomes a notice. The file of a
    /// damaged snapshot gets the suffix `.damaged`.
    pub fn snapshot(&mut self, journal: JournalId) -> Result<Option<Snapshot>, JournalError> {
        let Some(found) = self.index.get(journal) else {
            return Ok(None);
        };
        let (numbers, oldest) = (found.snapshots.clone(), found.oldest());
        let (mut errors, mut damaged) = (Vec::new(), Vec::new());
        // A snapshot before an event with the whole state is not needed.
        let needed = |number: &u64| number + 1 >= oldest;
        for number in numbers.into_iter().rev().take_while(needed) {
            match load(&*self.files, journal, number) {
                Ok(snapshot) => {
                    self.pass_over(journal, errors, &damaged);
                    return Ok(Some(snapshot));
                }
                Err(error) => {
                    if matches!(error, JournalError::Damaged { .. }) {
                        damaged.push(number);
                    }
                    errors.push(error);
                }
            }
        }
        if oldest > 1 && !errors.is_empty() && !self.is_oldest_whole(journal) {
            return Err(errors.swap_remove(0));
        }
        self.pass_over(journal, errors, &damaged);
        Ok(None)
    }

    /// Returns the newest snapshot of a journal that is older than the snapshot `number`, if no
    /// event after it is missing.
    pub(super) fn snapshot_before(
        &self,
        journal: JournalId,
        number: u64,
    ) -> Result<Option<Snapshot>, JournalError> {
        let Some(found) = self.index.get(journal) else {
            return Ok(None);
        };
        let is_it = |older: &&u64| **older < number && **older + 1 >= found.oldest();
        let older = found.snapshots.iter().rev().find(is_it);
        older
            .map(|older| load(&*self.files, journal, *older))
            .transpose()
    }

    /// Returns true if the oldest kept event of a journal contains the whole state. Returns false
    /// if this event cannot be read.
    fn is_oldest_whole(&mut self, journal: JournalId) -> bool {
        let mut is_whole = false;
        let read = self.read_while(journal, 0, |event| {
            is_whole = event.is_whole;
            false
        });
        read.is_ok() && is_whole
    }

    /// Records the errors of unreadable snapshots that were skipped. Renames the damaged snapshots,
    /// so that they do not count as kept snapshots.
    fn pass_over(&mut self, journal: JournalId, errors: Vec<JournalError>, damaged: &[u64]) {
        errors.into_iter().for_each(|error| self.notice(error));
        if self.lock.is_none() {
            return;
        }
        for number in damaged {
            if let Err(error) = set_apart(&*self.files, &name_of(journal, *number)) {
                self.notice(error);
            } else if let Some(found) = self.index.get_mut(journal) {
                found.snapshots.retain(|other| other != number);
            }
        }
    }

    /// Returns true if the newest snapshot of a journal is large, or if its size is not known.
    pub(super) fn is_saved_large(&self, journal: JournalId) -> bool {
        let found = self.index.get(journal);
        let Some(number) = found.and_then(|found| found.snapshots.last()) else {
            return false;
        };
        let file = self.files.open_to_read(&name_of(journal, *number));
        let length = file.and_then(|file| file.length());
        length.map_or(true, |length| length > FEW_BYTES)
    }

    /// Reads all snapshots of a journal. Passes the errors to `failed`. Returns the number of
    /// snapshots that can be read. If the log was opened for reading, skips the snapshots that
    /// another process has removed since then.
    pub fn check_saved(&self, journal: JournalId, mut failed: impl FnMut(JournalError)) -> u64 {
        let found = self.index.get(journal);
        let numbers = found.map_or(&[][..], |found| &found.snapshots);
        let loaded = numbers
            .iter()
            .map(|number| load(&*self.files, journal, *number));
        let mut read = 0;
        for loaded in loaded {
            match loaded {
                Ok(_) => read += 1,
                Err(error) if self.is_gone(&error) => {}
                Err(error) => failed(error),
            }
        }
        read
    }
}

/// Renames a damaged snapshot, so that it no longer counts as a snapshot. People can still examine
/// the file.
pub(super) fn set_apart(files: &dyn Files, name: &str) -> Result<(), JournalError> {
    files
        .rename(name, &format!("{name}{DAMAGED}"))
        .map_err(|error| JournalError::disk("rename", name, error))
}

pub(super) fn load(
    files: &dyn Files,
    journal: JournalId,
    number: u64,
) -> Result<Snapshot, JournalError> {
    let name = name_of(journal, number);
    let bytes = files
        .read(&name)
        .map_err(|error| JournalError::disk("read", &name, error))?;
    let damaged = |why| JournalError::damaged(&name, 0, why);
    let (frame, size) = decode(&bytes).map_err(|flaw| damaged(flaw.text()))?;
    match frame {
        Frame::Event { journal: id, event }
            if (id, event.number, size) == (journal.0, number, bytes.len()) =>
        {
            Ok(Snapshot {
                number,
                kind: event.kind,
                payload: event.payload.to_vec(),
            })
        }
        _ => Err(damaged("it is another snapshot")),
    }
}

#[cfg(test)]
mod tests {
    use super::{name_of, of_name};
    use crate::group::JournalId;

    #[test]
    fn names_of_snapshots_have_journals_and_numbers() {
        let name = name_of(JournalId(0xab), 12);
        assert_eq!(name, "00000000000000ab-00000000000000000012.snapshot");
        assert_eq!(of_name(&name), Some((0xab, 12)));
        let new = format!("{name}.new");
        for other in [&new, "ab-12.snapshot", "lock"] {
            assert_eq!(of_name(other), None, "{other}");
        }
    }
}
