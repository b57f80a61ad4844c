//! Old segments are removed, even if some of their events are needed for ever.
#![forbid(unsafe_code)]

use std::sync::{Arc, Mutex};

use garrick_actor::files::Files;
use garrick_journal::{Event, EventKind, Group, JournalId, Log, Options, SegmentLog};
use garrick_sim::testing::Kit;

const KIND: EventKind = EventKind { tag: 1, version: 1 };

/// Number of journals with one event each, which is never replaced.
const IDLE: usize = 3_000;

fn open(files: &Arc<dyn Files>) -> Mutex<SegmentLog> {
    let options = Options::new().segment_bytes(100_000);
    Mutex::new(options.open(Arc::clone(files)).unwrap().0)
}

/// Returns a journal, and the number of its next event.
fn next_of(log: &dyn Log, name: &str) -> (JournalId, u64) {
    let start = log.start(name, true).unwrap().unwrap();
    (start.journal, start.newest + 1)
}

/// Appends an event to each of these journals. The event replaces all earlier events of its
/// journal.
fn append<'n>(log: &dyn Log, names: impl Iterator<Item = &'n str>, payload: &[u8]) {
    let mut group = Group::new();
    for name in names {
        let (journal, number) = next_of(log, name);
        let event = Event {
            number,
            kind: KIND,
            is_whole: true,
            payload,
        };
        group.add(journal, event).unwrap();
    }
    assert!(log.append(&group).unwrap().is_empty());
    log.tend();
}

#[test]
fn many_events_that_stay_do_not_stop_compaction() {
    let mut kit = Kit::new();
    let files: Arc<dyn Files> = Arc::new(kit.disk());
    let log = open(&files);
    let names: Vec<String> = (0..IDLE).map(|number| format!("idle/{number}")).collect();
    append(&log, names.iter().map(String::as_str), b"once");
    let (mut most, mut written) = (0, 0);
    for _ in 0..1_000 {
        append(&log, ["busy"].into_iter(), &[7; 5_000]);
        let sample = log.sample(true).unwrap();
        most = most.max(sample.files);
        written = sample.written;
        assert_eq!((sample.notices, sample.is_broken), (0, false));
    }
    // Of about 5 MB, as many bytes are copied at most, and 12 files remain, apart from those that
    // the compactions have added.
    assert!(most <= 16, "{most} files");
    assert!(written < 10_000_000, "{written} bytes");
    drop(log);
    let log = open(&files);
    assert_eq!(next_of(&log, "busy").1, 1_001);
    for name in &names {
        let (journal, number) = next_of(&log, name);
        let mut events = Group::new();
        log.read(journal, 1, &mut events).unwrap();
        let payloads: Vec<_> = events.events().map(|(_, event)| event.payload).collect();
        assert_eq!((number, payloads), (2, vec![&b"once"[..]]));
    }
}
