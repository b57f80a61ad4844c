//! Random operations. After each operation, the log is compared with a model.

use std::cell::RefCell;

use crate::{Event, EventKind, Group, JournalId, Log};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::Store;
use super::model::{Expected, KIND_OF_STATES, Written, append, start};

/// Names of the journals.
const NAMES: [&str; 3] = ["a", "b/1", "c"];

/// Number of random sequences of operations. The number is small, because each operation of a log
/// waits for the disk.
const CASES: u32 = 24;

/// An event of a group.
#[derive(Debug, Clone)]
struct New {
    journal: usize,
    /// Difference between the number of the event and the correct next number. Almost always 0.
    off: u64,
    written: Written,
}

#[derive(Debug, Clone)]
enum Operation {
    Append(Vec<New>),
    /// Saves the state after an event. Contains the journal, and the number of later events: 0
    /// saves the state after the newest event.
    Save(usize, u64),
    Tend,
    Reopen,
}

fn new() -> impl Strategy<Value = New> {
    let payload = prop_oneof![
        9 => prop::collection::vec(any::<u8>(), 0..40),
        1 => (0_usize..3_000).prop_map(|length| vec![3; length]),
    ];
    let off = prop_oneof![15 => Just(0), 1 => 1_u64..3];
    (
        0..NAMES.len(),
        off,
        any::<(u16, u16)>(),
        prop::bool::weighted(0.1),
        payload,
    )
        .prop_map(|(journal, off, (tag, version), is_whole, payload)| New {
            journal,
            off,
            written: Written {
                kind: EventKind { tag, version },
                is_whole,
                payload,
            },
        })
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        6 => prop::collection::vec(new(), 0..6).prop_map(Operation::Append),
        2 => (0..NAMES.len(), 0_u64..6).prop_map(|(journal, back)| Operation::Save(journal, back)),
        1 => Just(Operation::Tend),
        1 => Just(Operation::Reopen),
    ]
}

/// A log with its model.
struct Pair<'s> {
    store: &'s mut dyn Store,
    log: Option<Box<dyn Log>>,
    model: [Expected; NAMES.len()],
}

impl Pair<'_> {
    fn log(&self) -> &dyn Log {
        &**self.log.as_ref().expect("it is open")
    }

    fn id(&self, journal: usize) -> JournalId {
        start(self.log(), NAMES[journal]).journal
    }

    fn apply(&mut self, operation: Operation) {
        match operation {
            Operation::Append(events) => self.append(&events),
            Operation::Save(journal, back) => self.save(journal, back),
            Operation::Tend => self.log().tend(),
            Operation::Reopen => {
                // First: it is open only once.
                self.log = None;
                self.log = Some(self.store.open());
            }
        }
        for (model, name) in self.model.iter().zip(NAMES) {
            model.check(self.log(), name);
        }
    }

    fn append(&mut self, new: &[New]) {
        let mut after = self.model.clone();
        let (mut events, mut is_refused) = (Vec::new(), [false; NAMES.len()]);
        for new in new {
            let model = &mut after[new.journal];
            let event = Event {
                number: model.newest + 1 + new.off,
                kind: new.written.kind,
                is_whole: new.written.is_whole,
                payload: &new.written.payload,
            };
            events.push((self.id(new.journal), event));
            is_refused[new.journal] |= new.off > 0;
            model.append(new.written.clone());
        }
        let refused = append(self.log(), &events);
        let mut ids: Vec<_> = refused.iter().map(|refused| refused.journal).collect();
        ids.sort_unstable();
        let all = (0..NAMES.len()).filter(|journal| is_refused[*journal]);
        let mut expected: Vec<_> = all.map(|journal| self.id(journal)).collect();
        expected.sort_unstable();
        assert_eq!(ids, expected);
        for ((model, after), is_refused) in self.model.iter_mut().zip(after).zip(is_refused) {
            if !is_refused {
                *model = after;
            }
        }
    }

    fn save(&mut self, journal: usize, back: u64) {
        let id = self.id(journal);
        let model = &self.model[journal];
        let number = model.newest.saturating_sub(back);
        let state = number.to_le_bytes().to_vec();
        let saved = self.log().save(id, number, KIND_OF_STATES, &state);
        if model.can_save(number) {
            saved.unwrap();
            self.model[journal].save(number, state);
        } else {
            assert!(saved.is_err() || model.newest == 0);
        }
    }
}

/// Runs random operations on logs that are empty at first.
pub fn random_operations(store: &mut dyn Store) {
    let store = RefCell::new(store);
    let mut runner = TestRunner::new(Config {
        failure_persistence: None,
        ..Config::with_cases(CASES)
    });
    let operations = prop::collection::vec(operation(), 1..30);
    runner
        .run(&operations, |operations| {
            let mut store = store.borrow_mut();
            store.clear();
            let log = Some(store.open());
            let mut pair = Pair {
                store: &mut **store,
                log,
                model: Default::default(),
            };
            // A group without events is a group, too.
            pair.log().append(&Group::new()).unwrap();
            for operation in operations {
                pair.apply(operation);
            }
            Ok(())
        })
        .unwrap();
}
