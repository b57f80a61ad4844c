//! States of many entities that are due when their system shuts down.
#![forbid(unsafe_code)]

#[macro_use]
mod common;
#[path = "common/count.rs"]
mod count;

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Instant;

use garrick_actor::System;
use garrick_journal::{
    EventKind, Group, Journal, JournalError, JournalId, Log, LogSample, MemoryLog, Refused, Start,
};
use garrick_testkit::{HANGS_AFTER, wait};

use count::Count;

/// Number of entities whose states are due.
const ENTITIES: usize = 100;

/// A log whose appends report that they have begun, and then wait until they may go on.
struct Gated {
    log: MemoryLog,
    begun: SyncSender<()>,
    may_go_on: Mutex<Receiver<()>>,
}

impl Log for Gated {
    fn start(&self, name: &str, waits: bool) -> Result<Option<Start>, JournalError> {
        self.log.start(name, waits)
    }

    fn read(&self, journal: JournalId, from: u64, events: &mut Group) -> Result<(), JournalError> {
        self.log.read(journal, from, events)
    }

    fn append(&self, group: &Group) -> Result<Vec<Refused>, JournalError> {
        self.begun.send(()).unwrap();
        wait(&self.may_go_on.lock().unwrap());
        self.log.append(group)
    }

    passed_on!(log);
}

fn name(number: usize) -> String {
    format!("count/{number}")
}

/// Lets each entity record ten events in one turn. All these turns are in one group. While the
/// group is being appended, begins to shut the system down. Returns the log after the shutdown.
fn shut_down_while_states_are_due(begin: impl FnOnce(&System)) -> MemoryLog {
    let (log, system) = (MemoryLog::new(), System::new().unwrap());
    let ((begun, has_begun), (go_on, may_go_on)) = (sync_channel(8), sync_channel(8));
    let gated = Gated {
        log: log.clone(),
        begun,
        may_go_on: Mutex::new(may_go_on),
    };
    let journal = Journal::new(&system.handle(), gated).unwrap();
    let spawn = |name: String| {
        let count = journal.entity(name, Count).unwrap();
        system.spawn(count).unwrap()
    };
    let first = spawn("first".to_owned());
    let _asked = first.ask(|reply| (1, reply));
    wait(&has_begun);
    let counts: Vec<_> = (0..ENTITIES).map(name).map(spawn).collect();
    let asks = counts.iter().map(|count| count.ask(|reply| (10, reply)));
    let _asked: Vec<_> = asks.collect();
    let began = Instant::now();
    while journal.sample().waiting < ENTITIES + 1 {
        assert!(began.elapsed() < HANGS_AFTER);
        thread::yield_now();
    }
    go_on.send(()).unwrap();
    wait(&has_begun);
    begin(&system);
    go_on.send(()).unwrap();
    system.wait();
    log
}

/// Returns how many entities have a state that was saved after the event `number`.
fn saved(log: &MemoryLog, number: u64) -> usize {
    let is_saved = |name: &String| {
        let start = log.start(name, true).unwrap().unwrap();
        start.snapshot.is_some_and(|saved| saved.number == number)
    };
    (0..ENTITIES).map(name).filter(is_saved).count()
}

#[test]
fn a_graceful_shutdown_saves_all_states_that_are_due() {
    let log = shut_down_while_states_are_due(System::begin_shutdown);
    assert_eq!(saved(&log, 10), ENTITIES);
}

#[test]
fn states_that_a_shutdown_has_not_saved_are_saved_later_and_nothing_is_lost() {
    let log = shut_down_while_states_are_due(System::begin_shutdown_now);
    let before = saved(&log, 10);
    assert_eq!(before, 8, "the states after the last group");
    let system = System::new().unwrap();
    let journal = Journal::new(&system.handle(), log.clone()).unwrap();
    for number in 0..ENTITIES {
        let count = journal.entity(name(number), Count).unwrap();
        let count = system.spawn(count).unwrap();
        assert_eq!(count.ask(|reply| (1, reply)).wait(), Ok(11));
    }
    system.shutdown();
    assert_eq!((saved(&log, 10), saved(&log, 11)), (8, ENTITIES - 8));
}
