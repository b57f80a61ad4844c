//! Loom models of a group of counters. The models check that a snapshot contains only values from a
//! single publish, and that a later snapshot never contains older values.
use super::*;
use crate::prim::thread;

/// Runs `model` in all schedules with at most three preemptions.
fn check(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(3));
    builder.check(model);
}

#[test]
fn a_snapshot_is_of_one_publishing() {
    check(|| {
        let mut group = Group::<2>::new();
        let reader = group.reader();
        let writer = thread::spawn(move || {
            for _ in 0..2 {
                group.add(0, 1);
                group.add(1, 10);
                group.publish();
            }
        });
        if let Ok([ones, tens]) = reader.try_snapshot() {
            assert_eq!(tens, 10 * ones, "both or none");
        }
        writer.join().unwrap();
        assert_eq!(reader.try_snapshot(), Ok([2, 20]));
    });
}

#[test]
fn snapshots_do_not_go_back() {
    check(|| {
        let mut group = Group::<1>::new();
        let reader = group.reader();
        let writer = thread::spawn(move || {
            for _ in 0..2 {
                group.add(0, 1);
                group.publish();
            }
        });
        let first = reader.try_snapshot();
        let second = reader.try_snapshot();
        if let (Ok(first), Ok(second)) = (first, second) {
            assert!(first <= second, "{first:?} before {second:?}");
        }
        writer.join().unwrap();
    });
}

#[test]
fn a_counter_does_not_go_back() {
    check(|| {
        let mut counter = Counter::new();
        let reader = counter.reader();
        let writer = thread::spawn(move || {
            counter.add(1);
            counter.add(1);
        });
        let (first, second) = (reader.get(), reader.get());
        assert!(first <= second, "{first} before {second}");
        writer.join().unwrap();
        assert_eq!(reader.get(), 2);
    });
}
