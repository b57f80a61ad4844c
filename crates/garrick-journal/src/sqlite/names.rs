//! The names of journals, which get numbers before they have rows.

use std::sync::Arc;

use hashbrown::HashMap;
use rusqlite::{Connection, OptionalExtension as _, Result as Sqlite};

use super::fault::engine;
use crate::error::JournalError;

/// The journals that this process has named.
#[derive(Debug, Default)]
pub(super) struct Names {
    ids: HashMap<Arc<str>, u64>,
    names: HashMap<u64, Arc<str>>,
    /// Largest number that was given to a journal without a row.
    last: u64,
}

/// Returns the checksum of the row of a journal.
pub(super) fn checksum_of_name(id: u64, name: &str) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&id.to_le_bytes()), name.as_bytes())
}

/// Checks the rows of all journals. A journal whose name is damaged would look like a new one.
///
/// # Errors
/// Returns [`JournalError::DamagedRow`] if one is not as it was written, and any error of SQLite.
pub(super) fn check_names(connection: &Connection, file: &str) -> Result<(), JournalError> {
    let failed = |error| engine("read", file, error);
    // Not from an index, which has copies of the names.
    let all = "SELECT id, name, checksum FROM journals NOT INDEXED";
    let mut statement = connection.prepare(all).map_err(failed)?;
    let mut rows = statement.query([]).map_err(failed)?;
    while let Some(row) = rows.next().map_err(failed)? {
        let id: i64 = row.get(0).map_err(failed)?;
        let name = row.get_ref(1).map_err(failed)?;
        let checksum: i64 = row.get(2).map_err(failed)?;
        let is_whole = (u64::try_from(id).ok())
            .zip(name.as_str().ok())
            .is_some_and(|(id, name)| i64::from(checksum_of_name(id, name)) == checksum);
        if !is_whole {
            return Err(JournalError::DamagedRow {
                file: file.to_owned(),
                row: format!("the journal number {id}"),
                why: "its checksum is wrong".to_owned(),
            });
        }
    }
    Ok(())
}

/// Returns the number of the journal with a name, if it has a row.
pub(super) fn find(connection: &Connection, name: &str) -> Sqlite<Option<u64>> {
    connection
        .prepare_cached("SELECT id FROM journals WHERE name = ?1")?
        .query_row([name], |row| row.get(0))
        .optional()
}

/// Returns the name of the journal with a number, if it has a row.
pub(super) fn name_of(connection: &Connection, id: u64) -> Sqlite<Option<String>> {
    // SQLite has no greater numbers.
    if i64::try_from(id).is_err() {
        return Ok(None);
    }
    connection
        .prepare_cached("SELECT name FROM journals WHERE id = ?1")?
        .query_row([id], |row| row.get(0))
        .optional()
}

impl Names {
    /// Returns the number of the journal with a name. Gives it the next number if it has none.
    pub(super) fn id_of(&mut self, connection: &Connection, name: &str) -> Sqlite<u64> {
        // First: the journal may get its row at this moment, with the number that is known here.
        if let Some(id) = self.ids.get(name) {
            return Ok(*id);
        }
        let id = match find(connection, name)? {
            Some(id) => id,
            None => {
                let last: u64 = connection
                    .prepare_cached("SELECT coalesce(max(id), 0) FROM journals")?
                    .query_row([], |row| row.get(0))?;
                self.last = self.last.max(last) + 1;
                self.last
            }
        };
        let name: Arc<str> = name.into();
        self.ids.insert(Arc::clone(&name), id);
        self.names.insert(id, name);
        Ok(id)
    }

    /// Returns the name of the journal with a number, if this process has named it.
    pub(super) fn name(&self, id: u64) -> Option<Arc<str>> {
        self.names.get(&id).cloned()
    }
}
