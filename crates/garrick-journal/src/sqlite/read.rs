//! Reading of journals, by a separate connection, so that readers do not wait for the disk.

use rusqlite::{Connection, Result as Sqlite, params};

use super::SqliteLog;
use super::fault::engine;
use super::names::{damaged, row_of};
use super::row::event_of;
use crate::error::JournalError;
use crate::event::Event;
use crate::group::JournalId;
use crate::log::{Log, Snapshot, Start};
use crate::name::check_name;

/// Maximum number of events for which a journal is read on the caller's thread, because reading
/// them is fast.
const FEW_EVENTS: u64 = 64;

/// Maximum size in bytes of a saved state that is read on the caller's thread.
const FEW_BYTES: u64 = 64 << 10;

/// The query for saved states, newest first. The parameters are the number of a journal and the
/// number of an event: the query returns the states of the journal that cover all events before
/// this event.
pub(super) const SAVED: &str = "SELECT number, tag, version, 1, payload, checksum FROM snapshots
     WHERE journal = ?1 AND number + 1 >= ?2 ORDER BY number DESC";

/// The query for the newest state of a journal that was saved before an event, if no event after
/// the state is missing. The parameters are the number of the journal and the number of the event.
const SAVED_BEFORE: &str = "SELECT number, tag, version, 1, payload, checksum FROM snapshots
     WHERE journal = ?1 AND number < ?2 AND number + 1 >=
     coalesce((SELECT min(number) FROM events WHERE journal = ?1), ?2 + 1) ORDER BY number DESC LIMIT 1";

/// Returns the sequence number of the newest event that a journal has had: the greatest number in
/// the table of events, or the number of the event after which the newest state was saved,
/// whichever is greater. A missing event or state counts as 0.
fn last(connection: &Connection, journal: u64) -> Sqlite<u64> {
    connection
        .prepare_cached(
            "SELECT max(coalesce((SELECT max(number) FROM events WHERE journal = ?1), 0),
             coalesce((SELECT max(number) FROM snapshots WHERE journal = ?1), 0))",
        )?
        .query_row([journal], |row| row.get(0))
}

/// Returns the sequence number of the oldest event of a journal, or `None` if the database contains
/// no event of the journal.
pub(super) fn oldest(connection: &Connection, journal: u64) -> Sqlite<Option<u64>> {
    connection
        .prepare_cached("SELECT min(number) FROM events WHERE journal = ?1")?
        .query_row([journal], |row| row.get(0))
}

/// Returns true if the event `number` of a journal contains the whole state. Returns false if the
/// event is damaged, or if there is no such event.
fn is_whole(connection: &Connection, journal: u64, number: u64) -> Sqlite<bool> {
    let mut statement = connection.prepare_cached(
        "SELECT number, tag, version, whole, payload, checksum FROM events
         WHERE journal = ?1 AND number = ?2",
    )?;
    let mut rows = statement.query([journal, number])?;
    let row = rows.next()?;
    Ok(row.is_some_and(|row| event_of("", "", journal, row).is_ok_and(|event| event.is_whole)))
}

/// Returns the size of the largest saved state of a journal in bytes. Does not read the states.
fn saved_bytes(connection: &Connection, journal: u64) -> Sqlite<u64> {
    connection
        .prepare_cached(
            "SELECT coalesce(max(length(payload)), 0) FROM snapshots WHERE journal = ?1",
        )?
        .query_row([journal], |row| row.get(0))
}

fn snapshot_of(state: Event<'_>) -> Snapshot {
    Snapshot {
        number: state.number,
        kind: state.kind,
        payload: state.payload.to_vec(),
    }
}

impl SqliteLog {
    /// Begins to read a journal: returns the numbers of its newest and its oldest event, and its
    /// newest undamaged snapshot. If `waits` is false, returns `None` while another thread uses the
    /// connection for reading.
    pub(super) fn begin(&self, name: &str, waits: bool) -> Result<Option<Start>, JournalError> {
        check_name(name)?;
        if Log::is_broken(self) {
            return Err(JournalError::Broken);
        }
        let Some(mut reader) = self.reader(waits) else {
            return Ok(None);
        };
        let failed = |error| engine("read", &self.place.name, error);
        // One transaction: what is read belongs together.
        let transaction = reader.transaction().map_err(failed)?;
        let id = self.names().id_of(name);
        let newest = self.newest(&transaction, id)?;
        let last = last(&transaction, id).map_err(failed)?;
        if last != newest {
            let why = format!("its newest event is {newest}, but {last} is the last one");
            return Err(damaged(&self.place.name, id, why));
        }
        let oldest = oldest(&transaction, id).map_err(failed)?;
        let oldest = oldest.unwrap_or(newest + 1);
        if !waits {
            let saved = saved_bytes(&transaction, id).map_err(failed)?;
            if newest + 1 - oldest > FEW_EVENTS || saved > FEW_BYTES {
                return Ok(None);
            }
        }
        let snapshot = self.snapshot(&transaction, id, oldest)?;
        Ok(Some(Start {
            journal: JournalId::new(id),
            newest,
            oldest,
            snapshot,
        }))
    }

    /// Returns the sequence number of the newest event of a journal, or 0 if the journal has no row
    /// yet. Must be the first read of a transaction.
    pub(super) fn newest(&self, connection: &Connection, id: u64) -> Result<u64, JournalError> {
        let file = &self.place.name;
        // First: another thread may store the row after it was looked for.
        let was_stored = self.names().is_stored(id);
        match row_of(connection, file, id)? {
            Some(row) => Ok(row.newest),
            None if was_stored => Err(damaged(file, id, "it is missing")),
            None => Ok(0),
        }
    }

    /// Returns the newest undamaged snapshot of a journal. Considers only snapshots after which no
    /// event is missing. `oldest` is the number of the oldest event. Returns `None` if there is no
    /// such snapshot. If all of these snapshots are damaged, returns `None` only if the events are
    /// enough: all events exist, or the oldest one contains the whole state. Otherwise, returns an
    /// error.
    fn snapshot(
        &self,
        connection: &Connection,
        journal: u64,
        oldest: u64,
    ) -> Result<Option<Snapshot>, JournalError> {
        let failed = |error| engine("read", &self.place.name, error);
        let mut statement = connection.prepare_cached(SAVED).map_err(failed)?;
        let mut rows = statement.query([journal, oldest]).map_err(failed)?;
        let mut damaged = None;
        while let Some(row) = rows.next().map_err(failed)? {
            match event_of(&self.place.name, "the saved state", journal, row) {
                Ok(state) => {
                    if let Some(error) = damaged {
                        self.notices().add(error);
                    }
                    return Ok(Some(snapshot_of(state)));
                }
                Err(error) => damaged = Some(damaged.unwrap_or(error)),
            }
        }
        let Some(error) = damaged else {
            return Ok(None);
        };
        if oldest > 1 && !is_whole(connection, journal, oldest).map_err(failed)? {
            return Err(error);
        }
        self.notices().add(error);
        Ok(None)
    }

    /// Returns the newest snapshot of a journal that is older than the snapshot `number`, if no
    /// event after it is missing.
    pub(super) fn older_snapshot(
        &self,
        journal: JournalId,
        number: u64,
    ) -> Result<Option<Snapshot>, JournalError> {
        if Log::is_broken(self) {
            return Err(JournalError::Broken);
        }
        let (Ok(id), Ok(number)) = (i64::try_from(journal.get()), i64::try_from(number)) else {
            return Ok(None);
        };
        let failed = |error| engine("read", &self.place.name, error);
        let Some(reader) = self.reader(true) else {
            return Ok(None);
        };
        let mut statement = reader.prepare_cached(SAVED_BEFORE).map_err(failed)?;
        let mut rows = statement.query([id, number]).map_err(failed)?;
        let Some(row) = rows.next().map_err(failed)? else {
            return Ok(None);
        };
        let state = event_of(&self.place.name, "the saved state", journal.get(), row)?;
        Ok(Some(snapshot_of(state)))
    }

    /// Calls `each` with each event that is in the journal `journal` and has a number of at least
    /// `from`, oldest first. Stops when `each` returns false.
    pub(super) fn read_while(
        &self,
        journal: JournalId,
        from: u64,
        mut each: impl FnMut(Event<'_>) -> bool,
    ) -> Result<(), JournalError> {
        let (Ok(_), Ok(_)) = (i64::try_from(journal.get()), i64::try_from(from)) else {
            return Ok(());
        };
        let failed = |error| engine("read", &self.place.name, error);
        let Some(reader) = self.reader(true) else {
            return Ok(());
        };
        let mut statement = reader
            .prepare_cached(
                "SELECT number, tag, version, whole, payload, checksum FROM events
                 WHERE journal = ?1 AND number >= ?2 ORDER BY number",
            )
            .map_err(failed)?;
        let mut rows = statement
            .query(params![journal.get(), from])
            .map_err(failed)?;
        let mut expected = None;
        while let Some(row) = rows.next().map_err(failed)? {
            let event = event_of(&self.place.name, "event", journal.get(), row)?;
            if let Some(expected) = expected.filter(|expected| *expected != event.number) {
                let why = format!("its event {expected} is missing");
                return Err(damaged(&self.place.name, journal.get(), why));
            }
            expected = Some(event.number + 1);
            if !each(event) {
                break;
            }
        }
        Ok(())
    }
}
