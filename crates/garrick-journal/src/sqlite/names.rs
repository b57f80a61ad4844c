//! The journals of a database. A journal gets a number before it has a row.

use std::sync::Arc;

use hashbrown::HashMap;
use rusqlite::{Connection, OptionalExtension as _, Row};

use super::fault::engine;
use crate::error::JournalError;

/// A journal that has a number in a database.
#[derive(Debug)]
struct Named {
    name: Arc<str>,
    /// True if the journal has a row.
    is_stored: bool,
}

/// The journals of a database, including journals that will get rows with their first events.
#[derive(Debug, Default)]
pub(super) struct Names {
    ids: HashMap<Arc<str>, u64>,
    names: HashMap<u64, Named>,
    /// Largest number that has ever identified a journal.
    last: u64,
}

/// A row of the table of journals.
pub(super) struct Stored {
    pub(super) id: u64,
    name: Arc<str>,
    /// Sequence number of the newest event.
    pub(super) newest: u64,
}

/// Returns the checksum of the row of a journal.
pub(super) fn checksum_of(id: u64, name: &str, newest: u64) -> u32 {
    let sum = crc32c::crc32c(&id.to_le_bytes());
    let sum = crc32c::crc32c_append(sum, &newest.to_le_bytes());
    crc32c::crc32c_append(sum, name.as_bytes())
}

/// Returns the error for the damaged row of a journal.
pub(super) fn damaged(
    file: &str,
    id: impl std::fmt::Display,
    why: impl Into<String>,
) -> JournalError {
    JournalError::DamagedRow {
        file: file.to_owned(),
        row: format!("the journal number {id}"),
        why: why.into(),
    }
}

/// Returns the journal of a row with the columns `id`, `name`, `newest` and `checksum`.
///
/// # Errors
/// Returns [`JournalError::DamagedRow`] if the row differs from what was written, and any error of
/// SQLite.
fn stored(row: &Row<'_>, file: &str) -> Result<Stored, JournalError> {
    let failed = |error| engine("read", file, error);
    let id: i64 = row.get(0).map_err(failed)?;
    let name = row.get_ref(1).map_err(failed)?;
    let newest: i64 = row.get(2).map_err(failed)?;
    let checksum: i64 = row.get(3).map_err(failed)?;
    let numbers = u64::try_from(id).ok().zip(u64::try_from(newest).ok());
    let whole = numbers.zip(name.as_str().ok());
    whole
        .filter(|((id, newest), name)| i64::from(checksum_of(*id, name, *newest)) == checksum)
        .map(|((id, newest), name)| Stored {
            id,
            name: name.into(),
            newest,
        })
        .ok_or_else(|| damaged(file, id, "its checksum is wrong"))
}

/// Returns the row of the journal with the given number, if the journal has a row.
pub(super) fn row_of(
    connection: &Connection,
    file: &str,
    id: u64,
) -> Result<Option<Stored>, JournalError> {
    // SQLite has no greater numbers.
    if i64::try_from(id).is_err() {
        return Ok(None);
    }
    let failed = |error| engine("read", file, error);
    let mut statement = connection
        .prepare_cached("SELECT id, name, newest, checksum FROM journals WHERE id = ?1")
        .map_err(failed)?;
    let row = statement.query_row([id], |row| Ok(stored(row, file)));
    row.optional().map_err(failed)?.transpose()
}

/// Returns the rows of all journals, in ascending order of their numbers.
pub(super) fn rows(connection: &Connection, file: &str) -> Result<Vec<Stored>, JournalError> {
    let failed = |error| engine("read", file, error);
    // Not from an index, which has no checksums.
    let all = "SELECT id, name, newest, checksum FROM journals NOT INDEXED ORDER BY id";
    let mut statement = connection.prepare(all).map_err(failed)?;
    let mut rows = statement.query([]).map_err(failed)?;
    let mut journals = Vec::new();
    while let Some(row) = rows.next().map_err(failed)? {
        journals.push(stored(row, file)?);
    }
    Ok(journals)
}

impl Stored {
    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

impl Names {
    /// Reads the rows of all journals.
    pub(super) fn read(connection: &Connection, file: &str) -> Result<Self, JournalError> {
        let mut names = Self::default();
        for Stored { id, name, .. } in rows(connection, file)? {
            names.last = names.last.max(id);
            names.add(id, name, true);
        }
        Ok(names)
    }

    fn add(&mut self, id: u64, name: Arc<str>, is_stored: bool) {
        self.ids.insert(Arc::clone(&name), id);
        self.names.insert(id, Named { name, is_stored });
    }

    /// Returns the number that identifies the journal named `name`. If the journal has no number
    /// yet, assigns the next free number to it.
    pub(super) fn id_of(&mut self, name: &str) -> u64 {
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        self.last += 1;
        self.add(self.last, name.into(), false);
        self.last
    }

    /// Returns the number of the journal with the given name, if the journal has a row.
    pub(super) fn find(&self, name: &str) -> Option<u64> {
        let id = *self.ids.get(name)?;
        self.is_stored(id).then_some(id)
    }

    /// Returns the name of the journal with the given number.
    pub(super) fn name(&self, id: u64) -> Option<Arc<str>> {
        self.names.get(&id).map(|named| Arc::clone(&named.name))
    }

    /// Returns true if the journal with the given number has a row.
    pub(super) fn is_stored(&self, id: u64) -> bool {
        self.names.get(&id).is_some_and(|named| named.is_stored)
    }

    /// Returns the number of journals.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        debug_assert_eq!(self.ids.len(), self.names.len());
        self.ids.len()
    }

    /// Removes the journal with the given name if it has no row. Its number is not used again.
    pub(super) fn remove_unused(&mut self, name: &str) {
        if let Some(id) = self.ids.get(name).copied()
            && !self.is_stored(id)
        {
            self.ids.remove(name);
            self.names.remove(&id);
        }
    }

    /// Records that a journal has a row now.
    pub(super) fn set_stored(&mut self, id: u64) {
        if let Some(named) = self.names.get_mut(&id) {
            named.is_stored = true;
        }
    }
}
