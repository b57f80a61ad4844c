//! Events that the tests append to journals and read back.

use garrick_journal::{Group, JournalId, Log};

pub(crate) use garrick_journal::conformance::model::{
    KIND_OF_STATES as STATE, append, event, start,
};

/// Reads the events of a journal: their numbers and payloads.
pub(crate) fn read_all(log: &dyn Log, journal: JournalId) -> Vec<(u64, Vec<u8>)> {
    let (mut all, mut group) = (Vec::new(), Group::new());
    loop {
        let next = all.last().map_or(1, |(number, _)| number + 1);
        group.clear();
        log.read(journal, next, &mut group).unwrap();
        if group.is_empty() {
            return all;
        }
        let events = group.events();
        all.extend(events.map(|(_, event)| (event.number, event.payload.to_vec())));
    }
}
