//! The log forgets the names of entities that have ended without an event.
#![forbid(unsafe_code)]

#[macro_use]
mod common;
#[path = "common/count.rs"]
mod count;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use garrick_journal::{
    EventKind, Group, Journal, JournalError, JournalId, Log, LogSample, MemoryLog, Refused, Start,
};
use garrick_sim::testing::Kit;

use count::Count;

/// A log that records which names it has forgotten. It forgets none while it is busy.
#[derive(Clone, Default)]
struct Noted {
    log: MemoryLog,
    is_busy: Arc<AtomicBool>,
    /// Number of calls of [`Log::forget`].
    calls: Arc<AtomicUsize>,
    forgotten: Arc<Mutex<Vec<String>>>,
}

impl Log for Noted {
    fn start(&self, name: &str, waits: bool) -> Result<Option<Start>, JournalError> {
        self.log.start(name, waits)
    }

    fn read(&self, journal: JournalId, from: u64, events: &mut Group) -> Result<(), JournalError> {
        self.log.read(journal, from, events)
    }

    fn append(&self, group: &Group) -> Result<Vec<Refused>, JournalError> {
        self.log.append(group)
    }

    fn forget(&self, name: &str) -> bool {
        self.calls.fetch_add(1, Relaxed);
        let is_busy = self.is_busy.load(Relaxed);
        if !is_busy {
            self.forgotten.lock().unwrap().push(name.to_owned());
        }
        !is_busy && self.log.forget(name)
    }

    passed_on!(log);
}

#[test]
fn names_without_events_are_forgotten_when_their_entities_end() {
    let mut kit = Kit::new();
    let log = Noted::default();
    let journal = Journal::new(kit.handle(), log.clone()).unwrap();
    let ask = |kit: &mut Kit, name: &str, adds| {
        let count = kit.spawn(journal.entity(name, Count).unwrap()).unwrap();
        let answer = kit
            .answer(count.ask(|reply| (u64::from(adds), reply)))
            .unwrap();
        drop(count);
        kit.run();
        answer
    };
    let forgotten = || std::mem::take(&mut *log.forgotten.lock().unwrap());
    assert_eq!(ask(&mut kit, "probed", false), 0);
    assert_eq!(forgotten(), ["probed"]);
    // The same name again, now with an event.
    assert_eq!(ask(&mut kit, "probed", true), 1);
    assert_eq!(ask(&mut kit, "probed", false), 1);
    assert!(forgotten().is_empty());

    // While the log is busy, names are left for later.
    log.is_busy.store(true, Relaxed);
    assert_eq!(ask(&mut kit, "one", false), 0);
    assert_eq!(ask(&mut kit, "two", false), 0);
    let three = kit.spawn(journal.entity("three", Count).unwrap()).unwrap();
    kit.run();
    assert!(forgotten().is_empty());
    log.is_busy.store(false, Relaxed);
    // A group was written. The name that is in use is not forgotten.
    assert_eq!(ask(&mut kit, "other", true), 1);
    assert_eq!(forgotten(), ["one", "two"]);
    assert_eq!(ask(&mut kit, "four", false), 0);
    assert_eq!(forgotten(), ["four"]);
    assert_eq!(kit.answer(three.ask(|reply| (1, reply))), Ok(1));
    assert!(forgotten().is_empty());
}

#[test]
fn a_name_that_is_used_again_before_it_was_forgotten_is_kept() {
    let mut kit = Kit::new();
    let log = Noted::default();
    let journal = Journal::new(kit.handle(), log.clone()).unwrap();
    log.is_busy.store(true, Relaxed);
    let entity = |kit: &mut Kit| {
        let count = kit.spawn(journal.entity("again", Count).unwrap()).unwrap();
        kit.run();
        count
    };
    drop(entity(&mut kit));
    kit.run();
    let again = entity(&mut kit);
    log.is_busy.store(false, Relaxed);
    // Another entity ends, and the log can forget.
    let other = kit.spawn(journal.entity("other", Count).unwrap()).unwrap();
    kit.run();
    drop(other);
    kit.run();
    assert_eq!(*log.forgotten.lock().unwrap(), ["other"]);
    assert_eq!(kit.answer(again.ask(|reply| (1, reply))), Ok(1));
}

#[test]
fn each_end_of_an_entity_asks_a_busy_log_at_most_once() {
    const NAMES: usize = 200;
    let mut kit = Kit::new();
    let log = Noted::default();
    let journal = Journal::new(kit.handle(), log.clone()).unwrap();
    log.is_busy.store(true, Relaxed);
    for number in 0..NAMES {
        let count = journal.entity(number.to_string(), Count).unwrap();
        drop(kit.spawn(count).unwrap());
        kit.run();
    }
    let calls = log.calls.swap(0, Relaxed);
    assert!(
        (1..=NAMES).contains(&calls),
        "{calls} calls for {NAMES} names"
    );
    log.is_busy.store(false, Relaxed);
    let other = kit.spawn(journal.entity("other", Count).unwrap()).unwrap();
    assert_eq!(kit.answer(other.ask(|reply| (1, reply))), Ok(1));
    let expected: Vec<_> = (0..NAMES).map(|number| number.to_string()).collect();
    assert_eq!(*log.forgotten.lock().unwrap(), expected);
    assert_eq!(log.calls.load(Relaxed), NAMES);
}
