//! Events of the tests.

use garrick_journal::{Event, EventKind, Group, JournalId, Log, Refused, Start};

/// Kind of all saved states.
pub(crate) const STATE: EventKind = EventKind { tag: 9, version: 4 };

/// Returns a plain event.
pub(crate) fn event(number: u64, payload: &[u8]) -> Event<'_> {
    Event {
        number,
        kind: EventKind { tag: 7, version: 3 },
        is_whole: false,
        payload,
    }
}

/// Begins to read a journal.
pub(crate) fn start(log: &dyn Log, name: &str) -> Start {
    log.start(name, true).unwrap().expect("it waits")
}

/// Appends events as one group.
pub(crate) fn append(log: &dyn Log, events: &[(JournalId, Event<'_>)]) -> Vec<Refused> {
    let mut group = Group::new();
    for (journal, event) in events {
        group.add(*journal, *event).unwrap();
    }
    log.append(&group).unwrap()
}

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
