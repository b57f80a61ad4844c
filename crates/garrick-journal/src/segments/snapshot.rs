//! Snapshots: the state of a journal after some event, in files of their own.

use std::io;

use garrick_actor::files::Files;
use hashbrown::HashMap;

use super::SegmentLog;
use super::index::SNAPSHOTS_KEPT;
use crate::error::JournalError;
use crate::event::{Event, EventKind};
use crate::frame::{Frame, decode};
use crate::group::{JournalId, check_state};
use crate::log::Snapshot;

/// Suffix of the names of snapshots.
const SUFFIX: &str = ".snapshot";

/// Returns the name of the file of a snapshot.
fn name_of(journal: JournalId, number: u64) -> String {
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

/// Returns the numbers of the snapshots of each journal.
pub(super) fn found(names: &[String]) -> HashMap<u64, Vec<u64>> {
    let mut found: HashMap<_, Vec<_>> = HashMap::new();
    for (journal, number) in names.iter().filter_map(|name| of_name(name)) {
        found.entry(journal).or_default().push(number);
    }
    found
}

impl SegmentLog {
    /// Saves the state of a journal after the event with the number `number`. The two newest
    /// snapshots are kept, and the events since the older one.
    ///
    /// # Errors
    /// Returns [`JournalError::Conflict`] if there is no such event, or a newer snapshot, and any
    /// error of the disk. Earlier snapshots remain.
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
        self.files
            .replace(&name, &bytes)
            .map_err(|error| JournalError::disk("write", &name, error))?;
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

    /// Removes all snapshots of a journal except those that are kept.
    fn remove_old_snapshots(&mut self, journal: JournalId) -> Result<(), JournalError> {
        while let Some(found) = self.index.get_mut(journal)
            && found.snapshots.len() > SNAPSHOTS_KEPT
        {
            let name = name_of(journal, found.snapshots[0]);
            found.snapshots.remove(0);
            remove(&*self.files, &name)?;
        }
        Ok(())
    }

    /// Removes all snapshots of a journal, whose end is in the log.
    pub(super) fn remove_snapshots(
        &self,
        journal: JournalId,
        numbers: &[u64],
    ) -> Result<(), JournalError> {
        let mut names = numbers.iter().map(|number| name_of(journal, *number));
        names.try_for_each(|name| remove(&*self.files, &name))
    }

    /// Returns the newest snapshot of a journal that can be read. Read the events after it next.
    /// Returns `None` if there is none, so that all events must be read.
    ///
    /// # Errors
    /// Returns [`JournalError::Damaged`] if no snapshot can be read and the events that they cover
    /// were removed. A damaged snapshot before an older one that can be read is a notice.
    pub fn snapshot(&mut self, journal: JournalId) -> Result<Option<Snapshot>, JournalError> {
        let Some(found) = self.index.get(journal) else {
            return Ok(None);
        };
        let (numbers, oldest) = (found.snapshots.clone(), found.oldest());
        let mut error = None;
        // A snapshot before an event with the whole state is not needed.
        let needed = |number: &u64| number + 1 >= oldest;
        for number in numbers.into_iter().rev().take_while(needed) {
            match load(&*self.files, journal, number) {
                Ok(snapshot) => {
                    error.into_iter().for_each(|error| self.notice(error));
                    return Ok(Some(snapshot));
                }
                Err(damaged) => error = Some(error.unwrap_or(damaged)),
            }
        }
        match error {
            Some(error) if oldest > 1 => Err(error),
            error => {
                error.into_iter().for_each(|error| self.notice(error));
                Ok(None)
            }
        }
    }
}

/// Reads a snapshot.
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

/// Removes a file, if it exists.
fn remove(files: &dyn Files, name: &str) -> Result<(), JournalError> {
    match files.remove(name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(JournalError::disk("remove", name, error))
        }
        _ => Ok(()),
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
