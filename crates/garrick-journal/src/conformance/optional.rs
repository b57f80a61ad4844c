//! Tests of the methods that a log need not implement. A [`Store`] states which of them its log
//! implements.

use crate::{Event, JournalId, Log};

use super::Store;
use super::cases::{append_each, save};
use super::model::{KIND_OF_STATES, append, event, start};

/// Returns the number of the snapshot of the journal `a` that is older than the snapshot `number`.
fn before(log: &dyn Log, number: u64) -> Option<u64> {
    let older = log.saved_before(start(log, "a").journal, number).unwrap()?;
    assert_eq!(older.kind, KIND_OF_STATES);
    assert_eq!(older.payload, older.number.to_le_bytes());
    Some(older.number)
}

pub fn the_older_snapshot_is_read(store: &mut dyn Store) {
    if !store.reads_older_states() {
        return;
    }
    let log = store.open();
    let (a, b) = (start(&*log, "a").journal, start(&*log, "b").journal);
    assert_eq!(before(&*log, 5), None, "there are no events");
    append_each(&*log, a, 1..=10);
    append_each(&*log, b, 1..=10);
    save(&*log, b, 3).unwrap();
    save(&*log, a, 4).unwrap();
    assert_eq!(
        [5, 4, 0].map(|number| before(&*log, number)),
        [Some(4), None, None]
    );
    save(&*log, a, 7).unwrap();
    let check = |log: &dyn Log| {
        let numbers = [10, 8, 7, 5, 4].map(|number| before(log, number));
        assert_eq!(numbers, [Some(7), Some(7), Some(4), Some(4), None]);
        let unknown = log.saved_before(JournalId::new(77), 5).unwrap();
        assert_eq!(unknown, None);
    };
    check(&*log);
    log.tend();
    drop(log);
    let log = store.open();
    check(&*log);
    save(&*log, start(&*log, "a").journal, 10).unwrap();
    assert_eq!([10, 7].map(|number| before(&*log, number)), [Some(7), None]);
    // The events between the older snapshot and a whole event are gone.
    let whole = |number| Event {
        is_whole: true,
        ..event(number, b"whole")
    };
    append(&*log, &[(start(&*log, "a").journal, whole(11))]);
    let check = |log: &dyn Log| {
        assert_eq!([11, 10].map(|number| before(log, number)), [Some(10), None]);
    };
    check(&*log);
    drop(log);
    let log = store.open();
    check(&*log);
    append(&*log, &[(start(&*log, "a").journal, whole(12))]);
    assert_eq!(before(&*log, 11), None);
}

pub fn a_forgotten_journal_gets_another_number(store: &mut dyn Store) {
    if !store.forgets() {
        return;
    }
    let log = store.open();
    let first = start(&*log, "a").journal;
    assert!(log.forget("a"));
    let other = start(&*log, "b").journal;
    let again = start(&*log, "a").journal;
    assert!(first != other && first != again && other != again);
    let refused = append(
        &*log,
        &[(first, event(1, b"late")), (again, event(1, b"a"))],
    );
    let refused: Vec<_> = refused.iter().map(|refused| refused.journal).collect();
    assert_eq!(refused, [first]);
    assert!(log.forget("a"));
    let found = start(&*log, "a");
    assert_eq!((found.journal, found.newest), (again, 1), "it has an event");
    assert_eq!(start(&*log, "b").newest, 0);
}
