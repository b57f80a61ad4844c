//! A process that appends to a log on a real disk is killed at random moments. When the log is
//! opened again, it contains all acknowledged events, without gaps.

#![cfg(unix)]

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use garrick_actor::files::Folder;
use garrick_core::random::mix;
use garrick_journal::{Event, EventKind, Group, Options, SegmentLog};
use garrick_testkit::Place;

/// Environment variable that is set in the process that writes.
const FOLDER: &str = "GARRICK_JOURNAL_FOLDER";
/// Number of journals.
const JOURNALS: u64 = 3;
/// Number of times that the writer is killed. The environment variable `GARRICK_JOURNAL_KILLS` sets
/// another number.
const KILLS: u64 = 20;
/// Size of segments, so small that new ones are created all the time.
const SEGMENT_BYTES: u64 = 20_000;

fn open(folder: &Path) -> SegmentLog {
    let folder = Arc::new(Folder::open(folder).unwrap());
    let options = Options::new().segment_bytes(SEGMENT_BYTES);
    options.open(folder).unwrap().0
}

fn name_of(journal: u64) -> String {
    format!("journal/{journal}")
}

/// Returns a payload for an event that the reader of the event can check.
fn payload(journal: u64, number: u64) -> Vec<u8> {
    let length = mix(journal ^ number << 8) % 200;
    vec![(journal + number) as u8; length as usize]
}

/// Appends groups for ever, and prints the newest numbers after each group.
fn write(folder: &Path) {
    let mut log = open(folder);
    let mut group = Group::new();
    for round in 0_u64.. {
        group.clear();
        for at in 0..1 + round % 4 {
            let journal = (round + at) % JOURNALS;
            let id = log.journal(&name_of(journal)).unwrap();
            let before = group.events().filter(|(other, _)| *other == id).count() as u64;
            let number = log.newest(id) + before + 1;
            let payload = payload(journal, number);
            let event = Event {
                number,
                kind: EventKind::default(),
                is_whole: false,
                payload: &payload,
            };
            group.add(id, event).unwrap();
        }
        log.append(&group).unwrap();
        if round % 16 == 15 {
            let id = log.journal(&name_of(0)).unwrap();
            let newest = log.newest(id);
            log.save(id, newest, EventKind::default(), &newest.to_le_bytes())
                .unwrap();
            log.compact(8).unwrap();
        }
        let newest = |journal| log.find(&name_of(journal)).map_or(0, |id| log.newest(id));
        let line: Vec<_> = (0..JOURNALS)
            .map(|journal| newest(journal).to_string())
            .collect();
        println!("acknowledged {}", line.join(" "));
        std::io::stdout().flush().unwrap();
    }
}

/// Checks that a log has the acknowledged events, without gaps.
fn check(folder: &Path, acknowledged: &[u64]) {
    let mut log = open(folder);
    for (journal, &acknowledged) in (0..JOURNALS).zip(acknowledged) {
        let Some(id) = log.find(&name_of(journal)) else {
            assert_eq!(acknowledged, 0);
            continue;
        };
        let mut next = 1;
        if let Some(snapshot) = log.snapshot(id).unwrap() {
            assert_eq!(snapshot.payload, snapshot.number.to_le_bytes());
            next = snapshot.number + 1;
        }
        log.read(id, next, |event| {
            assert_eq!(event.number, next);
            assert_eq!(event.payload, payload(journal, next));
            next += 1;
        })
        .unwrap();
        assert!(next > acknowledged, "{next} after {acknowledged}");
        assert_eq!(log.newest(id), next - 1);
    }
    assert!(log.take_notices().is_empty());
}

/// Starts a writer, and kills it after some groups. Returns the numbers that it has acknowledged.
fn kill_after(folder: &Path, groups: u64) -> Vec<u64> {
    let mut writer = Command::new(env::current_exe().unwrap())
        .args([
            "acknowledged_events_survive_a_kill",
            "--exact",
            "--nocapture",
        ])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(writer.stdout.take().unwrap()).lines();
    let mut acknowledged = vec![0; JOURNALS as usize];
    let mut left = groups;
    for line in lines.map(Result::unwrap) {
        // What was printed before the kill counts, too.
        let Some((_, numbers)) = line.split_once("acknowledged ") else {
            continue;
        };
        let numbers: Vec<u64> = numbers.split(' ').flat_map(str::parse).collect();
        if numbers.len() == acknowledged.len() {
            acknowledged = numbers;
        }
        left = left.saturating_sub(1);
        if left == 0 {
            let _ = writer.kill();
        }
    }
    assert!(!writer.wait().unwrap().success());
    acknowledged
}

#[test]
fn acknowledged_events_survive_a_kill() {
    if let Some(folder) = env::var_os(FOLDER) {
        return write(Path::new(&folder));
    }
    let kills = env::var("GARRICK_JOURNAL_KILLS").ok();
    let kills = kills.map_or(KILLS, |kills| kills.parse().expect("it is a number"));
    let place = Place::new("journal-killed");
    for kill in 0..kills {
        let acknowledged = kill_after(place.path(), 1 + mix(kill) % 20);
        check(place.path(), &acknowledged);
    }
}
