//! A log in a folder with a relative path. The only test of its program, because it changes the
//! current folder of the process.
#![forbid(unsafe_code)]

use std::env;
use std::sync::Arc;

use garrick_actor::files::Folder;
use garrick_journal::{Event, Group, JournalError, Options, SegmentLog};
use garrick_testkit::Place;

/// Appends an event to the only journal of a log.
fn append(log: &mut SegmentLog) -> Result<(), JournalError> {
    let journal = log.journal("a")?;
    let mut group = Group::new();
    let event = Event {
        number: log.newest(journal) + 1,
        ..Event::default()
    };
    group.add(journal, event)?;
    log.append(&group)
}

#[test]
fn a_log_stays_where_it_is_when_the_current_folder_changes() {
    let place = Place::new("relative");
    let options = Options::new().segment_bytes(1);
    env::set_current_dir(place.path()).unwrap();
    let files = Arc::new(Folder::create("log").unwrap());
    let (mut log, _) = options.open(files).unwrap();
    append(&mut log).unwrap();
    // Another log, which must not be changed.
    let elsewhere = place.path().join("elsewhere");
    Folder::create(elsewhere.join("log")).unwrap();
    env::set_current_dir(&elsewhere).unwrap();
    append(&mut log).unwrap();
    drop(log);
    env::set_current_dir("/").unwrap();
    let list = |path| Folder::open(path).unwrap();
    let files = Arc::new(list(place.path().join("log")));
    let (log, _) = options.inspect(files).unwrap();
    let journal = log.find("a").unwrap();
    assert_eq!((log.newest(journal), log.segments()), (2, 2));
    let other = Arc::new(list(elsewhere.join("log")));
    assert_eq!(options.inspect(other).unwrap().0.segments(), 0);
}
