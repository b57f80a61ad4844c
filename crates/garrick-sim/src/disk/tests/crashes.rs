//! Tests of crashes, and of the files that exist after a crash.

use std::collections::BTreeSet;
use std::io::ErrorKind;

use garrick_actor::files::{File, Files};

use super::{crash, disks, events};
use crate::disk::{Disk, DiskEvent, Disks, Operation};

/// Number of seeds with which each test crashes a disk.
const SEEDS: u64 = 300;

/// Returns a disk with an empty file `log`, whose name is durable.
fn with_log(seed: u64) -> (Disks, Disk, Box<dyn File>) {
    let (disks, disk) = disks(seed);
    let log = disk.create("log").unwrap();
    disk.sync_names().unwrap();
    (disks, disk, log)
}

/// Returns the contents that the file `log` has after a crash, with each of the seeds. `set` sets
/// the rules of the disk, and `write` writes to the file before the crash.
fn contents(set: impl Fn(&Disks), write: impl Fn(&mut dyn File)) -> BTreeSet<Vec<u8>> {
    let of = |seed| {
        let (disks, disk, mut log) = with_log(seed);
        set(&disks);
        write(&mut *log);
        crash(&disks);
        disk.read("log").unwrap()
    };
    (0..SEEDS).map(of).collect()
}

#[test]
fn what_was_synced_stays() {
    let left = contents(
        |disks| drop(disks.all().tears().reorders()),
        |log| {
            log.append(b"abc").unwrap();
            log.write_at(1, b"x").unwrap();
            log.set_length(2).unwrap();
            log.sync().unwrap();
        },
    );
    assert_eq!(left, BTreeSet::from([b"ax".to_vec()]));
}

#[test]
fn a_crash_cuts_what_was_not_synced_at_any_byte() {
    let left = contents(
        |_| (),
        |log| {
            log.append(b"ab").unwrap();
            log.sync().unwrap();
            log.append(b"cd").unwrap();
            log.append(b"ef").unwrap();
        },
    );
    let all = ["ab", "abc", "abcd", "abcde", "abcdef"];
    assert_eq!(left, all.map(|text| text.as_bytes().to_vec()).into());
}

#[test]
fn a_cut_of_the_length_may_be_undone() {
    let left = contents(
        |_| (),
        |log| {
            log.append(b"abcd").unwrap();
            log.sync().unwrap();
            log.set_length(1).unwrap();
        },
    );
    assert_eq!(
        left,
        ["a", "abcd"].map(|text| text.as_bytes().to_vec()).into()
    );
}

#[test]
fn a_torn_write_leaves_other_bytes() {
    let left = contents(
        |disks| drop(disks.all().tears()),
        |log| log.append(b"abcd").unwrap(),
    );
    assert!(left.contains(b"ab\0\0".as_slice()), "{left:?}");
    let is_garbage = |content: &&Vec<u8>| {
        content.len() == 4 && content.starts_with(b"ab") && !content.ends_with(&[0, 0])
    };
    assert!(left.iter().filter(is_garbage).count() > 2, "{left:?}");
    // Without the rule, a crash leaves no byte that was not written.
    let left = contents(|_| (), |log| log.append(b"abcd").unwrap());
    assert!(
        left.iter().all(|content| b"abcd".starts_with(content)),
        "{left:?}"
    );
}

#[test]
fn a_later_write_survives_an_earlier_one_if_writes_are_reordered() {
    let write = |log: &mut dyn File| {
        log.append(b"ab").unwrap();
        log.append(b"cd").unwrap();
    };
    let left = contents(|disks| drop(disks.all().reorders()), write);
    let all: [&[u8]; 4] = [b"", b"ab", b"\0\0cd", b"abcd"];
    assert_eq!(left, all.map(<[u8]>::to_vec).into());
    assert!(!contents(|_| (), write).contains(b"\0\0cd".as_slice()));
}

#[test]
fn all_that_was_not_synced_is_lost_if_this_is_the_rule() {
    for seed in 0..SEEDS {
        let (disks, disk, mut log) = with_log(seed);
        disks.all().loses_all();
        log.append(b"ab").unwrap();
        log.sync().unwrap();
        log.append(b"cd").unwrap();
        disk.create("new").unwrap();
        crash(&disks);
        assert_eq!(disk.list().unwrap(), ["log"]);
        assert_eq!(disk.read("log").unwrap(), b"ab");
    }
}

#[test]
fn names_survive_in_their_order() {
    let mut left = BTreeSet::new();
    for seed in 0..SEEDS {
        let (disks, disk) = disks(seed);
        disk.create("a").unwrap();
        disk.sync_names().unwrap();
        disk.create("b").unwrap();
        disk.rename("b", "c").unwrap();
        disk.remove("a").unwrap();
        crash(&disks);
        left.insert(disk.list().unwrap().concat());
    }
    assert_eq!(left, ["a", "ab", "ac", "c"].map(str::to_owned).into());
}

#[test]
fn a_name_that_was_synced_says_nothing_about_the_content() {
    let mut lengths = BTreeSet::new();
    for seed in 0..SEEDS {
        let (disks, disk, mut log) = with_log(seed);
        log.append(b"abc").unwrap();
        disk.rename("log", "old").unwrap();
        disk.sync_names().unwrap();
        crash(&disks);
        lengths.insert(disk.read("old").unwrap().len());
    }
    assert_eq!(lengths, (0..=3).collect());
}

#[test]
fn replacing_leaves_the_old_content_or_the_new_one() {
    for seed in 0..SEEDS {
        let (disks, disk) = disks(seed);
        disks.all().tears().reorders();
        disk.replace("state", b"old").unwrap();
        disk.replace("state", b"new").unwrap();
        crash(&disks);
        assert_eq!(disk.read("state").unwrap(), b"new");
    }
}

#[test]
fn nothing_can_be_done_until_the_node_starts() {
    let (disks, disk, mut log) = with_log(0);
    disks.crash("d");
    let error = disk.list().unwrap_err();
    assert!(error.to_string().contains("has crashed"), "{error}");
    assert!(log.append(b"x").is_err());
    disks.start("d");
    let error = log.append(b"x").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StaleNetworkFileHandle);
    assert_eq!(disk.open("log").unwrap().length().unwrap(), 0);
}

#[test]
fn a_file_without_a_name_is_gone() {
    let (disks, disk, mut log) = with_log(0);
    log.append(b"abc").unwrap();
    disk.remove("log").unwrap();
    disk.sync_names().unwrap();
    assert_eq!(log.read().unwrap(), b"abc");
    crash(&disks);
    assert_eq!(disk.list().unwrap(), [""; 0]);
}

#[test]
fn losses_are_reported() {
    let mut seen = (false, false, false);
    for seed in 0..SEEDS {
        let (disks, disk, mut log) = with_log(seed);
        disks.all().tears();
        log.append(b"abc").unwrap();
        disk.create("new").unwrap();
        assert_eq!(events(&disks), []);
        let events = crash(&disks);
        let length = disk.read("log").unwrap().len();
        let lost = events.iter().find_map(|event| match event {
            DiskEvent::Lost { bytes, is_torn } => Some((*bytes, *is_torn)),
            _ => None,
        });
        match lost {
            None => assert_eq!(length, 3),
            Some((bytes, false)) => assert_eq!(length + bytes, 3),
            Some((_, true)) => assert_eq!(length, 3),
        }
        let is_nameless = events.contains(&DiskEvent::NameLost(Operation::Create));
        assert_eq!(is_nameless, disk.list().unwrap() == ["log"]);
        seen.0 |= lost.is_some_and(|(_, is_torn)| !is_torn);
        seen.1 |= lost.is_some_and(|(_, is_torn)| is_torn);
        seen.2 |= is_nameless;
    }
    assert_eq!(seen, (true, true, true));
}

#[test]
fn a_second_crash_loses_nothing_more() {
    for seed in 0..SEEDS {
        let (disks, disk, mut log) = with_log(seed);
        log.append(b"abc").unwrap();
        crash(&disks);
        let left = disk.read("log").unwrap();
        assert_eq!(crash(&disks), []);
        assert_eq!(disk.read("log").unwrap(), left);
    }
}
