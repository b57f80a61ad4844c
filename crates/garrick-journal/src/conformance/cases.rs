//! Tests of the rules that every log must follow, one rule after another.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;

use crate::{Event, EventKind, Group, JournalError, JournalId, Log, READ_BYTES, Refused, Snapshot};

use super::Store;
use super::model::{KIND_OF_STATES, append, event, read_all, start};

/// Appends one group for each number, with a single event that has this number. The number is also
/// the content of the event.
pub(super) fn append_each(
    log: &dyn Log,
    journal: JournalId,
    numbers: impl IntoIterator<Item = u64>,
) {
    for number in numbers {
        let refused = append(log, &[(journal, event(number, &number.to_le_bytes()))]);
        assert!(refused.is_empty());
    }
}

pub(super) fn save(log: &dyn Log, journal: JournalId, number: u64) -> Result<(), JournalError> {
    log.save(journal, number, KIND_OF_STATES, &number.to_le_bytes())
}

fn numbers(log: &dyn Log, journal: JournalId, from: u64) -> Vec<u64> {
    let read = read_all(log, journal, from);
    read.into_iter().map(|(number, _)| number).collect()
}

fn is_conflict(refused: &Refused, of: (JournalId, &str), numbers: (u64, u64)) -> bool {
    let JournalError::Conflict {
        journal,
        expected,
        found,
    } = &refused.error
    else {
        return false;
    };
    (refused.journal, &**journal) == of && (*expected, *found) == numbers
}

pub fn events_are_read_as_they_were_appended(store: &mut dyn Store) {
    let log = store.open();
    let journal = start(&*log, "a").journal;
    let events = [
        event(1, b"one"),
        Event {
            number: 2,
            kind: EventKind {
                tag: u16::MAX,
                version: u16::MAX,
            },
            ..Event::default()
        },
        event(3, &[0, 255, 0]),
    ];
    assert!(append(&*log, &events.map(|event| (journal, event))).is_empty());
    let check = |log: &dyn Log, journal| {
        let mut group = Group::new();
        log.read(journal, 1, &mut group).unwrap();
        let read: Vec<_> = group.events().collect();
        assert_eq!(read, events.map(|event| (journal, event)));
        assert_eq!(numbers(log, journal, 0), [1, 2, 3]);
        assert_eq!(numbers(log, journal, 3), [3]);
        assert!(numbers(log, journal, 4).is_empty());
        assert!(numbers(log, journal, u64::MAX).is_empty());
        // A further read adds to the group.
        log.read(journal, 3, &mut group).unwrap();
        assert_eq!(group.len(), 4);
    };
    check(&*log, journal);
    drop(log);
    let log = store.open();
    let again = start(&*log, "a");
    assert_eq!((again.oldest, again.newest), (1, 3));
    assert!(again.snapshot.is_none());
    check(&*log, again.journal);
    append_each(&*log, again.journal, [4]);
    assert_eq!(start(&*log, "a").newest, 4);
}

pub fn a_read_ends_after_some_bytes(store: &mut dyn Store) {
    const EACH: usize = 1_000;
    let log = store.open();
    let journal = start(&*log, "a").journal;
    let payload = vec![5; EACH];
    let events: Vec<_> = (1..=600)
        .map(|number| (journal, event(number, &payload)))
        .collect();
    append(&*log, &events);
    let mut group = Group::new();
    group.add(journal, event(1, &payload)).unwrap();
    let first = READ_BYTES.div_ceil(group.size());
    group.clear();
    log.read(journal, 1, &mut group).unwrap();
    assert_eq!(group.len(), first);
    // The group is full, and still gets an event.
    log.read(journal, 600, &mut group).unwrap();
    assert_eq!(group.len(), first + 1);
    group.clear();
    log.read(journal, 599, &mut group).unwrap();
    assert_eq!(group.len(), 2);
    assert_eq!(numbers(&*log, journal, 1), (1..=600).collect::<Vec<_>>());
}

pub fn a_read_of_events_without_payload_ends(store: &mut dyn Store) {
    let log = store.open();
    let journal = start(&*log, "a").journal;
    let events: Vec<_> = (1..=20_000)
        .map(|number| (journal, event(number, &[])))
        .collect();
    append(&*log, &events);
    let mut group = Group::new();
    group.add(journal, event(1, &[])).unwrap();
    let first = READ_BYTES.div_ceil(group.size());
    group.clear();
    log.read(journal, 1, &mut group).unwrap();
    assert_eq!(group.len(), first);
    assert_eq!(numbers(&*log, journal, 1).len(), 20_000);
}

pub fn journals_are_apart(store: &mut dyn Store) {
    let log = store.open();
    let (a, b) = (start(&*log, "a").journal, start(&*log, "b/1").journal);
    assert_ne!(a, b);
    assert_eq!(start(&*log, "a").journal, a);
    append(
        &*log,
        &[
            (a, event(1, b"a1")),
            (b, event(1, b"b1")),
            (a, event(2, b"a2")),
        ],
    );
    let contents = |log: &dyn Log, name| -> Vec<Vec<u8>> {
        let read = read_all(log, start(log, name).journal, 1);
        read.into_iter()
            .map(|(_, written)| written.payload)
            .collect()
    };
    assert_eq!(contents(&*log, "a"), [b"a1", b"a2"]);
    assert_eq!(contents(&*log, "b/1"), [b"b1"]);
    drop(log);
    let log = store.open();
    // In another order than before.
    assert_eq!(contents(&*log, "b/1"), [b"b1"]);
    assert_eq!(contents(&*log, "a"), [b"a1", b"a2"]);
    assert_eq!(start(&*log, "A").newest, 0, "upper case is another name");
}

pub fn a_journal_exists_from_its_first_event_on(store: &mut dyn Store) {
    let log = store.open();
    let unused = start(&*log, "unused");
    assert_eq!((unused.oldest, unused.newest), (1, 0));
    assert!(unused.snapshot.is_none());
    assert!(numbers(&*log, unused.journal, 1).is_empty());
    // Its events may never come, and another journal gets its number after the next opening.
    let used = start(&*log, "used").journal;
    append_each(&*log, used, [1, 2]);
    drop(log);
    let log = store.open();
    let other = start(&*log, "other").journal;
    append_each(&*log, other, [1]);
    assert_eq!(start(&*log, "used").newest, 2);
    assert_eq!(start(&*log, "unused").newest, 0);
    let unused = start(&*log, "unused").journal;
    append_each(&*log, unused, [1, 2, 3]);
    assert_eq!(start(&*log, "other").newest, 1);
    assert_eq!(start(&*log, "unused").newest, 3);
}

pub fn a_journal_without_events_is_forgotten(store: &mut dyn Store) {
    let log = store.open();
    for _ in 0..2 {
        assert_eq!(start(&*log, "a").newest, 0);
        assert!(log.forget("a") && log.forget("unknown"));
    }
    append_each(&*log, start(&*log, "b").journal, [1]);
    append_each(&*log, start(&*log, "a").journal, 1..=2);
    let a = start(&*log, "a").journal;
    assert!(log.forget("a") && log.forget("b"));
    append_each(&*log, a, [3]);
    let check = |log: &dyn Log| {
        assert_eq!(numbers(log, start(log, "a").journal, 1), [1, 2, 3]);
        assert_eq!(numbers(log, start(log, "b").journal, 1), [1]);
    };
    check(&*log);
    drop(log);
    let log = store.open();
    assert!(log.forget("a"));
    check(&*log);
}

pub fn a_conflict_refuses_one_journal(store: &mut dyn Store) {
    let log = store.open();
    let [a, b, c] = ["a", "b", "c"].map(|name| start(&*log, name).journal);
    append_each(&*log, a, [1, 2]);
    // The second event of `a` would follow, and is refused with the first.
    let refused = append(
        &*log,
        &[
            (b, event(1, b"b1")),
            (a, event(2, b"again")),
            (c, event(2, b"too early")),
            (a, event(3, b"a3")),
            (b, event(2, b"b2")),
        ],
    );
    assert_eq!(refused.len(), 2, "{refused:?}");
    let has = |of, numbers| refused.iter().any(|one| is_conflict(one, of, numbers));
    assert!(has((a, "a"), (3, 2)), "{refused:?}");
    assert!(has((c, "c"), (1, 2)), "{refused:?}");
    // A hole in the middle refuses what is before it, too.
    let refused = append(&*log, &[(a, event(3, b"")), (a, event(5, b""))]);
    assert!(is_conflict(&refused[0], (a, "a"), (4, 5)), "{refused:?}");
    // Also if an event is whole.
    let whole = Event {
        is_whole: true,
        ..event(9, b"")
    };
    assert_eq!(append(&*log, &[(a, whole)]).len(), 1);
    let check = |log: &dyn Log| {
        let all = ["a", "b", "c"].map(|name| numbers(log, start(log, name).journal, 1));
        assert_eq!(all, [vec![1, 2], vec![1, 2], vec![]]);
    };
    check(&*log);
    append_each(&*log, c, [1]);
    append_each(&*log, a, [3]);
    drop(log);
    let log = store.open();
    assert_eq!(start(&*log, "a").newest, 3);
    assert_eq!(start(&*log, "c").newest, 1);
}

pub fn an_unknown_journal_is_refused(store: &mut dyn Store) {
    let log = store.open();
    let a = start(&*log, "a").journal;
    for unknown in [77, u64::MAX] {
        let unknown = JournalId::new(unknown);
        let refused = append(&*log, &[(unknown, event(1, b"")), (a, event(1, b""))]);
        let of = format!("number {}", unknown.get());
        // Only the first time, the event of `a` is the next one.
        let one = refused.iter().find(|one| one.journal == unknown).unwrap();
        assert!(is_conflict(one, (unknown, &of), (0, 1)), "{refused:?}");
        assert!(numbers(&*log, unknown, 1).is_empty());
        save(&*log, unknown, 1).unwrap();
    }
    assert_eq!(start(&*log, "a").newest, 1);
    let refused = append(&*log, &[(a, event(u64::MAX, b""))]);
    assert!(is_conflict(&refused[0], (a, "a"), (2, u64::MAX)));
}

pub fn a_whole_event_replaces_those_before(store: &mut dyn Store) {
    let log = store.open();
    let (a, b) = (start(&*log, "a").journal, start(&*log, "b").journal);
    append_each(&*log, a, 1..=3);
    append_each(&*log, b, 1..=3);
    let whole = |number| Event {
        is_whole: true,
        ..event(number, b"whole")
    };
    append(&*log, &[(a, whole(4)), (a, event(5, b"five"))]);
    let found = start(&*log, "a");
    assert_eq!((found.oldest, found.newest), (4, 5));
    assert_eq!(numbers(&*log, a, 1), [4, 5]);
    assert_eq!(numbers(&*log, b, 1), [1, 2, 3]);
    // Two of them in a group, and one as the first event.
    append(
        &*log,
        &[
            (a, whole(6)),
            (a, event(7, b"")),
            (a, whole(8)),
            (start(&*log, "c").journal, whole(1)),
        ],
    );
    let check = |log: &dyn Log| {
        let found = start(log, "a");
        assert_eq!((found.oldest, found.newest), (8, 8));
        let read = read_all(log, found.journal, 1);
        assert!(read.len() == 1 && read[0].1.is_whole && read[0].1.payload == b"whole");
        let found = start(log, "c");
        assert_eq!((found.oldest, found.newest), (1, 1));
    };
    check(&*log);
    log.tend();
    drop(log);
    check(&*store.open());
}

pub fn two_snapshots_are_kept(store: &mut dyn Store) {
    let log = store.open();
    let (a, b) = (start(&*log, "a").journal, start(&*log, "b").journal);
    append_each(&*log, a, 1..=10);
    append_each(&*log, b, 1..=3);
    let is = |log: &dyn Log, oldest, saved: u64| {
        let found = start(log, "a");
        assert_eq!((found.oldest, found.newest), (oldest, 10));
        let expected = Snapshot {
            number: saved,
            kind: KIND_OF_STATES,
            payload: saved.to_le_bytes().to_vec(),
        };
        assert_eq!(found.snapshot, Some(expected));
        let expected: Vec<_> = (oldest..=10).collect();
        assert_eq!(numbers(log, found.journal, 1), expected);
        assert_eq!(numbers(log, start(log, "b").journal, 1), [1, 2, 3]);
    };
    save(&*log, a, 4).unwrap();
    is(&*log, 1, 4);
    save(&*log, a, 7).unwrap();
    is(&*log, 5, 7);
    log.tend();
    drop(log);
    let log = store.open();
    is(&*log, 5, 7);
    save(&*log, start(&*log, "a").journal, 10).unwrap();
    is(&*log, 8, 10);
    log.tend();
    is(&*log, 8, 10);
    drop(log);
    let log = store.open();
    is(&*log, 8, 10);
    append_each(&*log, start(&*log, "a").journal, [11]);
    assert_eq!(start(&*log, "a").newest, 11);
}

pub fn a_wrong_snapshot_is_refused(store: &mut dyn Store) {
    let log = store.open();
    let a = start(&*log, "a").journal;
    append_each(&*log, a, 1..=5);
    save(&*log, a, 3).unwrap();
    for wrong in [1, 3, 6, u64::MAX] {
        let error = save(&*log, a, wrong).unwrap_err();
        assert!(matches!(error, JournalError::Conflict { .. }), "{error}");
    }
    // What is returned is no notice.
    assert_eq!(log.sample(true).unwrap().notices, 0);
    let found = start(&*log, "a");
    assert_eq!(found.snapshot.map(|saved| saved.number), Some(3));
    assert_eq!((found.oldest, found.newest), (1, 5));
    // A journal without events.
    let empty = start(&*log, "empty").journal;
    let saved = save(&*log, empty, 1);
    assert!(saved.is_err() || start(&*log, "empty").snapshot.is_none());
}

pub fn snapshots_and_whole_events(store: &mut dyn Store) {
    let log = store.open();
    let a = start(&*log, "a").journal;
    append_each(&*log, a, 1..=4);
    save(&*log, a, 2).unwrap();
    let whole = |number| Event {
        is_whole: true,
        ..event(number, b"whole")
    };
    append(&*log, &[(a, whole(5))]);
    // The events between the snapshot and the oldest event are gone.
    let found = start(&*log, "a");
    assert_eq!((found.oldest, found.newest), (5, 5));
    assert!(found.snapshot.is_none());
    save(&*log, a, 5).unwrap();
    append(&*log, &[(a, whole(6)), (a, event(7, b""))]);
    let check = |log: &dyn Log| {
        let found = start(log, "a");
        assert_eq!((found.oldest, found.newest), (6, 7));
        assert_eq!(found.snapshot.map(|saved| saved.number), Some(5));
        assert_eq!(numbers(log, found.journal, 1), [6, 7]);
    };
    check(&*log);
    drop(log);
    check(&*store.open());
}

pub fn a_start_that_does_not_wait(store: &mut dyn Store) {
    let log = store.open();
    // Nobody else uses the log. So a log on this machine answers.
    let found = log.start("a", false).unwrap();
    let a = start(&*log, "a").journal;
    assert!(found.is_none_or(|found| found.journal == a && found.newest == 0));
    append_each(&*log, a, 1..=100);
    if let Some(found) = log.start("a", false).unwrap() {
        assert_eq!((found.journal, found.oldest, found.newest), (a, 1, 100));
    }
    assert!(log.start("a", true).unwrap().is_some());
}

pub fn wrong_names_are_refused(store: &mut dyn Store) {
    let log = store.open();
    let (long, longest) = ("a".repeat(256), "ä".repeat(127));
    for name in ["", "/", "a/", "a//b", "..", "a/../b", "a\0", "a\n", &long] {
        for waits in [false, true] {
            let error = log.start(name, waits).unwrap_err();
            assert!(matches!(error, JournalError::Name { .. }), "{error}");
        }
    }
    for name in [
        "a'; DROP TABLE events; --",
        "Konto/Zürich",
        "%_*?",
        &longest,
    ] {
        append_each(&*log, start(&*log, name).journal, [1]);
        assert_eq!(start(&*log, name).newest, 1);
    }
    assert_eq!(start(&*log, "konto/Zürich").newest, 0);
}

pub fn an_empty_group_changes_nothing(store: &mut dyn Store) {
    let log = store.open();
    let before = log.sample(true).unwrap();
    assert!(log.append(&Group::new()).unwrap().is_empty());
    assert_eq!(log.sample(true).unwrap(), before);
    append_each(&*log, start(&*log, "a").journal, [1]);
    assert!(log.append(&Group::new()).unwrap().is_empty());
    drop(log);
    assert_eq!(start(&*store.open(), "a").newest, 1);
}

pub fn large_events(store: &mut dyn Store) {
    const MAX: usize = 16 << 20;
    let log = store.open();
    let a = start(&*log, "a").journal;
    let mut group = Group::new();
    let too_large = group.add(a, event(1, &vec![0; MAX + 1]));
    assert!(matches!(too_large, Err(JournalError::TooLarge { .. })));
    let large: Vec<u8> = (0..MAX).map(|at| (at % 251) as u8).collect();
    append(&*log, &[(a, event(1, &large)), (a, event(2, b"small"))]);
    log.save(a, 1, KIND_OF_STATES, &large).unwrap();
    let check = |log: &dyn Log| {
        let found = start(log, "a");
        assert!(found.snapshot.is_some_and(|saved| saved.payload == large));
        let mut group = Group::new();
        log.read(found.journal, 1, &mut group).unwrap();
        assert_eq!(group.len(), 1, "one event is enough");
        let (_, event) = group.events().next().unwrap();
        assert!(event.payload == large);
        assert_eq!(numbers(log, found.journal, 1), [1, 2]);
    };
    check(&*log);
    drop(log);
    check(&*store.open());
}

pub fn a_log_has_numbers(store: &mut dyn Store) {
    let log = store.open();
    append_each(&*log, start(&*log, "a").journal, 1..=3);
    log.tend();
    let sample = log.sample(true).unwrap();
    assert!(!sample.is_broken && !log.is_broken());
    assert_eq!(sample.notices, 0);
    // Both are zero for a log that is elsewhere.
    assert_eq!(sample.files == 0, sample.bytes == 0);
}

pub fn threads_read_meanwhile(store: &mut dyn Store) {
    let log = &*store.open();
    let (a, b) = (start(log, "a").journal, start(log, "b").journal);
    append_each(log, a, 1..=50);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_over.load(SeqCst) {
                    assert_eq!(numbers(log, a, 1), (1..=50).collect::<Vec<_>>());
                    let found = log.start("a", false).unwrap();
                    assert!(found.is_none_or(|found| found.newest == 50));
                    // What is being appended is there or not.
                    let newest = start(log, "b").newest;
                    assert!(newest <= 30);
                }
            });
        }
        append_each(log, b, 1..=30);
        is_over.store(true, SeqCst);
    });
    assert_eq!(start(log, "b").newest, 30);
}
