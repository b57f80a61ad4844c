//! Old segments are removed, even if some of their events are needed for ever. Nothing is removed
//! by a reader, and nothing is copied without a gain.
#![forbid(unsafe_code)]

#[path = "common/events.rs"]
mod events;

use std::io;
use std::sync::{Arc, Mutex};

use events::append_to_a;
use garrick_actor::Reply;
use garrick_actor::files::{File, Files, Lock};
use garrick_journal::{
    BoxError, Decide, Durable, Event, EventKind, Group, Journal, JournalError, JournalId, Keeper,
    Log, Options, SegmentLog, Stored,
};
use garrick_sim::Disk;
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

/// Appends an event with this payload to a journal. Returns its number.
fn append_one(
    log: &dyn Log,
    name: &str,
    payload: &[u8],
    is_whole: bool,
) -> Result<u64, JournalError> {
    let (journal, number) = next_of(log, name);
    let event = Event {
        number,
        kind: KIND,
        is_whole,
        payload,
    };
    let mut group = Group::new();
    group.add(journal, event).unwrap();
    assert!(log.append(&group)?.is_empty());
    Ok(number)
}

/// Returns the sizes of the payloads of all events of a journal that can be read.
fn payloads_of(log: &dyn Log, name: &str) -> Vec<usize> {
    let (journal, next) = next_of(log, name);
    let (mut sizes, mut from, mut events) = (Vec::new(), 1, Group::new());
    while from < next {
        events.clear();
        log.read(journal, from, &mut events).unwrap();
        for (_, event) in events.events() {
            sizes.push(event.payload.len());
            from = event.number + 1;
        }
    }
    sizes
}

fn contents(disk: &Disk) -> Vec<(String, Vec<u8>)> {
    let names = disk.list().unwrap();
    let read = |name: String| (name.clone(), disk.read(&name).unwrap());
    names.into_iter().map(read).collect()
}

#[test]
fn a_log_that_was_opened_for_reading_is_not_compacted() {
    let mut kit = Kit::new();
    let disk = kit.disk();
    let files: Arc<dyn Files> = Arc::new(disk.clone());
    let log = open(&files);
    append_one(&log, "idle", b"once", true).unwrap();
    // The log is not tended, so that others find something to do.
    for _ in 0..40 {
        append_one(&log, "busy", &[7; 30_000], true).unwrap();
    }
    assert!(log.sample(true).unwrap().files >= 8);
    let before = contents(&disk);
    let inspect = || Mutex::new(Options::new().inspect(Arc::clone(&files)).unwrap().0);
    let reader = inspect();
    reader.tend();
    assert_eq!(reader.sample(true).unwrap().notices, 0);
    let journal = Journal::new(kit.handle(), inspect()).unwrap();
    kit.run();
    assert_eq!(contents(&disk), before);
    drop((reader, journal));
    kit.run();
    for _ in 0..10 {
        append_one(&log, "busy", &[8; 30_000], true).unwrap();
    }
    drop(log);
    let log = open(&files);
    assert_eq!(payloads_of(&log, "idle"), [4]);
    assert_eq!(next_of(&log, "busy").1, 51);
    assert_eq!(payloads_of(&log, "busy"), [30_000]);
}

#[test]
fn a_broken_log_is_not_compacted() {
    let mut kit = Kit::new();
    let disk = kit.disk();
    let files: Arc<dyn Files> = Arc::new(disk.clone());
    let log = open(&files);
    for _ in 0..40 {
        append_one(&log, "busy", &[7; 30_000], true).unwrap();
    }
    // Neither the group nor the next segment can be written.
    kit.disks().all().fails(1_000).sync_fails(1_000);
    let broken = append_one(&log, "busy", b"lost", true);
    assert!(matches!(broken, Err(JournalError::Broken)), "{broken:?}");
    kit.disks().all().fails(0).sync_fails(0);
    let before = contents(&disk);
    log.tend();
    assert_eq!(contents(&disk), before);
}

#[test]
fn large_events_that_stay_are_not_copied() {
    let mut kit = Kit::new();
    let files: Arc<dyn Files> = Arc::new(kit.disk());
    let log = open(&files);
    // Each segment has four or five events, which all are needed.
    for _ in 0..300 {
        append_one(&log, "ledger", &[7; 20_000], false).unwrap();
        log.tend();
    }
    let sample = log.sample(true).unwrap();
    assert_eq!((sample.copied, sample.compactions), (0, 0));
    assert!(sample.written < 7_000_000, "{sample:?}");
    // When most events are not needed any more, little is copied.
    let (journal, _) = next_of(&log, "ledger");
    for number in [260, 270] {
        log.save(journal, number, KIND, b"sum").unwrap();
    }
    for _ in 0..30 {
        append_one(&log, "ledger", &[8; 20_000], false).unwrap();
        log.tend();
    }
    let sample = log.sample(true).unwrap();
    assert!(
        sample.compactions > 0 && sample.bytes < 1_500_000,
        "{sample:?}"
    );
    assert!(sample.copied < 100_000, "{sample:?}");
    drop(log);
    assert_eq!(payloads_of(&open(&files), "ledger"), vec![20_000; 70]);
}

#[test]
fn small_segments_after_a_large_one_do_not_become_ever_more() {
    let mut kit = Kit::new();
    let files: Arc<dyn Files> = Arc::new(kit.disk());
    for _ in 0..6 {
        append_one(&open(&files), "ledger", &[7; 90_000], false).unwrap();
    }
    let mut most = 0;
    for _ in 0..300 {
        let log = open(&files);
        log.tend();
        append_one(&log, "ledger", b"small", false).unwrap();
        most = most.max(log.sample(true).unwrap().files);
    }
    assert!(most < 110, "{most} files");
    let sizes = payloads_of(&open(&files), "ledger");
    assert_eq!(sizes, [vec![90_000; 6], vec![5; 300]].concat());
}

#[test]
fn segments_before_one_that_cannot_be_copied_are_removed() {
    let mut kit = Kit::new();
    let disk = kit.disk();
    let files: Arc<dyn Files> = Arc::new(disk.clone());
    let log = open(&files);
    let has = |number: u32| disk.list().unwrap().contains(&format!("{number:010}.log"));
    for _ in 0..12 {
        append_one(&log, "busy", &[7; 30_000], true).unwrap();
    }
    let rotten = (1..).take_while(|number| has(*number)).last().unwrap();
    append_one(&log, "idle", b"once", true).unwrap();
    for _ in 0..20 {
        append_one(&log, "busy", &[7; 30_000], true).unwrap();
    }
    // A byte of the events that are not needed.
    let mut file = disk.open(&format!("{rotten:010}.log")).unwrap();
    file.write_at(1_000, &[9]).unwrap();
    assert!(rotten > 3 && has(1));
    log.tend();
    assert!(!has(1) && !has(rotten - 1) && has(rotten));
    let notices = log.take_notices();
    let [JournalError::Damaged { .. }] = &notices[..] else {
        panic!("{notices:?}");
    };
    // The log does not try again before it has another segment.
    log.tend();
    assert_eq!(log.take_notices().len(), 0);
    for _ in 0..4 {
        append_one(&log, "busy", &[7; 30_000], true).unwrap();
    }
    log.tend();
    assert_eq!(log.take_notices().len(), 1);
    assert_eq!(payloads_of(&log, "idle"), [4]);
}

#[test]
fn a_full_disk_gets_the_space_of_events_that_are_not_needed() {
    let mut kit = Kit::new();
    let files: Arc<dyn Files> = Arc::new(kit.disk());
    let log = open(&files);
    append_one(&log, "busy", &[7; 30_000], true).unwrap();
    kit.disks().all().full(320_000);
    let mut refused = 0;
    for _ in 0..100 {
        match append_one(&log, "busy", &[7; 30_000], true) {
            Ok(_) => {}
            Err(JournalError::Full { .. }) => {
                refused += 1;
                // There are fewer segments than the log usually keeps.
                assert!(log.sample(true).unwrap().files < 8);
                log.tend();
                append_one(&log, "busy", &[7; 30_000], true).unwrap();
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(refused > 1, "{refused}");
    assert_eq!(payloads_of(&log, "busy"), [30_000]);
}

/// A state of some bytes.
#[derive(Clone, Default)]
struct Bytes(Vec<u8>);

impl Stored for Bytes {
    fn encode(&self, bytes: &mut Vec<u8>) -> EventKind {
        bytes.extend(&self.0);
        KIND
    }

    fn decode(_: EventKind, bytes: &[u8]) -> Result<Self, BoxError> {
        Ok(Self(bytes.to_vec()))
    }
}

/// A keeper of 30,000 bytes. A message sets each of them.
struct Blob;

impl Keeper for Blob {
    type Msg = (u8, Reply<()>);
    type State = Bytes;
    type Outcome = ();

    fn receive(
        &self,
        state: &mut Durable<'_, Bytes>,
        (byte, reply): Self::Msg,
        _: &mut Decide<'_, '_, Self>,
    ) {
        state.set(Bytes(vec![byte; 30_000]));
        reply.send(());
    }
}

#[test]
fn a_turn_that_fails_because_the_disk_is_full_makes_room_for_the_next_one() {
    let mut kit = Kit::new();
    let files: Arc<dyn Files> = Arc::new(kit.disk());
    let journal = Journal::new(kit.handle(), open(&files)).unwrap();
    kit.disks().all().full(320_000);
    for round in 0..5 {
        let blob = kit.spawn(journal.entity("blob", Blob).unwrap()).unwrap();
        let mut answered = 0;
        while kit.answer(blob.ask(|reply| (round, reply))).is_ok() {
            answered += 1;
            assert!(answered < 1_000, "the disk becomes full");
        }
        assert!(answered > 1, "in round {round}");
    }
}

/// Files that another process compacts when the first segment is opened.
#[derive(Debug)]
struct Compacted {
    disk: Disk,
    /// The log of the other process.
    log: Mutex<Option<SegmentLog>>,
}

impl Files for Compacted {
    fn create(&self, name: &str) -> io::Result<Box<dyn File>> {
        self.disk.create(name)
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn File>> {
        if let Some(mut log) = self.log.lock().unwrap().take() {
            assert!(log.compact(u64::MAX).unwrap().segments > 0);
        }
        self.disk.open(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.disk.remove(name)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.disk.list()
    }

    fn sync_names(&self) -> io::Result<()> {
        self.disk.sync_names()
    }

    fn lock(&self) -> io::Result<Box<dyn Lock>> {
        self.disk.lock()
    }
}

#[test]
fn a_log_is_read_while_another_process_compacts_it() {
    let mut kit = Kit::new();
    let disk = kit.disk();
    let options = Options::new().segment_bytes(1);
    let (mut log, _) = options.open(Arc::new(disk.clone())).unwrap();
    append_to_a(&mut log, 1..=6);
    let log = Mutex::new(Some(log));
    let files = Arc::new(Compacted { disk, log });
    let (mut read, _) = Options::new().inspect(files).unwrap();
    let (journal, mut numbers) = (read.find("a").unwrap(), Vec::new());
    read.read(journal, 1, |event| numbers.push(event.number))
        .unwrap();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);
}

#[test]
fn a_state_that_another_process_removes_is_not_damaged() {
    let mut kit = Kit::new();
    let disk = kit.disk();
    let (mut log, _) = Options::new().open(Arc::new(disk.clone())).unwrap();
    let journal = append_to_a(&mut log, 1..=3);
    log.save(journal, 1, KIND, b"").unwrap();
    log.save(journal, 2, KIND, b"").unwrap();
    let (read, _) = Options::new().inspect(Arc::new(disk.clone())).unwrap();
    let check = |log: &SegmentLog| {
        let mut errors = Vec::new();
        let saved = log.check_saved(journal, |error| errors.push(error.to_string()));
        (saved, errors.len())
    };
    assert_eq!(check(&read), (2, 0));
    log.save(journal, 3, KIND, b"").unwrap();
    assert_eq!(check(&read), (1, 0));
    assert_eq!(check(&log), (2, 0));
    // The process that has the log open must find its own files.
    disk.remove("0000000000000001-00000000000000000003.snapshot")
        .unwrap();
    assert_eq!(check(&log), (1, 1));
}
