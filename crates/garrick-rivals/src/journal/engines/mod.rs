//! Stores of events for entities that are written by hand, without a library for durable actors.

mod fjall;
mod plain;
mod redb;
mod sqlite;

use std::path::Path;

use super::run::{Fault, PAYLOAD};

pub(super) use fjall::Fjall;
pub(super) use plain::Plain;
pub(super) use redb::Redb;
pub(super) use sqlite::Sqlite;

#[derive(Debug, Clone, Copy)]
pub(super) struct Event {
    pub(super) entity: u64,
    /// Sequence number of the event among the events of its entity. The first event has the number
    /// 1.
    pub(super) number: u64,
    pub(super) payload: [u8; PAYLOAD],
}

/// A store of events, in which each entity can read its own events.
pub(super) trait Engine: Sized + Send + 'static {
    /// Opens the files of the engine in a folder, or creates them.
    fn open(folder: &Path) -> Result<Self, Fault>;

    /// Stores events together. All events are durable when the call returns.
    fn commit(&mut self, events: &[Event]) -> Result<(), Fault>;

    /// Returns the number of stored events of an entity.
    fn count(&mut self, entity: u64) -> Result<u64, Fault>;
}

#[cfg(test)]
mod tests {
    use super::super::disk::Place;
    use super::*;

    fn event(entity: u64, number: u64) -> Event {
        Event {
            entity,
            number,
            payload: [7; PAYLOAD],
        }
    }

    /// Stores events of two entities, and reads them before and after reopening.
    fn stores<E: Engine>() {
        let place = Place::new(&std::env::temp_dir()).expect("there is a folder for files");
        let mut engine = E::open(place.path()).expect("it is empty");
        assert_eq!(engine.count(1).expect("it is open"), 0);
        engine.commit(&[event(1, 1)]).expect("it fits");
        engine
            .commit(&[event(1, 2), event(256, 1)])
            .expect("it fits");
        drop(engine);
        let mut engine = E::open(place.path()).expect("it is there");
        engine.commit(&[event(1, 3)]).expect("it fits");
        let counts = [0, 1, 2, 256].map(|entity| engine.count(entity).expect("it is open"));
        assert_eq!(counts, [0, 3, 0, 1]);
    }

    #[test]
    fn every_engine_reads_after_reopening_what_it_has_stored() {
        stores::<Plain>();
        stores::<Sqlite>();
        stores::<Redb>();
        stores::<Fjall>();
    }
}
