//! Appending of groups of events, and saving of the states of entities.

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use rusqlite::{Connection, Result as Sqlite, TransactionBehavior, params};

use super::SqliteLog;
use super::fault::{Fate, engine, fate_of_commit};
use super::names::checksum_of;
use super::read::SAVED;
use super::row::{checksum, event_of};
use crate::error::{JournalError, describe};
use crate::event::{Event, EventKind};
use crate::group::{Group, JournalId, check_state};
use crate::log::Refused;

/// Number of pages at which the write-ahead log is copied to the database.
const CHECKPOINT_PAGES: u64 = 4_096;

/// Size of a page in bytes.
const PAGE_BYTES: u64 = 4_096;

/// The connection through which a log writes to its database.
pub(super) struct Writer {
    pub(super) connection: Connection,
    /// Approximate number of pages that were written since the last checkpoint.
    pub(super) pages: u64,
}

/// State of a journal that has events in the group that is being appended.
enum Part {
    /// Sequence number of the newest event of the journal so far.
    Newest(u64),
    /// The journal is refused: its events are not appended.
    Refused,
}

/// The journals that have events in the group that is being appended.
#[derive(Default)]
struct Parts {
    parts: HashMap<JournalId, Part>,
    refused: Vec<Refused>,
}

impl Parts {
    fn is_refused(&self, journal: JournalId) -> bool {
        matches!(self.parts.get(&journal), Some(Part::Refused))
    }
}

impl SqliteLog {
    /// Appends the events of a group in one transaction.
    pub(super) fn append_group(&self, group: &Group) -> Result<Vec<Refused>, JournalError> {
        self.check_usable()?;
        if group.is_empty() {
            return Ok(Vec::new());
        }
        group.check_size()?;
        let pages = group.bytes() as u64 / PAGE_BYTES + 2 * group.len() as u64 + 2;
        let appended = self.transact("append a group to", pages, |connection| {
            let parts = match self.look(connection, group) {
                Ok(parts) => parts,
                Err(error) => return Ok(Err(error)),
            };
            for (journal, event) in group.events() {
                if !parts.is_refused(journal) {
                    insert(connection, journal.get(), event)?;
                }
            }
            let stored = self.store_newest(connection, &parts)?;
            Ok(Ok((stored, parts.refused)))
        });
        let (stored, refused) = appended??;
        let mut names = self.names();
        stored.into_iter().for_each(|id| names.set_stored(id));
        Ok(refused)
    }

    /// Stores, for each journal that is not refused, the number of its newest event in the group.
    /// Returns the journals that had no row.
    fn store_newest(&self, connection: &Connection, parts: &Parts) -> Sqlite<Vec<u64>> {
        let mut stored = Vec::new();
        for (journal, part) in &parts.parts {
            let (Part::Newest(newest), id) = (part, journal.get()) else {
                continue;
            };
            let (name, is_stored) = {
                let names = self.names();
                (names.name(id).unwrap_or_default(), names.is_stored(id))
            };
            let query = if is_stored {
                "UPDATE journals SET newest = ?3, checksum = ?4 WHERE id = ?1 AND name = ?2"
            } else {
                stored.push(id);
                "INSERT INTO journals (id, name, newest, checksum) VALUES (?1, ?2, ?3, ?4)"
            };
            connection.prepare_cached(query)?.execute(params![
                id,
                &*name,
                newest,
                checksum_of(id, &name, *newest)
            ])?;
        }
        Ok(stored)
    }

    /// Finds the journals that have events in `group`. Refuses a journal if one of its events in
    /// the group does not have the next number.
    fn look(&self, connection: &Connection, group: &Group) -> Result<Parts, JournalError> {
        let mut all = Parts::default();
        let Parts { parts, refused } = &mut all;
        for (journal, event) in group.events() {
            let part = match parts.entry(journal) {
                Entry::Occupied(part) => part.into_mut(),
                Entry::Vacant(part) => {
                    let newest = self.newest(connection, journal.get())?;
                    part.insert(Part::Newest(newest))
                }
            };
            let Part::Newest(newest) = part else { continue };
            let name = self.names().name(journal.get());
            if name.is_some() && event.number == *newest + 1 {
                *newest += 1;
                continue;
            }
            refused.push(Refused {
                journal,
                error: JournalError::Conflict {
                    expected: if name.is_some() { *newest + 1 } else { 0 },
                    journal: match name {
                        Some(name) => name.to_string(),
                        None => format!("number {}", journal.get()),
                    },
                    found: event.number,
                },
            });
            *part = Part::Refused;
        }
        Ok(all)
    }

    /// Saves a state, and removes the older states and events that are no longer needed.
    pub(super) fn save_state(
        &self,
        journal: JournalId,
        number: u64,
        kind: EventKind,
        state: &[u8],
    ) -> Result<(), JournalError> {
        self.check_usable()?;
        check_state(state)?;
        let pages = state.len() as u64 / PAGE_BYTES + 8;
        let id = journal.get();
        let saved = self.transact("save a state in", pages, |connection| {
            let newest = match self.newest(connection, id) {
                Ok(newest) => newest,
                Err(error) => return Ok(Err(error)),
            };
            if newest == 0 {
                return Ok(Ok(()));
            }
            let saved: u64 = connection
                .prepare_cached(
                    "SELECT coalesce(max(number), 0) FROM snapshots WHERE journal = ?1",
                )?
                .query_row([id], |row| row.get(0))?;
            if number > newest || number <= saved {
                return Ok(Err(JournalError::Conflict {
                    journal: self.names().name(id).unwrap_or_default().to_string(),
                    expected: newest,
                    found: number,
                }));
            }
            replace_snapshot(connection, id, number, kind, state)?;
            Ok(Ok(()))
        });
        saved?
    }

    /// Calls `f` in a transaction, and then commits the transaction. After an error other than
    /// [`JournalError::Broken`], no part of the transaction is in the database. `pages` is the
    /// approximate number of pages that the transaction writes.
    pub(super) fn transact<R>(
        &self,
        doing: &'static str,
        pages: u64,
        f: impl FnOnce(&Connection) -> Sqlite<R>,
    ) -> Result<R, JournalError> {
        let mut writer = self.writer()?;
        // The one before may have broken the log.
        self.check_usable()?;
        let failed = |error| engine(doing, &self.place.name, error);
        let transaction = writer
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed)?;
        let (result, is_known) = match f(&transaction) {
            Ok(done) => match transaction.commit() {
                Ok(()) => (Ok(done), true),
                Err(error) => {
                    let is_known = fate_of_commit(&error) == Fate::Absent;
                    (Err(failed(error)), is_known)
                }
            },
            Err(error) => {
                // An error may have ended the transaction before.
                drop(transaction);
                (Err(failed(error)), true)
            }
        };
        // SQLite has rolled back, or `Transaction` has when it was dropped.
        if !is_known || !writer.connection.is_autocommit() {
            let cause = match &result {
                Ok(_) => "a transaction has not ended".to_owned(),
                Err(error) => describe(error),
            };
            self.set_broken(&writer.connection, cause.into());
            return Err(JournalError::Broken);
        }
        if result.is_ok() {
            writer.pages += pages;
        }
        result
    }

    /// Copies the write-ahead log to the database if it is long, so that the log does not grow
    /// without limit.
    pub(super) fn checkpoint_if_due(&self) {
        let Ok(mut writer) = self.writer() else {
            return;
        };
        // Nothing is written after a failed sync.
        if self.check_usable().is_err() || writer.pages < CHECKPOINT_PAGES {
            return;
        }
        // Does not wait for readers. What they hold is copied the next time.
        let copied = writer
            .connection
            .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        writer.pages = 0;
        if let Err(error) = copied {
            // All groups are still in the write-ahead log.
            self.notices().add(engine(
                "copy the write-ahead log of",
                &self.place.name,
                error,
            ));
        }
    }
}

fn insert(connection: &Connection, journal: u64, event: Event<'_>) -> Sqlite<()> {
    if event.is_whole {
        connection
            .prepare_cached("DELETE FROM events WHERE journal = ?1 AND number < ?2")?
            .execute([journal, event.number])?;
    }
    connection
        .prepare_cached(
            "INSERT INTO events (journal, number, tag, version, whole, payload, checksum)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            journal,
            event.number,
            event.kind.tag,
            event.kind.version,
            event.is_whole,
            event.payload,
            checksum(journal, event)
        ])?;
    Ok(())
}

fn replace_snapshot(
    connection: &Connection,
    journal: u64,
    number: u64,
    kind: EventKind,
    state: &[u8],
) -> Sqlite<()> {
    let event = Event {
        number,
        kind,
        is_whole: true,
        payload: state,
    };
    connection
        .prepare_cached(
            "INSERT INTO snapshots (journal, number, tag, version, payload, checksum)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            journal,
            number,
            kind.tag,
            kind.version,
            state,
            checksum(journal, event)
        ])?;
    // The two newest ones stay. If there is only one, no event is covered by an older one.
    let covered = older_saved(connection, journal, number)?;
    connection
        .prepare_cached("DELETE FROM snapshots WHERE journal = ?1 AND number < ?2")?
        .execute([journal, covered])?;
    connection
        .prepare_cached("DELETE FROM events WHERE journal = ?1 AND number <= ?2")?
        .execute([journal, covered])?;
    Ok(())
}

/// Returns the number of the newest undamaged state that was saved before the state `number`, or 0
/// if there is none.
fn older_saved(connection: &Connection, journal: u64, number: u64) -> Sqlite<u64> {
    let mut statement = connection.prepare_cached(SAVED)?;
    let mut rows = statement.query([journal, 0])?;
    while let Some(row) = rows.next()? {
        match event_of("", "", journal, row) {
            Ok(saved) if saved.number < number => return Ok(saved.number),
            _ => {}
        }
    }
    Ok(0)
}
