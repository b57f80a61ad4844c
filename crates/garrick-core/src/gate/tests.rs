//! Tests of the gate on one thread, and with two threads that wake each other alternately.
use std::thread;

use super::*;

/// Number of times that two threads wake each other in the stress test, which takes well under a
/// second.
const ROUNDS: u64 = if cfg!(debug_assertions) {
    5_000
} else {
    50_000
};

#[test]
fn a_waiter_is_woken_once_and_not_early() {
    let (mut mover, watch) = new();
    watch.arm(10, 1);
    assert_eq!(mover.advance(9), None);
    assert_eq!(mover.advance(1), Some(1));
    assert_eq!(mover.advance(100), None);
    assert_eq!((mover.count(), watch.count()), (110, 110));
}

#[test]
fn the_last_wish_counts() {
    let (mut mover, watch) = new();
    watch.arm(1, 1);
    watch.arm(3, 2);
    assert_eq!(mover.advance(2), None);
    assert_eq!(mover.advance(1), Some(2));
}

#[test]
fn a_close_wakes_whoever_waits_for_anything() {
    let (mut mover, watch) = new();
    watch.arm(CLOSE_ONLY, 5);
    assert_eq!(mover.advance(1_000), None);
    assert!(!watch.is_closed());
    assert_eq!(mover.close(), Some(5));
    assert!(watch.is_closed());
    assert_eq!(mover.close(), None);
}

#[test]
#[should_panic(expected = "the target of a gate must be at least 1")]
fn waiting_for_nothing_is_a_bug() {
    new().1.arm(0, 0);
}

#[test]
fn no_wake_up_is_lost_between_two_threads() {
    let ((mut ours, our_watch), (mut theirs, their_watch)) = (new(), new());
    let rest = |watch: &Watch, target| {
        while watch.count() < target {
            watch.arm(target, 0);
            if watch.count() < target {
                thread::park();
            }
        }
    };
    let main = thread::current();
    let peer = thread::spawn(move || {
        for round in 1..=ROUNDS {
            rest(&our_watch, round);
            if theirs.advance(1).is_some() {
                main.unpark();
            }
        }
    });
    for round in 1..=ROUNDS {
        if ours.advance(1).is_some() {
            peer.thread().unpark();
        }
        rest(&their_watch, round);
    }
    peer.join().unwrap();
    assert_eq!(their_watch.count(), ROUNDS);
}
