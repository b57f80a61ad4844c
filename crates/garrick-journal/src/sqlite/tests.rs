//! Tests of failures of an SQLite log. The tests need access to the private connections of the log.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::{env, fs, panic, process};

use super::SqliteLog;
use crate::{Event, EventKind, Group, JournalError, Log};

/// A folder that is removed when this value is dropped.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, SeqCst);
        let name = format!("garrick-sqlite-unit-{}-{number}", process::id());
        Self(env::temp_dir().join(name))
    }

    fn open(&self) -> SqliteLog {
        SqliteLog::open(self.0.join("journal.sqlite")).unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn append(log: &SqliteLog, number: u64, bytes: usize) -> Result<(), JournalError> {
    let start = log.start("a", true).unwrap().unwrap();
    let mut group = Group::new();
    let event = Event {
        number,
        payload: &vec![1; bytes],
        ..Event::default()
    };
    group.add(start.journal, event).unwrap();
    log.append(&group)
        .map(|refused| assert!(refused.is_empty()))
}

fn newest(log: &SqliteLog) -> u64 {
    log.start("a", true).unwrap().unwrap().newest
}

#[test]
fn a_group_for_which_there_is_no_space_is_not_in_the_log() {
    let place = Place::new();
    let log = place.open();
    append(&log, 1, 10).unwrap();
    let limit = |pages: i64| {
        let writer = log.writer().unwrap();
        let set = writer
            .connection
            .pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()));
        set.unwrap();
    };
    limit(20);
    for _ in 0..3 {
        let full = append(&log, 2, 200_000).unwrap_err();
        assert!(matches!(full, JournalError::Full { .. }), "{full}");
        assert_eq!(newest(&log), 1);
    }
    let journal = log.start("a", true).unwrap().unwrap().journal;
    let full = log.save(journal, 1, EventKind::default(), &[2; 200_000]);
    assert!(matches!(full, Err(JournalError::Full { .. })));
    // What has room is appended, and the rest when there is space again.
    append(&log, 2, 10).unwrap();
    limit(1_000);
    append(&log, 3, 200_000).unwrap();
    assert!(!log.is_broken());
    drop(log);
    assert_eq!(newest(&place.open()), 3);
}

#[test]
fn a_reader_does_not_wait_for_the_writer() {
    let place = Place::new();
    let log = place.open();
    for number in 1..=64 {
        append(&log, number, 10).unwrap();
    }
    let found = log.start("a", true).unwrap().unwrap();
    {
        let writer = log.writer().unwrap();
        writer
            .connection
            .execute_batch("BEGIN IMMEDIATE; DELETE FROM events")
            .unwrap();
        let again = log.start("a", false).unwrap().unwrap();
        assert_eq!((again.oldest, again.newest), (1, 64));
        let mut events = Group::new();
        log.read(found.journal, 1, &mut events).unwrap();
        assert_eq!(events.len(), 64);
        writer.connection.execute_batch("ROLLBACK").unwrap();
    }
    {
        // Another thread reads.
        let _reader = log.reader(true).unwrap();
        assert!(log.start("a", false).unwrap().is_none());
    }
    append(&log, 65, 10).unwrap();
    assert!(log.start("a", false).unwrap().is_none(), "there are many");
}

#[test]
fn a_broken_log_is_not_written_any_more() {
    let place = Place::new();
    let log = place.open();
    append(&log, 1, 10).unwrap();
    let journal = log.start("a", true).unwrap().unwrap().journal;
    log.set_broken(&log.writer().unwrap().connection, "a test".into());
    let mut group = Group::new();
    let event = Event {
        number: 2,
        ..Event::default()
    };
    group.add(journal, event).unwrap();
    let refused = [
        log.append(&group).map(|_| ()),
        log.save(journal, 1, EventKind::default(), b""),
        log.start("a", true).map(|_| ()),
        log.start("a", false).map(|_| ()),
    ];
    for refused in refused {
        assert!(matches!(refused, Err(JournalError::Broken)));
    }
    log.writer().unwrap().pages = u64::MAX;
    log.tend();
    let sample = log.sample(true).unwrap();
    assert!(log.is_broken() && sample.is_broken);
    assert_eq!(sample.cause.as_deref(), Some("a test"));
    assert_eq!(log.writer().unwrap().pages, u64::MAX, "no checkpoint");
    // The write-ahead log is not copied when the database is closed, either.
    drop(log);
    assert!(place.0.join("journal.sqlite-wal").exists());
    let log = place.open();
    assert_eq!(newest(&log), 1);
    append(&log, 2, 10).unwrap();
}

#[test]
fn a_panic_while_a_group_is_written_breaks_the_log() {
    let place = Place::new();
    let log = place.open();
    append(&log, 1, 10).unwrap();
    let panics = panic::catch_unwind(panic::AssertUnwindSafe(|| {
        log.transact("write", 1, |connection| -> rusqlite::Result<()> {
            connection.execute("DELETE FROM events", [])?;
            panic!("a bug");
        })
    }));
    panics.unwrap_err();
    assert!(log.is_broken());
    assert!(matches!(append_raw(&log), Err(JournalError::Broken)));
    drop(log);
    assert_eq!(newest(&place.open()), 1, "it was rolled back");
}

fn append_raw(log: &SqliteLog) -> Result<(), JournalError> {
    let mut group = Group::new();
    group
        .add(crate::JournalId::new(1), Event::default())
        .unwrap();
    log.append(&group).map(|_| ())
}

#[test]
fn names_without_events_are_forgotten() {
    let place = Place::new();
    let log = place.open();
    append(&log, 1, 10).unwrap();
    let start = |name: &str| log.start(name, true).unwrap().unwrap();
    let names = || (0..100).map(|number| format!("probed/{number}"));
    names().for_each(|name| assert_eq!(start(&name).newest, 0));
    assert_eq!(log.names().len(), 101);
    {
        let _used = log.writer().unwrap();
        assert!(!log.forget("probed/0"), "it would have to wait");
    }
    assert!(names().all(|name| log.forget(&name)) && log.forget("a"));
    assert_eq!(log.names().len(), 1);
    append(&log, 2, 10).unwrap();
    assert_eq!(start("probed/0").journal.get(), 102, "a new number");
}
