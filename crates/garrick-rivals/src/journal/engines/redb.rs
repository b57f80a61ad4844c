//! Store of events in redb, with its default durability: a commit is durable when it returns
//! (`Durability::Immediate`).

use std::path::Path;

use redb::{Database, Durability, ReadableDatabase, TableDefinition};

use super::{Engine, Event};
use crate::journal::run::Fault;

/// The table of events. The key of an event consists of its entity and its number.
const EVENTS: TableDefinition<'_, (u64, u64), &[u8]> = TableDefinition::new("event");

pub(in crate::journal) struct Redb(Database);

impl Engine for Redb {
    fn open(folder: &Path) -> Result<Self, Fault> {
        let mut redb = Self(Database::create(folder.join("events.redb"))?);
        // Creates the table.
        redb.commit(&[])?;
        Ok(redb)
    }

    fn commit(&mut self, events: &[Event]) -> Result<(), Fault> {
        let mut transaction = self.0.begin_write()?;
        transaction.set_durability(Durability::Immediate)?;
        let mut table = transaction.open_table(EVENTS)?;
        for event in events {
            table.insert((event.entity, event.number), &event.payload[..])?;
        }
        drop(table);
        Ok(transaction.commit()?)
    }

    fn count(&mut self, entity: u64) -> Result<u64, Fault> {
        let table = self.0.begin_read()?.open_table(EVENTS)?;
        let mut count = 0;
        for event in table.range((entity, 0)..=(entity, u64::MAX))? {
            event?;
            count += 1;
        }
        Ok(count)
    }
}
