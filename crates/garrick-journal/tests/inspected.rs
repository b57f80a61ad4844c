//! Logs that are opened for reading: without permission to write, and while another process removes
//! segments.
#![forbid(unsafe_code)]

#[path = "common/events.rs"]
mod events;

use std::io::{self, ErrorKind};
use std::sync::Arc;

use events::append_to_a;
use garrick_actor::files::{File, Files, Lock};
use garrick_journal::{EventKind, JournalId, Options, SegmentLog};
use garrick_sim::Disk;
use garrick_sim::testing::Kit;

/// Number of segments in a log. At most 64 of them are open.
const SEGMENTS: u64 = 100;

/// Files that can only be read.
#[derive(Debug)]
struct ReadOnly(Disk);

fn refused<T>() -> io::Result<T> {
    Err(io::Error::from(ErrorKind::PermissionDenied))
}

impl Files for ReadOnly {
    fn create(&self, _: &str) -> io::Result<Box<dyn File>> {
        refused()
    }

    fn open(&self, _: &str) -> io::Result<Box<dyn File>> {
        refused()
    }

    fn open_to_read(&self, name: &str) -> io::Result<Box<dyn File>> {
        self.0.open_to_read(name)
    }

    fn rename(&self, _: &str, _: &str) -> io::Result<()> {
        refused()
    }

    fn remove(&self, _: &str) -> io::Result<()> {
        refused()
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.0.list()
    }

    fn sync_names(&self) -> io::Result<()> {
        refused()
    }

    fn lock(&self) -> io::Result<Box<dyn Lock>> {
        refused()
    }
}

/// Opens a log whose segments have one group each, and appends this number of events to a journal,
/// one in each group.
fn filled(disk: &Disk, events: u64) -> (SegmentLog, JournalId) {
    let options = Options::new().segment_bytes(1);
    let (mut log, _) = options.open(Arc::new(disk.clone())).unwrap();
    let journal = append_to_a(&mut log, 1..=events);
    (log, journal)
}

fn numbers(log: &mut SegmentLog, journal: JournalId) -> Vec<u64> {
    let mut numbers = Vec::new();
    let read = log.read(journal, 1, |event| numbers.push(event.number));
    read.unwrap();
    numbers
}

#[test]
fn a_log_is_inspected_without_permission_to_write() {
    let mut kit = Kit::new();
    let disk = kit.disk();
    let (mut log, journal) = filled(&disk, SEGMENTS);
    log.save(journal, 1, EventKind::default(), b"state")
        .unwrap();
    let files = || Arc::new(ReadOnly(disk.clone()));
    for options in [Options::new(), Options::new().progress(|_| ())] {
        let (mut log, opened) = options.inspect(files()).unwrap();
        assert_eq!((log.segments() as u64, opened.events), (SEGMENTS, SEGMENTS));
        assert_eq!(log.check_saved(journal, |error| panic!("{error}")), 1);
        assert!(log.snapshot(journal).unwrap().is_some());
        let expected: Vec<_> = (1..=SEGMENTS).collect();
        assert_eq!(numbers(&mut log, journal), expected);
    }
}

#[test]
fn many_segments_are_read_although_another_process_removes_them() {
    let mut kit = Kit::new();
    let disk = kit.disk();
    let (mut log, journal) = filled(&disk, SEGMENTS);
    let (mut read, _) = Options::new().inspect(Arc::new(disk.clone())).unwrap();
    assert!(log.compact(u64::MAX).unwrap().segments as u64 >= SEGMENTS - 1);
    let expected: Vec<_> = (1..=SEGMENTS).collect();
    assert_eq!(numbers(&mut read, journal), expected);
}

#[test]
fn the_events_that_are_left_are_read_although_another_process_has_removed_others() {
    let mut kit = Kit::new();
    let disk = kit.disk();
    let (mut log, journal) = filled(&disk, SEGMENTS);
    let (mut read, _) = Options::new().inspect(Arc::new(disk.clone())).unwrap();
    let mut numbers = Vec::new();
    let result = read.read(journal, 1, |event| {
        // The first event of a segment that is closed again when the next one is read.
        if event.number == 2 {
            for number in [50, 60] {
                let kind = EventKind::default();
                log.save(journal, number, kind, b"state").unwrap();
            }
            log.compact(u64::MAX).unwrap();
        }
        numbers.push(event.number);
    });
    result.unwrap();
    let expected: Vec<_> = [1, 2].into_iter().chain(51..=SEGMENTS).collect();
    assert_eq!(numbers, expected);
}

#[test]
fn a_missing_segment_is_an_error_for_the_process_that_has_the_log_open() {
    let mut kit = Kit::new();
    let disk = kit.disk();
    let (mut log, journal) = filled(&disk, SEGMENTS);
    disk.remove("0000000001.log").unwrap();
    let error = log.read(journal, 1, |_| panic!("an event")).unwrap_err();
    assert!(error.to_string().contains("0000000001.log"), "{error}");
}
