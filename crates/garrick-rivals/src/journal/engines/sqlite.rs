//! Store of events in SQLite, with a write-ahead log that is synced at each commit
//! (`synchronous=FULL`).

use std::path::Path;

use rusqlite::Connection;

use super::{Engine, Event};
use crate::journal::run::Fault;

const TABLE: &str = "create table if not exists event (
    entity integer not null,
    number integer not null,
    payload blob not null,
    primary key (entity, number)
) without rowid";

pub(in crate::journal) struct Sqlite(Connection);

impl Engine for Sqlite {
    fn open(folder: &Path) -> Result<Self, Fault> {
        let connection = Connection::open(folder.join("events.sqlite"))?;
        let mode: String =
            connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
        if mode != "wal" {
            return Err(format!("SQLite has no write-ahead log here, but '{mode}'").into());
        }
        connection.pragma_update(None, "synchronous", "full")?;
        connection.execute(TABLE, [])?;
        Ok(Self(connection))
    }

    fn commit(&mut self, events: &[Event]) -> Result<(), Fault> {
        let transaction = self.0.transaction()?;
        let mut insert = transaction.prepare_cached("insert into event values (?1, ?2, ?3)")?;
        for event in events {
            let (entity, number) = (event.entity.cast_signed(), event.number.cast_signed());
            insert.execute((entity, number, &event.payload[..]))?;
        }
        drop(insert);
        Ok(transaction.commit()?)
    }

    fn count(&mut self, entity: u64) -> Result<u64, Fault> {
        let mut select = self
            .0
            .prepare_cached("select count(*) from event where entity = ?1")?;
        let count: i64 = select.query_row([entity.cast_signed()], |row| row.get(0))?;
        Ok(count.try_into()?)
    }
}
