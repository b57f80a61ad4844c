//! The names of journals, which get numbers before they have rows.

use std::sync::Arc;

use hashbrown::HashMap;
use rusqlite::{Connection, OptionalExtension as _, Result};

/// The journals that this process has named.
#[derive(Debug, Default)]
pub(super) struct Names {
    ids: HashMap<Arc<str>, u64>,
    names: HashMap<u64, Arc<str>>,
    /// Largest number that was given to a journal without a row.
    last: u64,
}

/// Returns the number of the journal with a name, if it has a row.
pub(super) fn find(connection: &Connection, name: &str) -> Result<Option<u64>> {
    connection
        .prepare_cached("SELECT id FROM journals WHERE name = ?1")?
        .query_row([name], |row| row.get(0))
        .optional()
}

/// Returns the name of the journal with a number, if it has a row.
pub(super) fn name_of(connection: &Connection, id: u64) -> Result<Option<String>> {
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
    pub(super) fn id_of(&mut self, connection: &Connection, name: &str) -> Result<u64> {
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
