//! A log in an SQLite database is inspected by a user who may only read it.
#![cfg(all(feature = "sqlite", unix))]
#![forbid(unsafe_code)]

use std::env;
use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use garrick_journal::{Event, Group, Log as _, SqliteLog};
use garrick_testkit::Place;

/// Variable with the path of the database, for a process of another user.
const DATABASE: &str = "GARRICK_JOURNAL_DATABASE";

/// Number of a user who owns nothing.
const NOBODY: u32 = 65_534;

fn assert_readable(path: &Path) {
    let log = SqliteLog::inspect(path).unwrap();
    log.check().unwrap();
    let listed = log.journals().unwrap();
    let mut numbers = Vec::new();
    let read = log.read_each(listed[0].journal, 1, |event| numbers.push(event.number));
    read.unwrap();
    assert_eq!((&*listed[0].name, &numbers[..]), ("a", &[1][..]));
}

#[test]
fn a_database_that_nobody_has_open_is_inspected_without_permission_to_write() {
    if let Some(path) = env::var_os(DATABASE) {
        return assert_readable(Path::new(&path));
    }
    let place = Place::new("sqlite permissions? 100 %");
    let path = place.path().join("journal #1.sqlite");
    let log = SqliteLog::open(&path).unwrap();
    let journal = log.start("a", true).unwrap().unwrap().journal;
    let mut group = Group::new();
    let event = Event {
        number: 1,
        ..Event::default()
    };
    group.add(journal, event).unwrap();
    assert!(log.append(&group).unwrap().is_empty());
    drop(log);
    let set = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    set(&path, 0o444);
    set(place.path(), 0o555);
    if fs::metadata(&path).unwrap().uid() == 0 {
        // Permissions do not restrict this user.
        let mut test = Command::new(env::current_exe().unwrap());
        let test = test
            .arg("--nocapture")
            .env(DATABASE, &path)
            .uid(NOBODY)
            .gid(NOBODY);
        match test.status() {
            Ok(status) => assert!(status.success()),
            // Only this user may enter the folder of the tests.
            Err(error) => assert_eq!(error.kind(), ErrorKind::PermissionDenied),
        }
    } else {
        assert_readable(&path);
    }
    set(place.path(), 0o755);
    assert_eq!(
        fs::read_dir(place.path()).unwrap().count(),
        2,
        "the database and its lock"
    );
}
