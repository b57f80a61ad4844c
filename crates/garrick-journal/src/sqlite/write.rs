//! Groups are appended, and states are saved.

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use rusqlite::{Connection, Result as Sqlite, TransactionBehavior, params};

use super::SqliteLog;
use super::fault::{Fate, engine, fate_of_commit};
use super::names::{checksum_of_name, name_of};
use super::read::newest;
use super::row::checksum;
use crate::error::JournalError;
use crate::event::{Event, EventKind};
use crate::group::{GROUP_MAX, Group, JournalId, check_state};
use crate::log::Refused;

/// Number of pages from which on the write-ahead log is copied to the database.
const CHECKPOINT_PAGES: u64 = 4_096;

/// Size of a page in bytes.
const PAGE_BYTES: u64 = 4_096;

/// The connection that writes.
pub(super) struct Writer {
    pub(super) connection: Connection,
    /// About the number of pages that were written since the last checkpoint.
    pub(super) pages: u64,
}

/// A journal of a group.
enum Part {
    /// Its newest event so far.
    Newest(u64),
    /// Its events are not appended.
    Refused,
}

/// The journals of a group.
#[derive(Default)]
struct Parts {
    parts: HashMap<JournalId, Part>,
    /// Journals that get their first row.
    new: Vec<JournalId>,
    refused: Vec<Refused>,
}

impl Parts {
    fn is_refused(&self, journal: JournalId) -> bool {
        matches!(self.parts.get(&journal), Some(Part::Refused))
    }
}

impl SqliteLog {
    /// Appends the events of a group by one transaction.
    pub(super) fn append_group(&self, group: &Group) -> Result<Vec<Refused>, JournalError> {
        self.check_usable()?;
        if group.is_empty() {
            return Ok(Vec::new());
        }
        if group.bytes() > GROUP_MAX {
            return Err(JournalError::TooLarge {
                what: "a group",
                bytes: group.bytes(),
                limit: GROUP_MAX,
            });
        }
        let pages = group.bytes() as u64 / PAGE_BYTES + 2 * group.len() as u64 + 2;
        self.transact("append a group to", pages, |connection| {
            let parts = self.look(connection, group)?;
            for journal in &parts.new {
                let name = self.names().name(journal.get());
                if let Some(name) = name {
                    connection
                        .prepare_cached(
                            "INSERT INTO journals (id, name, checksum) VALUES (?1, ?2, ?3)",
                        )?
                        .execute(params![
                            journal.get(),
                            &*name,
                            checksum_of_name(journal.get(), &name)
                        ])?;
                }
            }
            for (journal, event) in group.events() {
                if !parts.is_refused(journal) {
                    insert(connection, journal.get(), event)?;
                }
            }
            Ok(parts.refused)
        })
    }

    /// Looks which journals of a group follow their newest events.
    fn look(&self, connection: &Connection, group: &Group) -> Sqlite<Parts> {
        let mut all = Parts::default();
        let Parts {
            parts,
            new,
            refused,
        } = &mut all;
        for (journal, event) in group.events() {
            let part = match parts.entry(journal) {
                Entry::Occupied(part) => part.into_mut(),
                Entry::Vacant(part) => {
                    let newest = newest(connection, journal.get())?;
                    if newest == 0 && name_of(connection, journal.get())?.is_none() {
                        new.push(journal);
                    }
                    part.insert(Part::Newest(newest))
                }
            };
            let Part::Newest(newest) = part else { continue };
            let name = self.names().name(journal.get());
            let is_known = *newest > 0 || name.is_some();
            if is_known && event.number == *newest + 1 {
                *newest += 1;
                continue;
            }
            let name = match name {
                Some(name) => name.to_string(),
                None => name_of(connection, journal.get())?
                    .unwrap_or_else(|| format!("number {}", journal.get())),
            };
            refused.push(Refused {
                journal,
                error: JournalError::Conflict {
                    journal: name,
                    expected: if is_known { *newest + 1 } else { 0 },
                    found: event.number,
                },
            });
            *part = Part::Refused;
        }
        new.retain(|journal| !matches!(parts.get(journal), Some(Part::Refused)));
        Ok(all)
    }

    /// Saves a state, and removes the older ones and the events that nobody needs.
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
            let newest = newest(connection, id)?;
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
                    journal: name_of(connection, id)?.unwrap_or_default(),
                    expected: newest,
                    found: number,
                }));
            }
            replace_snapshot(connection, id, number, kind, state)?;
            Ok(Ok(()))
        });
        saved?
    }

    /// Calls `f` in a transaction, and commits it. After an error, nothing of it is in the
    /// database, except after [`JournalError::Broken`]. `pages` is about the number of pages that
    /// it writes.
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
            self.set_broken(&writer.connection);
            return Err(JournalError::Broken);
        }
        if result.is_ok() {
            writer.pages += pages;
        }
        result
    }

    /// Copies the write-ahead log to the database, if it is long. So it does not grow for ever.
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
    let covered: u64 = connection
        .prepare_cached(
            "SELECT coalesce((SELECT number FROM snapshots WHERE journal = ?1
             ORDER BY number DESC LIMIT 1 OFFSET 1), 0)",
        )?
        .query_row([journal], |row| row.get(0))?;
    connection
        .prepare_cached("DELETE FROM snapshots WHERE journal = ?1 AND number < ?2")?
        .execute([journal, covered])?;
    connection
        .prepare_cached("DELETE FROM events WHERE journal = ?1 AND number <= ?2")?
        .execute([journal, covered])?;
    Ok(())
}
