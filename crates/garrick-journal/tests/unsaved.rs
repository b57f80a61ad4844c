//! States of many entities that are due at the same time are saved between later groups.
#![forbid(unsafe_code)]

#[path = "common/count.rs"]
mod count;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use garrick_journal::{
    EventKind, Group, Journal, JournalError, JournalId, Log, LogSample, MemoryLog, Refused, Start,
};
use garrick_sim::testing::Kit;

use count::Count;

/// An operation of a log that writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    Group,
    /// The state of a journal after the event with this number.
    State(JournalId, u64),
}

/// A log that records what is written to it.
#[derive(Clone, Default)]
struct Noted {
    log: MemoryLog,
    written: Arc<Mutex<Vec<Written>>>,
}

impl Noted {
    fn note(&self, written: Written) {
        self.written.lock().unwrap().push(written);
    }
}

impl Log for Noted {
    fn start(&self, name: &str, waits: bool) -> Result<Option<Start>, JournalError> {
        self.log.start(name, waits)
    }

    fn read(&self, journal: JournalId, from: u64, events: &mut Group) -> Result<(), JournalError> {
        self.log.read(journal, from, events)
    }

    fn append(&self, group: &Group) -> Result<Vec<Refused>, JournalError> {
        self.note(Written::Group);
        self.log.append(group)
    }

    fn save(
        &self,
        journal: JournalId,
        number: u64,
        kind: EventKind,
        state: &[u8],
    ) -> Result<(), JournalError> {
        self.note(Written::State(journal, number));
        self.log.save(journal, number, kind, state)
    }

    fn tend(&self) {}

    fn is_broken(&self) -> bool {
        false
    }

    fn sample(&self, waits: bool) -> Option<LogSample> {
        self.log.sample(waits)
    }

    fn notice(&self, error: JournalError) {
        self.log.notice(error);
    }

    fn take_notices(&self) -> Vec<JournalError> {
        self.log.take_notices()
    }
}

/// Lets this number of entities handle this number of messages each, and returns what was written.
fn written_by(entities: usize, messages: u64) -> Vec<Written> {
    let mut kit = Kit::new();
    let log = Noted::default();
    let journal = Journal::new(kit.handle(), log.clone()).unwrap();
    let name = |number| format!("count/{number}");
    let spawn = |number| {
        kit.spawn(journal.entity(name(number), Count).unwrap())
            .unwrap()
    };
    let counts: Vec<_> = (0..entities).map(spawn).collect();
    let mut asked = Vec::new();
    for _ in 0..messages {
        asked.extend(counts.iter().map(|count| count.ask(|reply| (1, reply))));
    }
    kit.run();
    for ask in asked {
        assert!(kit.answer(ask).is_ok());
    }
    assert!(journal.take_notices().is_empty());
    // When no turn waits, all states are saved.
    for number in 0..entities {
        let saved = log.log.start(&name(number), true).unwrap().unwrap();
        assert_eq!(saved.snapshot.map(|saved| saved.number), Some(messages));
    }
    log.written.lock().unwrap().clone()
}

#[test]
fn few_states_are_saved_between_two_groups() {
    let written = written_by(100, 30);
    let groups = |written: &[Written]| written.iter().filter(|one| **one == Written::Group).count();
    let last = written.iter().rposition(|one| *one == Written::Group);
    let runs = written[..last.unwrap()].split(|one| *one == Written::Group);
    let most = runs.map(<[Written]>::len).max();
    assert_eq!(most, Some(8), "states after a group");
    assert_eq!(groups(&written), 30, "a group for each round");
    // Later states of a journal have replaced some of the earlier ones.
    let mut numbers = BTreeMap::<JournalId, Vec<u64>>::new();
    for one in &written {
        if let Written::State(journal, number) = *one {
            numbers.entry(journal).or_default().push(number);
        }
    }
    assert!(numbers.values().all(|numbers| numbers.is_sorted()));
    let states: usize = numbers.values().map(Vec::len).sum();
    assert!((200..300).contains(&states), "{states} states of 300");
}
