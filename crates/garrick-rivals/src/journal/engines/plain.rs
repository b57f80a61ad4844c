//! Store of events in one file, to which groups of events are appended. Every store of durable
//! events must do at least this work.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::{Engine, Event};
use crate::journal::run::{Fault, PAYLOAD};

/// Size of an encoded event in bytes. An encoded event consists of an entity, a number, a payload,
/// and a checksum of these three.
const RECORD: usize = 8 + 8 + PAYLOAD + 4;

pub(in crate::journal) struct Plain {
    file: File,
    /// The encoded events that are written together.
    buffer: Vec<u8>,
    /// For each entity, the number of its stored events.
    counts: HashMap<u64, u64>,
}

impl Engine for Plain {
    fn open(folder: &Path) -> Result<Self, Fault> {
        let path = folder.join("events.log");
        let options = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .clone();
        let mut file = options.open(path)?;
        // The name of a new file must be durable, too.
        File::open(folder)?.sync_all()?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let mut counts = HashMap::new();
        let mut whole = 0;
        // The first record that is not whole was torn by a crash, and ends the file.
        for entity in bytes.chunks(RECORD).map_while(entity_of) {
            *counts.entry(entity).or_default() += 1;
            whole += RECORD as u64;
        }
        file.set_len(whole)?;
        file.seek(SeekFrom::Start(whole))?;
        Ok(Self {
            file,
            buffer: Vec::new(),
            counts,
        })
    }

    fn commit(&mut self, events: &[Event]) -> Result<(), Fault> {
        self.buffer.clear();
        for event in events {
            let start = self.buffer.len();
            self.buffer.extend(event.entity.to_le_bytes());
            self.buffer.extend(event.number.to_le_bytes());
            self.buffer.extend(event.payload);
            let sum = crc32c::crc32c(&self.buffer[start..]);
            self.buffer.extend(sum.to_le_bytes());
            *self.counts.entry(event.entity).or_default() += 1;
        }
        self.file.write_all(&self.buffer)?;
        self.file.sync_data()?;
        Ok(())
    }

    fn count(&mut self, entity: u64) -> Result<u64, Fault> {
        Ok(self.counts.get(&entity).copied().unwrap_or(0))
    }
}

/// Returns the entity of a record, or `None` if the record is incomplete or damaged.
fn entity_of(record: &[u8]) -> Option<u64> {
    let (content, sum) = record.split_last_chunk::<4>()?;
    let is_whole = record.len() == RECORD && crc32c::crc32c(content).to_le_bytes() == *sum;
    let entity = content.first_chunk::<8>()?;
    is_whole.then(|| u64::from_le_bytes(*entity))
}
