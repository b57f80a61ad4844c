//! Files of a log are changed or cut at each byte. The log then opens without its last group, or an
//! error names the place.

use std::sync::Arc;

use garrick_actor::files::Files;
use garrick_journal::{Event, EventKind, Group, JournalError, Opened, Options, SegmentLog};
use garrick_sim::Disk;
use garrick_sim::testing::Kit;

const KIND: EventKind = EventKind { tag: 1, version: 2 };

/// Appends groups of two events to the journal `a`, whose last event has the number `last`.
fn append(log: &mut SegmentLog, last: u64) {
    let journal = log.journal("a").unwrap();
    while log.newest(journal) < last {
        let mut group = Group::new();
        for number in log.newest(journal) + 1..=log.newest(journal) + 2 {
            let payload = vec![number as u8; 40];
            let event = Event {
                number,
                kind: KIND,
                is_whole: false,
                payload: &payload,
            };
            group.add(journal, event).unwrap();
        }
        log.append(&group).unwrap();
    }
}

fn open(disk: &Disk) -> Result<SegmentLog, JournalError> {
    let files: Arc<dyn Files> = Arc::new(disk.clone());
    Options::new().open(files).map(|(log, _)| log)
}

/// Returns the numbers of the events that can be read, after checking their payloads.
fn numbers(log: &mut SegmentLog) -> Vec<u64> {
    let Some(journal) = log.find("a") else {
        return Vec::new();
    };
    let mut numbers = Vec::new();
    log.read(journal, 1, |event| {
        assert_eq!(
            (event.kind, event.payload),
            (KIND, &[event.number as u8; 40][..])
        );
        numbers.push(event.number);
    })
    .unwrap();
    numbers
}

/// Creates a log with three groups. Returns its disk, the name of its only file, and the content.
fn three_groups(kit: &mut Kit) -> (Disk, &'static str, Vec<u8>) {
    let disk = kit.disk();
    append(&mut open(&disk).unwrap(), 6);
    let name = "0000000001.log";
    let content = disk.read(name).unwrap();
    (disk, name, content)
}

/// Opens a log whose only file has this content, on the disk of a kit.
fn open_with(kit: &mut Kit, content: &[u8]) -> Result<(SegmentLog, Opened), JournalError> {
    let disk = kit.disk();
    disk.replace("0000000001.log", content).unwrap();
    Options::new().open(Arc::new(disk))
}

#[test]
fn each_changed_byte_is_noticed() {
    let (_, name, content) = three_groups(&mut Kit::new());
    let of_group = (content.len() - 74) / 3;
    let mut without_last = 0;
    for at in 0..content.len() {
        let mut changed = content.clone();
        changed[at] ^= 0x10;
        match open_with(&mut Kit::new(), &changed) {
            Ok((mut log, opened)) => {
                assert!(opened.torn.is_some());
                // Only the last group may be unfinished, so only its change is no damage.
                assert!(at >= content.len() - of_group, "{at}");
                assert_eq!(numbers(&mut log), [1, 2, 3, 4], "{at}");
                without_last += 1;
            }
            Err(JournalError::Damaged {
                file, at: place, ..
            }) => {
                assert_eq!(file, name);
                // The beginning of the record, or the checksum of the header.
                let record = if at < 48 { 0..48 } else { place..place + 80 };
                assert!(record.contains(&(at as u64)), "{place} for {at}");
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(without_last, of_group);
}

#[test]
fn a_file_that_is_cut_has_the_groups_before() {
    let (_, _, content) = three_groups(&mut Kit::new());
    let mut lengths = Vec::new();
    for length in 48..=content.len() {
        let mut kit = Kit::new();
        let (mut log, _) = open_with(&mut kit, &content[..length]).unwrap();
        let numbers = numbers(&mut log);
        assert!(numbers.iter().copied().eq(1..=numbers.len() as u64));
        lengths.push(numbers.len());
        // The log can be used.
        append(&mut log, numbers.len() as u64 + 2);
    }
    assert!(lengths.is_sorted());
    lengths.dedup();
    assert_eq!(lengths, [0, 2, 4, 6]);
    for length in 0..48 {
        let error = open_with(&mut Kit::new(), &content[..length]).unwrap_err();
        assert!(matches!(error, JournalError::Damaged { .. }), "{error}");
    }
}

#[test]
fn damage_in_an_older_segment_is_named() {
    let mut kit = Kit::new();
    let (disk, name, content) = three_groups(&mut kit);
    append(&mut open(&disk).unwrap(), 8);
    let last = content.len() - 1;
    let mut changed = content;
    changed[200] ^= 1;
    disk.replace(name, &changed).unwrap();
    let error = open(&disk).unwrap_err().to_string();
    assert!(
        error.starts_with("\"0000000001.log\" is damaged at byte "),
        "{error}"
    );
    assert!(
        error.ends_with("the checksum of a record is wrong"),
        "{error}"
    );
    // The last group of a segment has a copy in the next one, which was opened later.
    changed[200] ^= 1;
    changed[last] ^= 1;
    disk.replace(name, &changed).unwrap();
    assert_eq!(
        numbers(&mut open(&disk).unwrap()),
        (1..=8).collect::<Vec<_>>()
    );
}

#[test]
fn a_missing_segment_is_named() {
    let mut kit = Kit::new();
    let (disk, ..) = three_groups(&mut kit);
    for last in [8, 10] {
        append(&mut open(&disk).unwrap(), last);
    }
    disk.remove("0000000002.log").unwrap();
    let error = open(&disk).unwrap_err().to_string();
    let expected = "\"0000000003.log\" is damaged at byte 0: the segment 0000000002.log is missing";
    assert_eq!(error, expected);
}

#[test]
fn missing_oldest_segments_are_named() {
    let mut kit = Kit::new();
    let (disk, ..) = three_groups(&mut kit);
    for last in [8, 10] {
        append(&mut open(&disk).unwrap(), last);
    }
    let mut log = open(&disk).unwrap();
    let journal = log.journal("a").unwrap();
    log.save(journal, 2, KIND, b"two").unwrap();
    drop(log);
    let before = disk.list().unwrap();
    for removed in 1..=3 {
        disk.remove(&format!("000000000{removed}.log")).unwrap();
        let error = open(&disk).unwrap_err().to_string();
        let first = removed + 1;
        let expected = format!(
            "\"000000000{first}.log\" is damaged at byte 0: the segment 0000000001.log is missing"
        );
        assert_eq!(error, expected);
    }
    disk.remove("0000000004.log").unwrap();
    let error = open(&disk).unwrap_err().to_string();
    assert!(
        error.ends_with("the folder has saved states, but no segment of a log"),
        "{error}"
    );
    // Nothing was removed.
    let is_left = |name: &&String| name.ends_with(".snapshot");
    let (before, after) = (before.iter().filter(is_left), disk.list().unwrap());
    assert_eq!(before.count(), after.iter().filter(is_left).count());
}

#[test]
fn segments_that_a_compaction_has_left_are_removed() {
    let mut kit = Kit::new();
    let (disk, name, content) = three_groups(&mut kit);
    let mut log = open(&disk).unwrap();
    append(&mut log, 8);
    assert_eq!(log.compact(100).unwrap().segments, 1);
    drop(log);
    // The removal was not durable. What is in the file does not matter.
    for left in [&content[..], b"damaged"] {
        disk.replace(name, left).unwrap();
        let mut log = open(&disk).unwrap();
        assert_eq!(numbers(&mut log), (1..=8).collect::<Vec<_>>());
        assert!(!disk.list().unwrap().contains(&name.to_owned()));
    }
}

#[test]
fn the_process_that_copies_the_last_group_reads_the_copy() {
    let mut kit = Kit::new();
    let (disk, name, content) = three_groups(&mut kit);
    let mut log = open(&disk).unwrap();
    // The last group of the segment was in the memory of the machine only, and is lost.
    disk.open(name)
        .unwrap()
        .set_length(content.len() as u64 - 10)
        .unwrap();
    assert_eq!(numbers(&mut log), (1..=6).collect::<Vec<_>>());
    append(&mut log, 8);
    assert_eq!(log.compact(100).unwrap().segments, 1);
    drop(log);
    let mut log = open(&disk).unwrap();
    assert_eq!(numbers(&mut log), (1..=8).collect::<Vec<_>>());
}

#[test]
fn unfinished_files_are_removed() {
    let mut kit = Kit::new();
    let (disk, ..) = three_groups(&mut kit);
    let unfinished = [
        "0000000002.log.new",
        "0000000000000001-00000000000000000002.snapshot.new",
    ];
    for name in unfinished.iter().chain(&["a.new", "b"]) {
        disk.create(name).unwrap();
    }
    let mut log = open(&disk).unwrap();
    let names = disk.list().unwrap();
    assert!(
        unfinished
            .iter()
            .all(|name| !names.contains(&(*name).to_owned()))
    );
    assert!(names.contains(&"a.new".to_owned()) && names.contains(&"b".to_owned()));
    // A failure leaves nothing.
    let journal = log.journal("a").unwrap();
    kit.disks().all().full(0);
    log.save(journal, 2, KIND, b"two").unwrap_err();
    assert_eq!(disk.list().unwrap(), names);
}

#[test]
fn snapshots_of_unknown_journals_stay() {
    let mut kit = Kit::new();
    let (disk, ..) = three_groups(&mut kit);
    let unknown = "0000000000000007-00000000000000000002.snapshot";
    disk.create(unknown).unwrap();
    let mut log = open(&disk).unwrap();
    let notices: Vec<_> = log.take_notices().iter().map(ToString::to_string).collect();
    assert_eq!(
        notices,
        [format!(
            "{unknown:?} is damaged at byte 0: the log has no journal with this number, and does \
             not tell that it had one"
        )]
    );
    // The number is not given to another journal.
    assert_eq!(log.journal("b").unwrap().get(), 8);
    drop(log);
    assert!(disk.list().unwrap().contains(&unknown.to_owned()));
}

#[test]
fn events_that_only_a_snapshot_has_are_missing() {
    let mut kit = Kit::new();
    let (disk, name, content) = three_groups(&mut kit);
    let mut log = open(&disk).unwrap();
    let journal = log.journal("a").unwrap();
    log.save(journal, 6, KIND, b"six").unwrap();
    drop(log);
    disk.remove("0000000002.log").unwrap();
    // The end of the last group is missing, which looks like the trace of a crash.
    disk.replace(name, &content[..content.len() - 1]).unwrap();
    let error = open(&disk).unwrap_err().to_string();
    assert!(
        error.ends_with("the event 5 of the journal \"a\" is missing"),
        "{error}"
    );
    // Without a state that can be read, it is the trace of a crash.
    let saved = "0000000000000001-00000000000000000006.snapshot";
    disk.replace(saved, b"nonsense").unwrap();
    let mut log = open(&disk).unwrap();
    assert_eq!(numbers(&mut log), [1, 2, 3, 4]);
    assert_eq!(log.take_notices().len(), 1);
    // It does not count any more when the journal has an event with this number.
    append(&mut log, 8);
    log.save(journal, 8, KIND, b"eight").unwrap();
    assert_eq!(log.oldest(journal), 1);
    let names = disk.list().unwrap();
    assert!(names.contains(&format!("{saved}.damaged")), "{names:?}");
}

#[test]
fn a_damaged_snapshot_is_replaced_by_an_older_one() {
    let mut kit = Kit::new();
    let (disk, ..) = three_groups(&mut kit);
    let mut log = open(&disk).unwrap();
    let journal = log.journal("a").unwrap();
    for number in [2, 4, 6] {
        log.save(journal, number, KIND, &[number as u8]).unwrap();
    }
    drop(log);
    let snapshots = disk.list().unwrap();
    let of_snapshots = snapshots.iter().filter(|name| name.ends_with(".snapshot"));
    let names: Vec<_> = of_snapshots.collect();
    assert_eq!(names.len(), 2, "{names:?}");
    let mut log = open(&disk).unwrap();
    let newest = log.snapshot(journal).unwrap().unwrap();
    assert_eq!((newest.number, newest.payload), (6, vec![6]));

    disk.replace(names[1], b"nonsense").unwrap();
    let older = log.snapshot(journal).unwrap().unwrap();
    assert_eq!((older.number, older.payload), (4, vec![4]));
    let mut numbers = Vec::new();
    log.read(journal, 5, |event| numbers.push(event.number))
        .unwrap();
    assert_eq!(numbers, [5, 6]);
    assert_eq!(log.take_notices().len(), 1);
    // So it does not count as one of the two that are kept.
    append(&mut log, 10);
    log.save(journal, 8, KIND, b"8").unwrap();
    assert_eq!(log.oldest(journal), 5);

    disk.replace("0000000000000001-00000000000000000008.snapshot", b"")
        .unwrap();
    disk.replace(names[0], b"").unwrap();
    let error = log.snapshot(journal).unwrap_err();
    assert!(matches!(error, JournalError::Damaged { .. }), "{error}");
}

/// Name of the file with the state of the journal `a` after the event `number`.
fn saved(number: u64) -> String {
    format!("0000000000000001-{number:020}.snapshot")
}

/// Creates a log with the events up to 30 in several segments, and with states after these events.
/// Removes the events that the older state covers.
fn compacted(kit: &mut Kit, states: &[u64]) -> Disk {
    let disk = kit.disk();
    let mut log = open(&disk).unwrap();
    let journal = log.journal("a").unwrap();
    for last in [10, 20, 30] {
        append(&mut log, last);
        drop(log);
        log = open(&disk).unwrap();
    }
    for number in states {
        log.save(journal, *number, KIND, &[*number as u8]).unwrap();
    }
    assert!(log.compact(u64::MAX).unwrap().segments > 0);
    disk
}

/// Opens a log, and returns it with the number of the newest snapshot of the journal `a`.
fn open_saved(disk: &Disk) -> (SegmentLog, u64) {
    let mut log = open(disk).unwrap();
    let journal = log.find("a").unwrap();
    let number = log.snapshot(journal).unwrap().unwrap().number;
    (log, number)
}

/// Opens a log twice. Checks each time that the newest snapshot of the journal `a` is `number`, and
/// that all events after it up to `last` can be read.
#[track_caller]
fn opens_again(disk: &Disk, number: u64, last: u64) {
    for _ in 0..2 {
        let (mut log, newest) = open_saved(disk);
        assert_eq!(newest, number);
        assert_eq!(numbers(&mut log), (number + 1..=last).collect::<Vec<_>>());
    }
}

#[test]
fn a_log_opens_after_one_of_its_snapshots_was_set_apart() {
    let mut kit = Kit::new();
    let disk = compacted(&mut kit, &[10, 20]);
    disk.replace(&saved(20), b"nonsense").unwrap();
    // The process ends before it saves another state.
    for _ in 0..3 {
        let (mut log, number) = open_saved(&disk);
        assert_eq!(number, 10);
        assert_eq!(numbers(&mut log), (11..=30).collect::<Vec<_>>());
    }
    // The next states are kept as always.
    let (mut log, _) = open_saved(&disk);
    let journal = log.find("a").unwrap();
    log.save(journal, 24, KIND, b"24").unwrap();
    assert_eq!(log.oldest(journal), 11);
    log.save(journal, 28, KIND, b"28").unwrap();
    assert_eq!(log.oldest(journal), 25);
    drop(log);
    assert_eq!(numbers(&mut open_saved(&disk).0), [25, 26, 27, 28, 29, 30]);
}

#[test]
fn a_log_opens_without_its_older_snapshot() {
    let mut kit = Kit::new();
    let disk = compacted(&mut kit, &[10, 20]);
    disk.remove(&saved(10)).unwrap();
    let (mut log, number) = open_saved(&disk);
    assert_eq!(number, 20);
    assert_eq!(numbers(&mut log), (21..=30).collect::<Vec<_>>());
    drop(log);
    // If no state can be read, only this journal has an error.
    disk.replace(&saved(20), b"nonsense").unwrap();
    let mut log = open(&disk).unwrap();
    let journal = log.find("a").unwrap();
    let error = log.snapshot(journal).unwrap_err();
    assert!(matches!(error, JournalError::Damaged { .. }), "{error}");
}

#[test]
fn a_damaged_snapshot_after_the_last_event_does_not_hide_the_older_one() {
    let mut kit = Kit::new();
    let disk = compacted(&mut kit, &[10]);
    let mut log = open(&disk).unwrap();
    let journal = log.find("a").unwrap();
    append(&mut log, 32);
    log.save(journal, 32, KIND, b"32").unwrap();
    assert!(log.compact(u64::MAX).unwrap().segments > 0);
    drop(log);
    disk.replace(&saved(40), b"nonsense").unwrap();
    disk.remove(&saved(32)).unwrap();
    opens_again(&disk, 10, 32);
}

#[test]
fn copies_of_the_oldest_events_do_not_stand_for_all_events() {
    let mut kit = Kit::new();
    let disk = kit.disk();
    let mut log = open(&disk).unwrap();
    let journal = log.journal("a").unwrap();
    for last in [4, 10] {
        append(&mut log, last);
        drop(log);
        log = open(&disk).unwrap();
    }
    // The copies of the events 1 to 4 get into the segment of the event 11.
    append(&mut log, 12);
    assert_eq!(log.compact(4).unwrap().segments, 1);
    append(&mut log, 30);
    for number in [10, 20] {
        log.save(journal, number, KIND, &[number as u8]).unwrap();
    }
    assert_eq!(log.compact(0).unwrap().segments, 1);
    drop(log);
    disk.replace(&saved(20), b"nonsense").unwrap();
    opens_again(&disk, 10, 30);
}

#[test]
fn one_snapshot_and_all_events_keep_all_events() {
    let mut kit = Kit::new();
    let (disk, ..) = three_groups(&mut kit);
    let mut log = open(&disk).unwrap();
    let journal = log.journal("a").unwrap();
    log.save(journal, 4, KIND, b"four").unwrap();
    drop(log);
    let (mut log, number) = open_saved(&disk);
    assert_eq!((number, log.oldest(journal)), (4, 1));
    assert_eq!(numbers(&mut log), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn events_that_no_snapshot_covers_are_missing() {
    let early = compacted(&mut Kit::new(), &[4, 6]).read(&saved(4)).unwrap();
    let mut kit = Kit::new();
    let disk = compacted(&mut kit, &[10, 20]);
    for number in [10, 20] {
        disk.remove(&saved(number)).unwrap();
    }
    disk.replace(&saved(4), &early).unwrap();
    let error = open(&disk).unwrap_err().to_string();
    assert!(
        error.ends_with("the event 5 of the journal \"a\" is missing"),
        "{error}"
    );
}

#[test]
fn a_snapshot_that_should_have_been_removed_is_removed_at_the_opening() {
    let mut kit = Kit::new();
    let disk = compacted(&mut kit, &[10, 20]);
    let oldest = disk.read(&saved(10)).unwrap();
    let mut log = open(&disk).unwrap();
    let journal = log.find("a").unwrap();
    log.save(journal, 28, KIND, b"28").unwrap();
    drop(log);
    // The removal was not durable.
    disk.replace(&saved(10), &oldest).unwrap();
    let mut log = open(&disk).unwrap();
    assert!(!disk.list().unwrap().contains(&saved(10)));
    assert!(log.compact(u64::MAX).unwrap().segments > 0);
    drop(log);
    disk.replace(&saved(28), b"nonsense").unwrap();
    opens_again(&disk, 20, 30);
}

#[test]
fn a_whole_event_replaces_a_damaged_snapshot() {
    let mut kit = Kit::new();
    let (disk, ..) = three_groups(&mut kit);
    let mut log = open(&disk).unwrap();
    let journal = log.journal("a").unwrap();
    for number in [4, 6] {
        log.save(journal, number, KIND, b"state").unwrap();
    }
    let mut group = Group::new();
    let whole = Event {
        number: 7,
        kind: KIND,
        is_whole: true,
        payload: &[7; 40],
    };
    group.add(journal, whole).unwrap();
    log.append(&group).unwrap();
    append(&mut log, 9);
    log.save(journal, 8, KIND, b"state").unwrap();
    assert_eq!((log.oldest(journal), log.newest(journal)), (7, 9));
    // None of the snapshots after which no event is missing can be read.
    for number in [6, 8] {
        disk.replace(&saved(number), b"nonsense").unwrap();
    }
    assert_eq!(log.snapshot(journal).unwrap(), None);
    assert_eq!(log.take_notices().len(), 2);
    drop(log);
    let mut log = open(&disk).unwrap();
    assert_eq!(log.snapshot(journal).unwrap(), None);
    assert_eq!(
        log.take_notices().len(),
        0,
        "the damaged ones are set apart"
    );
    assert_eq!(numbers(&mut log), [7, 8, 9]);
    // It is not enough that an event is there.
    for number in [8, 9] {
        log.save(journal, number, KIND, b"state").unwrap();
        disk.replace(&saved(number), b"nonsense").unwrap();
    }
    let error = log.snapshot(journal).unwrap_err();
    assert!(matches!(error, JournalError::Damaged { .. }), "{error}");
}

#[test]
fn events_with_wrong_numbers_are_refused() {
    let mut kit = Kit::new();
    let (disk, ..) = three_groups(&mut kit);
    let mut log = open(&disk).unwrap();
    let journal = log.journal("a").unwrap();
    for number in [0, 6, 8] {
        let mut group = Group::new();
        let event = Event {
            number,
            kind: KIND,
            is_whole: false,
            payload: b"",
        };
        group.add(journal, event).unwrap();
        let error = log.append(&group).unwrap_err().to_string();
        let expected =
            format!("the next event of the journal \"a\" has the number 7, not {number}");
        assert_eq!(error, expected);
    }
    append(&mut log, 8);
    assert_eq!(numbers(&mut log), (1..=8).collect::<Vec<_>>());
}

#[test]
fn a_log_is_opened_once_at_a_time() {
    let mut kit = Kit::new();
    let (disk, ..) = three_groups(&mut kit);
    let log = open(&disk).unwrap();
    let error = open(&disk).unwrap_err();
    assert_eq!(error.to_string(), "cannot lock \"the folder\"");
    drop(log);
    open(&disk).unwrap();
}

#[test]
fn compaction_keeps_what_is_needed() {
    let mut kit = Kit::new();
    let disk = kit.disk();
    let files: Arc<dyn Files> = Arc::new(disk.clone());
    let options = Options::new().segment_bytes(400);
    let (mut log, _) = options.open(Arc::clone(&files)).unwrap();
    append(&mut log, 60);
    // A journal that has a snapshot and no other event since.
    let journal = log.journal("a").unwrap();
    let segments = log.segments();
    assert!(segments > 10);
    assert_eq!(log.compact(0).unwrap().segments, 0, "all events are needed");
    for number in [50, 58] {
        log.save(journal, number, KIND, b"state").unwrap();
    }
    let compacted = log.compact(0).unwrap();
    assert!(
        compacted.segments > 5 && compacted.copied == 0,
        "{compacted:?}"
    );
    let compacted = log.compact(100).unwrap();
    assert!(compacted.copied > 0, "{compacted:?}");
    assert!(log.segments() < 8, "{log:?}");
    drop(log);
    let (mut log, _) = options.open(files).unwrap();
    let journal = log.find("a").unwrap();
    assert_eq!((log.oldest(journal), log.newest(journal)), (51, 60));
    let mut read = Vec::new();
    log.read(journal, 51, |event| read.push(event.number))
        .unwrap();
    assert_eq!(read, (51..=60).collect::<Vec<_>>());
    log.delete(journal).unwrap();
    assert_eq!(log.journals().count(), 0);
    assert!(
        disk.list()
            .unwrap()
            .iter()
            .all(|name| !name.ends_with(".snapshot"))
    );
    drop(log);
    assert_eq!(open(&disk).unwrap().journals().count(), 0);
}

#[test]
fn damaged_snapshots_are_reported_in_the_order_of_their_journals() {
    const JOURNALS: u64 = 20;
    let mut kit = Kit::new();
    let disk = kit.disk();
    let mut log = open(&disk).unwrap();
    let mut group = Group::new();
    for number in 1..=JOURNALS {
        let event = Event {
            number: 1,
            ..Event::default()
        };
        let journal = log.journal(&number.to_string()).unwrap();
        group.add(journal, event).unwrap();
    }
    log.append(&group).unwrap();
    drop(log);
    // Newer than all events, or without a journal.
    let names: Vec<_> = (1..=2 * JOURNALS)
        .map(|journal| format!("{journal:016x}-{:020}.snapshot", 7))
        .collect();
    for name in &names {
        disk.replace(name, b"damaged").unwrap();
    }
    let (mut log, _) = Options::new().inspect(Arc::new(disk)).unwrap();
    let notices = log.take_notices();
    assert_eq!(notices.len(), names.len());
    for (notice, name) in notices.iter().zip(&names) {
        assert!(notice.to_string().contains(name), "{name}: {notice}");
    }
}
