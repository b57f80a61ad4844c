//! Tests of `garrick journal` from outside.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::{self, Command, Output};
use std::sync::Arc;
use std::{env, fs};

use garrick_actor::files::Folder;
use garrick_journal::{Event, EventKind, Group, Options};
#[cfg(feature = "sqlite")]
use garrick_journal::{Log as _, SqliteLog};

/// A folder that is removed when it is dropped.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let name = format!("garrick-cli-journal-{name}-{}", process::id());
        let path = env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs `garrick journal` with a command and the folder.
fn garrick(command: &str, folder: &Path, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_garrick"))
        .args(["journal", command])
        .arg(folder)
        .args(more)
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8(text).unwrap()
}

/// Writes a log with three journals, in two groups.
fn fill(folder: &Path) {
    let files = Arc::new(Folder::open(folder).unwrap());
    let (mut log, _) = Options::new().open(files).unwrap();
    let mut group = Group::new();
    for (name, payload) in [("account/1", &b"paid in"[..]), ("account/2", &[0, 255][..])] {
        let journal = log.journal(name).unwrap();
        for number in 1..=3 {
            let event = Event {
                number,
                kind: EventKind { tag: 1, version: 2 },
                is_whole: false,
                payload,
            };
            group.add(journal, event).unwrap();
        }
    }
    log.append(&group).unwrap();
    group.clear();
    let journal = log.journal("account/3").unwrap();
    let event = Event {
        number: 1,
        kind: EventKind::default(),
        is_whole: false,
        payload: &[b'x'; 100],
    };
    group.add(journal, event).unwrap();
    log.append(&group).unwrap();
}

#[test]
fn a_log_is_listed_shown_verified_and_compacted() {
    let place = Place::new("whole");
    fill(&place.0);
    let listed = said(&garrick("ls", &place.0, &[]));
    assert!(
        listed.contains("account/1") && listed.contains("3 journals"),
        "{listed}"
    );
    let shown = said(&garrick("show", &place.0, &["account/1", "--from", "2"]));
    assert_eq!(
        shown,
        "2  1.2  7 bytes  \"paid in\"\n3  1.2  7 bytes  \"paid in\"\n"
    );
    let all = said(&garrick("show", &place.0, &["account/1"]));
    assert!(all.starts_with("1  1.2  7 bytes"), "{all}");
    assert_eq!(
        said(&garrick("show", &place.0, &["account/1", "--from", "0"])),
        all
    );
    let shown = said(&garrick("show", &place.0, &["account/2"]));
    assert!(shown.contains("2 bytes  00ff"), "{shown}");
    let verified = garrick("verify", &place.0, &[]);
    assert!(verified.status.success());
    assert!(said(&verified).contains("3 journals with 7 events"));
    assert!(garrick("compact", &place.0, &[]).status.success());
    assert!(garrick("verify", &place.0, &[]).status.success());
}

#[test]
fn what_is_wrong_is_named() {
    let place = Place::new("wrong");
    let none = garrick("ls", &place.0, &[]);
    assert_eq!(none.status.code(), Some(2));
    assert!(said(&none).contains("there is no log in"));
    let missing = garrick("verify", &place.0.join("missing"), &[]);
    assert!(!missing.status.success());
    fill(&place.0);
    let unknown = garrick("show", &place.0, &["account/4"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(said(&unknown).contains("there is no journal \"account/4\""));
    // A byte in the middle of the first event.
    let mut segments: Vec<_> = fs::read_dir(&place.0)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "log"))
        .collect();
    segments.sort();
    let mut bytes = fs::read(&segments[0]).unwrap();
    bytes[80] ^= 1;
    fs::write(&segments[0], bytes).unwrap();
    let damaged = garrick("verify", &place.0, &[]);
    assert!(!damaged.status.success());
    assert!(
        said(&damaged).contains("is damaged at byte"),
        "{}",
        said(&damaged)
    );
}

#[cfg(not(feature = "sqlite"))]
#[test]
fn a_database_is_refused_with_a_query() {
    let place = Place::new("file");
    let path = place.0.join("journal.sqlite");
    fs::write(&path, "").unwrap();
    let refused = garrick("ls", &path, &[]);
    assert_eq!(refused.status.code(), Some(2));
    let text = said(&refused);
    assert!(text.contains("feature `sqlite`"), "{text}");
    assert!(text.contains("SELECT name, number, tag, payload"), "{text}");
}

#[cfg(feature = "sqlite")]
#[test]
fn a_log_in_a_database_is_listed_shown_and_verified() {
    let place = Place::new("database");
    let path = place.0.join("journal.sqlite");
    // The log stays open meanwhile.
    let log = SqliteLog::open(&path).unwrap();
    let journal = log.start("account/1", true).unwrap().unwrap().journal;
    let mut group = Group::new();
    for number in 1..=5 {
        let event = Event {
            number,
            kind: EventKind { tag: 1, version: 2 },
            is_whole: false,
            payload: b"paid in",
        };
        group.add(journal, event).unwrap();
    }
    log.append(&group).unwrap();
    for number in [3, 5] {
        log.save(journal, number, EventKind::default(), b"state")
            .unwrap();
    }
    let listed = said(&garrick("ls", &path, &[]));
    assert!(
        listed.contains("account/1") && listed.contains("1 journals"),
        "{listed}"
    );
    let shown = said(&garrick("show", &path, &["account/1"]));
    assert_eq!(
        shown,
        "The events before 4 are covered by a saved state.\n\
         4  1.2  7 bytes  \"paid in\"\n5  1.2  7 bytes  \"paid in\"\n"
    );
    let unknown = garrick("show", &path, &["account/4"]);
    assert_eq!(unknown.status.code(), Some(2));
    let verified = garrick("verify", &path, &[]);
    assert!(verified.status.success());
    let text = said(&verified);
    assert!(
        text.contains("1 journals with 2 events and 2 saved states"),
        "{text}"
    );
    let compacted = garrick("compact", &path, &[]);
    assert_eq!(compacted.status.code(), Some(2));
    assert!(said(&compacted).contains("VACUUM"));
    fs::write(place.0.join("text"), "This is a text. ".repeat(100)).unwrap();
    let other = garrick("verify", &place.0.join("text"), &[]);
    assert!(!other.status.success());
    assert!(said(&other).contains("it is no SQLite database"));
}

#[test]
fn a_missing_subcommand_lists_those_that_exist() {
    let output = Command::new(env!("CARGO_BIN_EXE_garrick"))
        .arg("journal")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let text = said(&output);
    assert!(text.starts_with("error: a subcommand is missing"), "{text}");
    for name in ["ls", "show", "verify", "compact"] {
        assert!(text.contains(&format!("\n  {name} ")), "{text}");
    }
}

#[test]
fn a_missing_folder_is_named() {
    let output = garrick("ls", Path::new("/no/such/folder"), &[]);
    assert_eq!(output.status.code(), Some(1));
    let text = said(&output);
    assert!(text.contains("cannot open /no/such/folder: "), "{text}");
}

#[test]
fn a_long_text_is_cut_between_two_characters() {
    let place = Place::new("texts");
    let files = Arc::new(Folder::open(&place.0).unwrap());
    let (mut log, _) = Options::new().open(files).unwrap();
    let mut group = Group::new();
    let journal = log.journal("notes").unwrap();
    let text = format!("a{}", "é".repeat(20));
    let event = Event {
        number: 1,
        kind: EventKind { tag: 1, version: 1 },
        is_whole: false,
        payload: text.as_bytes(),
    };
    group.add(journal, event).unwrap();
    log.append(&group).unwrap();
    drop(log);
    let shown = said(&garrick("show", &place.0, &["notes"]));
    let expected = format!("\"a{}\"..", "é".repeat(15));
    assert!(shown.contains(&expected), "{shown}");
}

#[test]
fn the_exit_code_is_right_even_if_nobody_reads_the_error() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let ended = Command::new(env!("CARGO_BIN_EXE_garrick"))
        .args(["journal", "ls", "/no/such/folder"])
        .stderr(writer)
        .status()
        .unwrap();
    assert_eq!(ended.code(), Some(1));
}
