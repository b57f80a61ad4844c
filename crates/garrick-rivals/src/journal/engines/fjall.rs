//! Store of events in fjall. A commit of a batch returns after the batch was synced
//! (`PersistMode::SyncData`).

use std::path::Path;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};

use super::{Engine, Event};
use crate::journal::run::Fault;

pub(in crate::journal) struct Fjall {
    database: Database,
    /// The stored events. The key of an event consists of its entity and its number.
    events: Keyspace,
}

impl Engine for Fjall {
    fn open(folder: &Path) -> Result<Self, Fault> {
        let database = Database::builder(folder.join("events.fjall")).open()?;
        let events = database.keyspace("event", KeyspaceCreateOptions::default)?;
        Ok(Self { database, events })
    }

    fn commit(&mut self, events: &[Event]) -> Result<(), Fault> {
        let mut batch = self
            .database
            .batch()
            .durability(Some(PersistMode::SyncData));
        for event in events {
            let mut key = [0; 16];
            key[..8].copy_from_slice(&event.entity.to_be_bytes());
            key[8..].copy_from_slice(&event.number.to_be_bytes());
            batch.insert(&self.events, key, event.payload);
        }
        Ok(batch.commit()?)
    }

    fn count(&mut self, entity: u64) -> Result<u64, Fault> {
        let mut count = 0;
        for event in self.events.prefix(entity.to_be_bytes()) {
            event.value()?;
            count += 1;
        }
        Ok(count)
    }
}
