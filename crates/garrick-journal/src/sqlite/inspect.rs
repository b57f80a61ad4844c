//! Listing and checking of the journals in an SQLite log.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::SqliteLog;
use super::fault::engine;
use super::names::{Stored, damaged, row_of, rows};
use super::read::{SAVED, oldest};
use super::row::event_of;
use crate::error::JournalError;
use crate::event::Event;
use crate::group::JournalId;

/// A journal of an [`SqliteLog`]. [`SqliteLog::journals`] returns it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listed {
    /// Number that identifies the journal in the open log.
    pub journal: JournalId,
    /// Name of the journal.
    pub name: String,
    /// Sequence number of the oldest event that can be read. If no event can be read, the number of
    /// the next event.
    pub oldest: u64,
    /// Sequence number of the newest event.
    pub newest: u64,
}

fn listed(reader: &Connection, row: &Stored) -> rusqlite::Result<Listed> {
    Ok(Listed {
        journal: JournalId::new(row.id),
        name: row.name().to_owned(),
        oldest: oldest(reader, row.id)?.unwrap_or(row.newest + 1),
        newest: row.newest,
    })
}

impl SqliteLog {
    /// Returns the journals that have an event or had one, in the order of their creation.
    ///
    /// # Errors
    /// Returns [`JournalError::DamagedRow`] if the row of a journal differs from what was written,
    /// and [`JournalError::Engine`] for any error of SQLite.
    pub fn journals(&self) -> Result<Vec<Listed>, JournalError> {
        let Some(reader) = self.reader(true) else {
            return Ok(Vec::new());
        };
        let rows = rows(&reader, &self.place.name)?;
        let listed: rusqlite::Result<_> = rows.iter().map(|row| listed(&reader, row)).collect();
        listed.map_err(|error| engine("read", &self.place.name, error))
    }

    /// Returns the journal with the given name, if it exists.
    ///
    /// # Errors
    /// Returns the errors of [`SqliteLog::journals`].
    pub fn find(&self, name: &str) -> Result<Option<Listed>, JournalError> {
        let (Some(reader), Some(id)) = (self.reader(true), self.names().find(name)) else {
            return Ok(None);
        };
        let file = &self.place.name;
        let Some(row) = row_of(&reader, file, id)? else {
            return Err(damaged(file, id, "it is missing"));
        };
        let listed = listed(&reader, &row).map_err(|error| engine("read", file, error))?;
        Ok(Some(listed))
    }

    /// Calls `each` with each event that is in the journal `journal` and has a number of at least
    /// `from`, oldest first.
    ///
    /// # Errors
    /// Returns [`JournalError::DamagedRow`] if an event is missing or differs from what was
    /// written, and [`JournalError::Engine`] for any error of SQLite. In both cases, `each` has
    /// been called for the earlier events.
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

    /// Reads all saved states of a journal. Passes the errors to `failed`. Returns the number of
    /// states that can be read.
    ///
    /// # Errors
    /// Returns [`JournalError::Engine`] for any error of SQLite.
    pub fn check_saved(
        &self,
        journal: JournalId,
        mut failed: impl FnMut(JournalError),
    ) -> Result<u64, JournalError> {
        let (Some(reader), file) = (self.reader(true), &self.place.name) else {
            return Ok(0);
        };
        let engine = |error| engine("read", file, error);
        let mut statement = reader.prepare_cached(SAVED).map_err(engine)?;
        let mut rows = statement.query(params![journal.get(), 0]).map_err(engine)?;
        let mut whole = 0;
        while let Some(row) = rows.next().map_err(engine)? {
            match event_of(file, "the saved state", journal.get(), row) {
                Ok(_) => whole += 1,
                Err(error) => failed(error),
            }
        }
        Ok(whole)
    }

    /// Lets SQLite check the structure of the whole database.
    ///
    /// # Errors
    /// Returns [`JournalError::DamagedRow`] with the first problem that SQLite has found, and
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
