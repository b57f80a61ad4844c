//! A simple model of a log. The tests compare each log with this model.

use std::collections::BTreeMap;

use crate::{Event, EventKind, Group, JournalId, Log, Refused, Start};

/// An event, with the content that was written to the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) kind: EventKind,
    pub(crate) is_whole: bool,
    pub(crate) payload: Vec<u8>,
}

/// Content that a journal must have.
#[derive(Debug, Clone, Default)]
pub(crate) struct Expected {
    pub(crate) newest: u64,
    /// Events that can be read, by number.
    pub(crate) events: BTreeMap<u64, Written>,
    /// The two newest saved states. The key of a state is the number of the event after which it
    /// was saved.
    pub(crate) saved: BTreeMap<u64, Vec<u8>>,
}

impl Expected {
    pub(crate) fn append(&mut self, written: Written) {
        self.newest += 1;
        if written.is_whole {
            self.events.clear();
        }
        self.events.insert(self.newest, written);
    }

    pub(crate) fn save(&mut self, number: u64, state: Vec<u8>) {
        self.saved.insert(number, state);
        if self.saved.len() > 2 {
            self.saved.pop_first();
        }
        if self.saved.len() == 2 {
            let older = *self.saved.keys().next().expect("there are two");
            self.events.retain(|number, _| *number > older);
        }
    }

    pub(crate) fn can_save(&self, number: u64) -> bool {
        let newest_saved = self.saved.keys().next_back().copied().unwrap_or(0);
        number > newest_saved && number <= self.newest
    }

    pub(crate) fn oldest(&self) -> u64 {
        self.events
            .keys()
            .next()
            .copied()
            .unwrap_or(self.newest + 1)
    }

    /// Compares a journal with this model.
    pub(crate) fn check(&self, log: &dyn Log, name: &str) -> Start {
        let start = log.start(name, true).unwrap().expect("it waits");
        assert_eq!((start.oldest, start.newest), (self.oldest(), self.newest));
        let usable = self.saved.iter().next_back();
        let usable = usable.filter(|(number, _)| **number + 1 >= start.oldest);
        match (&start.snapshot, usable) {
            (None, None) => {}
            (Some(found), Some((number, state))) => {
                assert_eq!((found.number, &found.payload), (*number, state));
                assert_eq!(found.kind, KIND_OF_STATES);
            }
            (found, expected) => panic!("the snapshot {found:?} instead of {expected:?}"),
        }
        let read: Vec<_> = read_all(log, start.journal, 1);
        let expected: Vec<_> = self.events.clone().into_iter().collect();
        assert!(read == expected, "other events than those of the model");
        start
    }
}

/// Kind (tag and version) of all saved states in these tests.
pub const KIND_OF_STATES: EventKind = EventKind { tag: 9, version: 4 };

/// Reads the events of a journal by repeated calls of [`Log::read`].
pub(crate) fn read_all(log: &dyn Log, journal: JournalId, from: u64) -> Vec<(u64, Written)> {
    let (mut all, mut next, mut group) = (Vec::new(), from, Group::new());
    loop {
        group.clear();
        log.read(journal, next, &mut group).unwrap();
        if group.is_empty() {
            return all;
        }
        for (of, event) in group.events() {
            assert_eq!(of, journal);
            next = event.number + 1;
            all.push((
                event.number,
                Written {
                    kind: event.kind,
                    is_whole: event.is_whole,
                    payload: event.payload.to_vec(),
                },
            ));
        }
    }
}

/// Returns an event with this number and payload. The event does not contain the whole state.
pub fn event(number: u64, payload: &[u8]) -> Event<'_> {
    Event {
        number,
        kind: EventKind { tag: 7, version: 3 },
        is_whole: false,
        payload,
    }
}

/// Begins to read a journal.
pub fn start(log: &dyn Log, name: &str) -> Start {
    log.start(name, true).unwrap().expect("it waits")
}

/// Appends events as one group. Returns the events that the log has refused.
pub fn append(log: &dyn Log, events: &[(JournalId, Event<'_>)]) -> Vec<Refused> {
    let mut group = Group::new();
    for (journal, event) in events {
        group.add(*journal, *event).unwrap();
    }
    log.append(&group).unwrap()
}
