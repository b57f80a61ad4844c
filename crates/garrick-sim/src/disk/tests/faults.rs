//! Tests of disk operations that fail.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::time::Duration;

use garrick_actor::files::Files;

use super::{crash, disks, events};
use crate::disk::{DiskEvent, Operation};

/// Number of seeds with which each test lets operations fail.
const SEEDS: u64 = 200;

#[test]
fn a_full_disk_takes_what_fits() {
    let (disks, disk) = disks(0);
    disks.of("d").full(8);
    disk.create("other").unwrap().append(b"123").unwrap();
    let mut file = disk.create("log").unwrap();
    file.append(b"abc").unwrap();
    let error = file.append(b"def").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    assert_eq!(file.read().unwrap(), b"abcde");
    assert_eq!(events(&disks), [DiskEvent::Full]);
    // What is there can be overwritten, but not extended.
    file.write_at(1, b"BCDE").unwrap();
    let kind = |result: std::io::Result<()>| result.unwrap_err().kind();
    assert_eq!(kind(file.write_at(9, b"x")), ErrorKind::StorageFull);
    assert_eq!(kind(file.set_length(6)), ErrorKind::StorageFull);
    assert_eq!(file.length().unwrap(), 5);
    // Space that becomes free can be used.
    disk.remove("other").unwrap();
    file.append(b"fgh").unwrap();
    file.set_length(2).unwrap();
    disk.create("more").unwrap().append(b"123456").unwrap();
}

#[test]
fn a_failing_operation_changes_nothing_but_a_part_of_a_write() {
    let mut lengths = BTreeSet::new();
    for seed in 0..SEEDS {
        let (disks, disk) = disks(seed);
        let mut file = disk.create("log").unwrap();
        disks.all().fails(1000);
        assert!(file.append(b"abc").is_err());
        assert!(file.set_length(9).is_err());
        assert!(file.read().is_err());
        assert!(disk.create("new").is_err());
        assert!(disk.open("log").is_err());
        assert!(disk.rename("log", "new").is_err());
        assert!(disk.remove("log").is_err());
        assert!(disk.list().is_err());
        let failed = events(&disks);
        assert_eq!(failed.len(), 8);
        assert_eq!(failed[0], DiskEvent::Failed(Operation::Write));
        assert_eq!(failed[7], DiskEvent::Failed(Operation::List));
        disks.all().fails(0);
        assert_eq!(disk.list().unwrap(), ["log"]);
        let content = disk.read("log").unwrap();
        assert!(b"abc".starts_with(&content));
        lengths.insert(content.len());
    }
    assert_eq!(lengths, (0..=3).collect());
}

#[test]
fn a_failed_sync_drops_what_no_later_sync_brings_back() {
    let mut left = BTreeSet::new();
    for seed in 0..SEEDS {
        let (disks, disk) = disks(seed);
        let mut file = disk.create("log").unwrap();
        disk.sync_names().unwrap();
        file.append(b"abcd").unwrap();
        disks.all().sync_fails(1000);
        assert!(file.sync().is_err());
        let [DiskEvent::SyncFailed { dropped }] = events(&disks)[..] else {
            panic!("one sync has failed");
        };
        disks.all().sync_fails(0);
        file.sync().unwrap();
        // The program does not notice.
        assert_eq!(file.read().unwrap(), b"abcd");
        crash(&disks);
        let content = disk.read("log").unwrap();
        assert_eq!(content.len() + dropped, 4);
        left.insert(content);
    }
    let all = ["", "a", "ab", "abc", "abcd"];
    assert_eq!(left, all.map(|text| text.as_bytes().to_vec()).into());
}

#[test]
fn a_failed_sync_keeps_any_of_the_blocks() {
    const BLOCK: usize = 512;
    let mut left = BTreeSet::new();
    for seed in 0..4 * SEEDS {
        let (disks, disk) = disks(seed);
        let mut file = disk.create("log").unwrap();
        disk.sync_names().unwrap();
        // Three blocks, and a part of a block that a later write completes.
        file.append(&[b'a'; 3 * BLOCK + 10]).unwrap();
        file.append(&[b'a'; BLOCK - 10]).unwrap();
        disks.all().sync_fails(1000);
        assert!(file.sync().is_err());
        let [DiskEvent::SyncFailed { dropped }] = events(&disks)[..] else {
            panic!("one sync has failed");
        };
        crash(&disks);
        let content = disk.read("log").unwrap();
        let kept = content.iter().filter(|byte| **byte == b'a').count();
        assert_eq!(kept + dropped, 4 * BLOCK);
        let is_whole = |block: &[u8]| block.len() == BLOCK && block.iter().all(|b| *b == block[0]);
        if content.chunks(BLOCK).all(is_whole) {
            left.insert(
                content
                    .chunks(BLOCK)
                    .map(|block| block[0])
                    .collect::<Vec<_>>(),
            );
        }
    }
    // Each subset of the blocks. The others are gaps, or are after the end of the file.
    assert_eq!(left.len(), 16, "{left:?}");
    assert!(left.contains(&[0, b'a', 0, b'a'][..]), "{left:?}");
}

#[test]
fn what_is_written_again_after_a_failed_sync_becomes_durable() {
    for seed in 0..SEEDS {
        let (disks, disk) = disks(seed);
        let mut file = disk.create("log").unwrap();
        disk.sync_names().unwrap();
        file.append(b"ab").unwrap();
        disks.all().sync_fails(1000);
        assert!(file.sync().is_err());
        disks.all().sync_fails(0);
        file.append(b"cd").unwrap();
        file.write_at(0, b"ab").unwrap();
        file.sync().unwrap();
        crash(&disks);
        assert_eq!(disk.read("log").unwrap(), b"abcd");
    }
}

#[test]
fn a_failed_sync_of_the_names_syncs_nothing() {
    let mut left = BTreeSet::new();
    for seed in 0..SEEDS {
        let (disks, disk) = disks(seed);
        disk.create("log").unwrap();
        disks.all().sync_fails(1000);
        assert!(disk.sync_names().is_err());
        assert_eq!(events(&disks), [DiskEvent::SyncFailed { dropped: 0 }]);
        crash(&disks);
        left.insert(disk.list().unwrap().len());
    }
    assert_eq!(left, BTreeSet::from([0, 1]));
}

#[test]
fn a_lying_sync_does_nothing() {
    let mut left = BTreeSet::new();
    for seed in 0..SEEDS {
        let (disks, disk) = disks(seed);
        disks.all().sync_lies(1000);
        let mut file = disk.create("log").unwrap();
        file.append(b"ab").unwrap();
        file.sync().unwrap();
        disk.sync_names().unwrap();
        assert_eq!(events(&disks), [DiskEvent::SyncLied; 2]);
        crash(&disks);
        left.insert(disk.read("log").ok().map(|content| content.len()));
    }
    assert_eq!(left, [None, Some(0), Some(1), Some(2)].into());
}

#[test]
fn slow_operations_take_time() {
    let (disks, disk) = disks(0);
    disk.create("log").unwrap();
    assert_eq!(disks.take_time(), 0);
    let range = Duration::from_millis(2)..Duration::from_millis(3);
    disks.all().slow(range);
    let mut file = disk.open("log").unwrap();
    file.append(b"x").unwrap();
    file.sync().unwrap();
    let taken = disks.take_time();
    assert!((6_000_000..9_000_000).contains(&taken), "{taken}");
    assert_eq!(disks.take_time(), 0);
}

#[test]
fn faults_cease() {
    let (disks, disk) = disks(0);
    disks
        .all()
        .fails(1000)
        .sync_fails(1000)
        .sync_lies(1000)
        .full(1);
    disks.calm();
    disk.replace("log", b"x").unwrap();
    assert_eq!(events(&disks), []);
    let error = disk.replace("more", b"x").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
}

#[test]
fn the_rule_of_a_node_replaces_that_of_all() {
    let (disks, disk) = disks(0);
    let other = disks.disk("e");
    disks.all().fails(1000);
    disks.of("d").full(100);
    disk.create("a").unwrap();
    assert!(other.create("a").is_err());
}

#[test]
fn operations_on_other_files_change_no_decision() {
    let run = |others: usize| {
        let (disks, disk) = disks(7);
        disks.all().fails(300);
        let files = 0..50;
        let decisions = files.map(|n| {
            for other in 0..others {
                let _ = disk.create(&format!("other{other}-{n}"));
            }
            disk.create(&format!("log{n}")).is_ok()
        });
        decisions.collect::<Vec<_>>()
    };
    assert_eq!(run(0), run(3));
    let none = run(0);
    assert!(none.contains(&false) && none.contains(&true));
}

#[test]
fn a_probability_has_a_limit() {
    let (disks, _) = disks(0);
    let panics = |set: fn(&crate::disk::Disks)| {
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| set(&disks)));
        let text = result.expect_err("the probability is too high");
        text.downcast_ref::<String>()
            .expect("a text")
            .contains("at most 1000")
    };
    assert!(panics(|disks| drop(disks.all().fails(1001))));
    assert!(panics(|disks| drop(disks.all().sync_fails(1001))));
    assert!(panics(|disks| drop(disks.all().sync_lies(1001))));
}
