//! A log is listed and checked.

use rusqlite::{Connection, OptionalExtension as _};

use super::SqliteLog;
use super::fault::engine;
use super::names::find;
use super::read::{newest, oldest};
use crate::error::JournalError;
use crate::event::Event;
use crate::group::JournalId;

/// A journal of an [`SqliteLog`]. [`SqliteLog::journals`] returns it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listed {
    /// The journal.
    pub journal: JournalId,
    /// Name of the journal.
    pub name: String,
    /// Number of the oldest event that can be read. The number of the next event if there is none.
    pub oldest: u64,
    /// Number of the newest event.
    pub newest: u64,
}

fn listed(reader: &Connection, id: u64, name: String) -> rusqlite::Result<Listed> {
    let newest = newest(reader, id)?;
    Ok(Listed {
        journal: JournalId::new(id),
        name,
        oldest: oldest(reader, id)?.unwrap_or(newest + 1),
        newest,
    })
}

impl SqliteLog {
    /// Returns the journals with events, in ascending order of their creation.
    ///
    /// # Errors
    /// Returns [`JournalError::Engine`] for any error of SQLite.
    pub fn journals(&self) -> Result<Vec<Listed>, JournalError> {
        let Some(reader) = self.reader(true) else {
            return Ok(Vec::new());
        };
        let list = || -> rusqlite::Result<Vec<Listed>> {
            let mut statement = reader.prepare("SELECT id, name FROM journals ORDER BY id")?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.map(|row| {
                let (id, name) = row?;
                listed(&reader, id, name)
            })
            .collect()
        };
        list().map_err(|error| engine("read", &self.place.name, error))
    }

    /// Returns the journal with a name, if it exists.
    ///
    /// # Errors
    /// Returns [`JournalError::Engine`] for any error of SQLite.
    pub fn find(&self, name: &str) -> Result<Option<Listed>, JournalError> {
        let Some(reader) = self.reader(true) else {
            return Ok(None);
        };
        let listed = || match find(&reader, name)? {
            Some(id) => listed(&reader, id, name.to_owned()).map(Some),
            None => Ok(None),
        };
        listed().map_err(|error| engine("read", &self.place.name, error))
    }

    /// Passes the events of a journal to `each`, from the event with the number `from` on, oldest
    /// first.
    ///
    /// # Errors
    /// Returns [`JournalError::DamagedRow`] if an event is not as it was written, and
    /// [`JournalError::Engine`] for any error of SQLite. `each` has then been called for the events
    /// before.
    pub fn read_each(
        &self,
        journal: JournalId,
        from: u64,
        mut each: impl FnMut(Event<'_>),
    ) -> Result<(), JournalError> {
        self.read_while(journal, from, |event| {
            each(event);
            true
        })
    }

    /// Has SQLite check the structure of the database. Reads all of it.
    ///
    /// # Errors
    /// Returns [`JournalError::DamagedRow`] with the first finding of SQLite, and
    /// [`JournalError::Engine`] for any error of SQLite.
    pub fn check(&self) -> Result<(), JournalError> {
        let Some(reader) = self.reader(true) else {
            return Ok(());
        };
        let found: Option<String> = reader
            .query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))
            .optional()
            .map_err(|error| engine("check", &self.place.name, error))?;
        match found {
            Some(why) if why != "ok" => Err(JournalError::DamagedRow {
                file: self.place.name.clone(),
                row: "a table".to_owned(),
                why,
            }),
            _ => Ok(()),
        }
    }
}
