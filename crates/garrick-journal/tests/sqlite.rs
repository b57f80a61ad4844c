//! Properties that only a log in an SQLite database has: other files are refused, people read the
//! database, and rows are damaged.
#![cfg(feature = "sqlite")]
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::{fs, process};

use garrick_journal::{
    Event, EventKind, Group, JournalError, JournalId, Log, READ_BYTES, SqliteLog, Start,
};
use garrick_testkit::Place;
use rusqlite::Connection;

/// A folder with a database.
struct Database(Place);

impl Database {
    fn new() -> Self {
        Self(Place::new("sqlite"))
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("journal.sqlite")
    }

    fn open(&self) -> SqliteLog {
        SqliteLog::open(self.path()).unwrap()
    }

    fn other(&self) -> Connection {
        Connection::open(self.path()).unwrap()
    }
}

const KIND: EventKind = EventKind { tag: 3, version: 1 };

fn start(log: &SqliteLog, name: &str) -> Start {
    log.start(name, true).unwrap().unwrap()
}

/// Appends events with the same payload, each as a group.
fn append(log: &SqliteLog, journal: JournalId, numbers: std::ops::RangeInclusive<u64>) {
    for number in numbers {
        let mut group = Group::new();
        let event = Event {
            number,
            kind: KIND,
            is_whole: false,
            payload: b"paid in",
        };
        group.add(journal, event).unwrap();
        assert!(log.append(&group).unwrap().is_empty());
    }
}

fn read(log: &SqliteLog, journal: JournalId) -> Result<usize, JournalError> {
    let mut group = Group::new();
    log.read(journal, 1, &mut group)?;
    Ok(group.len())
}

#[test]
fn a_second_opening_is_refused() {
    let place = Database::new();
    let log = place.open();
    let second = SqliteLog::open(place.path()).unwrap_err();
    let JournalError::Disk { source, .. } = &second else {
        panic!("{second}");
    };
    let expected = format!("the process {} has locked it", process::id());
    assert_eq!(source.to_string(), expected);
    assert!(second.to_string().starts_with("cannot lock"), "{second}");
    drop(log);
    place.open();
}

#[cfg(unix)]
#[test]
fn a_link_leads_to_the_same_log() {
    let place = Database::new();
    let log = place.open();
    append(&log, start(&log, "a").journal, 1..=2);
    let link = place.0.path().join("link");
    std::os::unix::fs::symlink(place.path(), &link).unwrap();
    let second = SqliteLog::open(&link).unwrap_err();
    assert!(second.to_string().starts_with("cannot lock"), "{second}");
    drop(log);
    let log = SqliteLog::open(&link).unwrap();
    assert_eq!(start(&log, "a").newest, 2);
    drop(log);
    // The lock would be beside the link, and not beside the database.
    let link = place.0.path().join("other link");
    std::os::unix::fs::symlink(place.0.path().join("nothing"), &link).unwrap();
    let error = SqliteLog::open(&link).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("a link to a file that does not exist"),
        "{text}"
    );
}

#[test]
fn other_files_are_refused_and_stay_as_they_are() {
    let place = Database::new();
    let refused = |why: &str| {
        for opened in [SqliteLog::open, SqliteLog::inspect] {
            let before = fs::read(place.path()).unwrap();
            let error = opened(place.path()).unwrap_err();
            assert!(matches!(error, JournalError::Foreign { .. }), "{error}");
            assert!(error.to_string().contains(why), "{error}");
            assert!(fs::read(place.path()).unwrap() == before);
        }
        fs::remove_file(place.path()).unwrap();
    };
    fs::write(place.path(), "This is a text. ".repeat(100)).unwrap();
    refused("it is no SQLite database");
    let other = place.other();
    other
        .execute_batch("CREATE TABLE cats (name TEXT)")
        .unwrap();
    drop(other);
    refused("it is the database of another program: its application_id is 0");
    drop(place.open());
    let other = place.other();
    other
        .execute_batch("PRAGMA user_version = 9; PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    drop(other);
    refused("its tables have the version 9, and this program knows the version 3");
    // A folder, and nothing.
    fs::create_dir(place.path()).unwrap();
    let error = SqliteLog::open(place.path()).unwrap_err();
    assert!(matches!(error, JournalError::Engine { .. }), "{error}");
    fs::remove_dir(place.path()).unwrap();
    let error = SqliteLog::inspect(place.path()).unwrap_err();
    assert!(matches!(error, JournalError::Disk { .. }), "{error}");
    assert!(!place.path().exists());
}

#[test]
fn people_query_the_log_while_it_is_open() {
    let place = Database::new();
    let log = place.open();
    let account = start(&log, "account/42").journal;
    append(&log, account, 1..=4);
    log.save(account, 2, KIND, b"state").unwrap();
    log.save(account, 4, KIND, b"state").unwrap();
    let person = place.other();
    let found: (String, u64, u64, String) = person
        .query_row(
            "SELECT name, number, tag, CAST(payload AS TEXT) FROM events
             JOIN journals ON id = journal WHERE name = 'account/42' ORDER BY number LIMIT 1",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
        )
        .unwrap();
    assert_eq!(found, ("account/42".into(), 3, 3, "paid in".into()));
    let states: u64 = person
        .query_row("SELECT count(*) FROM snapshots", [], |row| row.get(0))
        .unwrap();
    assert_eq!(states, 2);
    // A person who reads all day does not hold up the writer.
    person.execute_batch("BEGIN; SELECT * FROM events").unwrap();
    append(&log, account, 5..=6);
    log.tend();
    assert_eq!(log.sample(true).unwrap().notices, 0);
    let inspected = SqliteLog::inspect(place.path()).unwrap();
    inspected.check().unwrap();
    let listed = inspected.journals().unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].oldest, listed[0].newest), (3, 6));
    assert_eq!(listed[0].journal, account);
    let found = inspected.find("account/42").unwrap();
    assert_eq!(found.as_ref(), listed.first());
    assert_eq!(inspected.find("account/43").unwrap(), None);
    let refused = [
        inspected.append(&Group::new()).map(|_| ()),
        inspected.save(account, 6, KIND, b""),
    ];
    for refused in refused {
        assert!(matches!(refused, Err(JournalError::ReadOnly)));
    }
    drop((inspected, person));
    drop(log);
    // The database alone is the log.
    let mut files: Vec<_> = fs::read_dir(place.0.path())
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(files, ["journal.sqlite", "journal.sqlite-lock"]);
}

#[test]
fn a_damaged_event_is_named() {
    let place = Database::new();
    let log = place.open();
    let account = start(&log, "account/42").journal;
    append(&log, account, 1..=3);
    let person = place.other();
    for damage in [
        "payload = x'00'",
        "tag = tag + 1",
        "whole = 1",
        "tag = 70000",
    ] {
        let statement = format!("UPDATE events SET {damage} WHERE number = 2");
        person
            .execute_batch(&format!("SAVEPOINT s; {statement}; RELEASE s"))
            .unwrap();
        let error = read(&log, account).unwrap_err();
        assert!(matches!(error, JournalError::DamagedRow { .. }), "{error}");
        let text = error.to_string();
        assert!(
            text.starts_with("event 2 of the journal number 1 in"),
            "{text}"
        );
        person
            .execute_batch(
                "UPDATE events SET payload = (SELECT payload FROM events WHERE number = 1),
                 tag = 3, whole = 0 WHERE number = 2",
            )
            .unwrap();
        assert_eq!(read(&log, account).unwrap(), 3);
    }
}

#[test]
fn a_damaged_name_is_not_a_new_journal() {
    for damage in ["name = 'account/43'", "id = 2", "checksum = checksum + 1"] {
        let place = Database::new();
        let log = place.open();
        append(&log, start(&log, "account/42").journal, 1..=3);
        drop(log);
        let person = place.other();
        person
            .execute_batch(&format!("UPDATE journals SET {damage}"))
            .unwrap();
        drop(person);
        for opened in [SqliteLog::open, SqliteLog::inspect] {
            let error = opened(place.path()).unwrap_err();
            assert!(matches!(error, JournalError::DamagedRow { .. }), "{error}");
            let text = error.to_string();
            assert!(text.starts_with("the journal number "), "{text}");
        }
    }
}

#[test]
fn events_that_the_tables_have_lost_are_noticed() {
    let lost = [
        (
            "DELETE FROM events WHERE number = 3",
            "its newest event is 3, but 2 is the last one",
        ),
        (
            "DELETE FROM events WHERE number = 2",
            "its event 2 is missing",
        ),
        ("DELETE FROM journals", "it is missing"),
        ("UPDATE journals SET newest = 2", "its checksum is wrong"),
    ];
    for (loss, why) in lost {
        let place = Database::new();
        let log = place.open();
        let account = start(&log, "account/42").journal;
        append(&log, account, 1..=3);
        place.other().execute_batch(loss).unwrap();
        let read = log
            .start("account/42", true)
            .and_then(|_| read(&log, account));
        let text = read.unwrap_err().to_string();
        assert!(text.starts_with("the journal number 1 in"), "{text}");
        assert!(text.ends_with(why), "{text}");
    }
}

#[test]
fn a_damaged_state_is_not_one_of_the_two_that_are_kept() {
    let place = Database::new();
    let log = place.open();
    let account = start(&log, "account/42").journal;
    append(&log, account, 1..=6);
    for number in [2, 3] {
        log.save(account, number, KIND, b"state").unwrap();
    }
    let person = place.other();
    let damage = "UPDATE snapshots SET payload = x'00' WHERE number = ?1";
    person.execute(damage, [3]).unwrap();
    log.save(account, 5, KIND, b"five").unwrap();
    person.execute(damage, [5]).unwrap();
    let found = start(&log, "account/42");
    assert_eq!((found.oldest, found.snapshot.unwrap().number), (3, 2));
    for number in [6, 7] {
        append(&log, account, number + 1..=number + 1);
        log.save(account, number, KIND, b"state").unwrap();
    }
    let found = start(&log, "account/42");
    assert_eq!((found.oldest, found.snapshot.unwrap().number), (7, 7));
}

#[test]
fn an_older_state_stands_for_a_damaged_one() {
    let place = Database::new();
    let log = place.open();
    let account = start(&log, "account/42").journal;
    append(&log, account, 1..=6);
    log.save(account, 3, KIND, b"three").unwrap();
    log.save(account, 5, KIND, b"five").unwrap();
    let person = place.other();
    let damage = |number: u64| {
        let changed = person
            .execute(
                "UPDATE snapshots SET payload = x'00' WHERE number = ?1",
                [number],
            )
            .unwrap();
        assert_eq!(changed, 1);
    };
    damage(5);
    let found = start(&log, "account/42");
    let saved = found.snapshot.unwrap();
    assert_eq!((saved.number, &saved.payload[..]), (3, &b"three"[..]));
    assert_eq!(found.oldest, 4);
    assert_eq!(log.sample(true).unwrap().notices, 1);
    damage(3);
    let error = log.start("account/42", true).unwrap_err();
    assert!(matches!(error, JournalError::DamagedRow { .. }), "{error}");
    let text = error.to_string();
    assert!(
        text.starts_with("the saved state 5 of the journal number 1"),
        "{text}"
    );
}

#[test]
fn a_whole_event_stands_for_a_damaged_state() {
    let place = Database::new();
    let log = place.open();
    let account = start(&log, "account/42").journal;
    append(&log, account, 1..=6);
    log.save(account, 6, KIND, b"six").unwrap();
    let mut group = Group::new();
    let whole = Event {
        number: 7,
        kind: KIND,
        is_whole: true,
        payload: b"whole",
    };
    group.add(account, whole).unwrap();
    assert!(log.append(&group).unwrap().is_empty());
    append(&log, account, 8..=9);
    let damage = "UPDATE snapshots SET payload = x'00'";
    assert_eq!(place.other().execute(damage, []).unwrap(), 1);
    let found = start(&log, "account/42");
    assert_eq!((found.oldest, found.newest), (7, 9));
    assert!(found.snapshot.is_none());
    assert_eq!(log.sample(true).unwrap().notices, 1);
    assert_eq!(read(&log, account).unwrap(), 3);
    // A damaged event stands for nothing.
    let damage = "UPDATE events SET payload = x'00' WHERE number = 7";
    assert_eq!(place.other().execute(damage, []).unwrap(), 1);
    let error = log.start("account/42", true).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("the saved state 6 of"), "{text}");
}

#[test]
fn a_log_with_a_damaged_state_opens_again() {
    let place = Database::new();
    let mut log = place.open();
    let account = start(&log, "account/42").journal;
    append(&log, account, 1..=6);
    for number in [3, 5] {
        log.save(account, number, KIND, b"state").unwrap();
    }
    let damage = "UPDATE snapshots SET payload = x'00' WHERE number = 5";
    assert_eq!(place.other().execute(damage, []).unwrap(), 1);
    for _ in 0..3 {
        let found = start(&log, "account/42");
        assert_eq!((found.oldest, found.snapshot.unwrap().number), (4, 3));
        assert_eq!(read(&log, found.journal).unwrap(), 3);
        drop(log);
        log = place.open();
    }
}

#[test]
fn the_write_ahead_log_does_not_grow_for_ever() {
    let place = Database::new();
    let log = place.open();
    let account = start(&log, "account/42").journal;
    let payload = vec![7; 1 << 20];
    for number in 1..=64 {
        let mut group = Group::new();
        let event = Event {
            number,
            kind: KIND,
            is_whole: true,
            payload: &payload,
        };
        group.add(account, event).unwrap();
        log.append(&group).unwrap();
        log.tend();
    }
    let sample = log.sample(true).unwrap();
    assert_eq!((sample.files, sample.notices), (2, 0));
    // Each event has replaced the one before. Without checkpoints, it would have 64 MiB.
    assert!(sample.bytes < 40 << 20, "{} bytes", sample.bytes);
}

#[test]
fn what_an_ended_process_has_left_is_read() {
    let place = Database::new();
    let log = place.open();
    let account = start(&log, "account/42").journal;
    append(&log, account, 1..=5);
    // As after a kill: the write-ahead log has everything, and its index is not copied.
    let left = Database::new();
    fs::copy(place.path(), left.path()).unwrap();
    let wal = |place: &Database| place.0.path().join("journal.sqlite-wal");
    fs::copy(wal(&place), wal(&left)).unwrap();
    let found = left.open();
    assert_eq!(start(&found, "account/42").newest, 5);
    drop(found);
    // The last group has two frames of 4,120 bytes. If it is torn, the others are there.
    let whole = fs::read(wal(&place)).unwrap();
    for cut in (whole.len() - 8_200..whole.len()).step_by(97) {
        let torn = Database::new();
        fs::copy(place.path(), torn.path()).unwrap();
        fs::write(wal(&torn), &whole[..cut]).unwrap();
        let found = torn.open();
        let newest = start(&found, "account/42").newest;
        assert_eq!(newest, 4, "the commit is in the last frame");
        append(&found, start(&found, "account/42").journal, 5..=5);
        found.check().unwrap();
    }
}

#[test]
fn events_are_read_in_pages() {
    let place = Database::new();
    let log = place.open();
    let account = start(&log, "account/42").journal;
    let payload = vec![1; 100_000];
    let mut group = Group::new();
    for number in 1..=10 {
        let event = Event {
            number,
            kind: KIND,
            is_whole: false,
            payload: &payload,
        };
        group.add(account, event).unwrap();
    }
    log.append(&group).unwrap();
    assert_eq!(read(&log, account).unwrap(), READ_BYTES.div_ceil(100_000));
}
