//! Tests of readers that read while a writer never pauses.
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::*;

/// Number of publishes in a stress test, which takes well under a second.
const PUBLISHINGS: u64 = if cfg!(debug_assertions) {
    300_000
} else {
    3_000_000
};

#[test]
fn no_snapshot_is_torn() {
    let mut group = Group::<5>::new();
    let (reader, done) = (group.reader(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut last = 0;
            while !done.load(Relaxed) {
                let Ok(values) = reader.try_snapshot() else {
                    continue;
                };
                assert!(values.iter().all(|value| *value == values[0]), "{values:?}");
                assert!(values[0] >= last, "{} after {last}", values[0]);
                last = values[0];
            }
        });
        for _ in 0..PUBLISHINGS {
            (0..5).for_each(|index| group.add(index, 1));
            group.publish();
        }
        done.store(true, Relaxed);
        watcher.join().unwrap();
    });
    assert_eq!(reader.try_snapshot(), Ok([PUBLISHINGS; 5]));
    assert_eq!(*group.values(), [PUBLISHINGS; 5]);
}

#[test]
fn a_writer_stopped_midway_is_reported() {
    let mut group = Group::<1>::new();
    let reader = group.reader();
    group.begin();
    assert_eq!(reader.try_snapshot(), Err(Busy));
    group.set(0, 7);
    group.publish();
    assert_eq!(reader.try_snapshot(), Ok([7]));
}

#[test]
fn counters_wrap() {
    let mut counter = Counter::new();
    counter.set(u64::MAX);
    counter.add(2);
    assert_eq!((counter.get(), counter.reader().get()), (1, 1));
    assert_eq!(format!("{counter:?}"), "Counter(1)");

    let mut group = Group::<2>::default();
    group.set(1, u64::MAX);
    group.add(1, 3);
    group.publish();
    assert_eq!(format!("{:?}", group.reader()), "GroupReader(Ok([0, 2]))");
}

#[test]
fn an_empty_group_is_allowed() {
    let mut group = Group::<0>::new();
    group.publish();
    assert_eq!(group.reader().clone().try_snapshot(), Ok([]));
}

#[test]
fn tallies_show_each_count_at_once() {
    let mut tally = Tally::<3>::default();
    let reader = tally.reader();
    tally.add(0, 1);
    tally.add(2, u64::MAX);
    tally.add(2, 2);
    assert_eq!((tally.get(0), tally.get(2)), (1, 1));
    let seen = std::thread::spawn(move || reader.clone().values()).join();
    assert_eq!(seen.unwrap(), [1, 0, 1]);
    assert_eq!(format!("{tally:?}"), "Tally([1, 0, 1])");
}
