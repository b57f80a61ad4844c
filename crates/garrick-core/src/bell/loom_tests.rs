//! Loom models of the bell. The models check that a poll that handles a wake sees what the waker
//! did before the wake, and that no wake is lost.

use loom::sync::Arc;
use loom::sync::atomic::{
    AtomicUsize,
    Ordering::{Acquire, Relaxed},
    fence,
};
use loom::thread;

use super::{Bell, Call};

/// Polls once. Returns the value that the poll reads, and the result of [`Bell::end`]. If
/// `wakes_inside` is true, the poll calls [`Bell::answer`] before it reads.
fn poll(bell: &Bell, data: &AtomicUsize, wakes_inside: bool) -> (usize, Call) {
    bell.begin();
    if wakes_inside {
        bell.answer();
    }
    let seen = data.load(Relaxed);
    (seen, bell.end(false))
}

#[test]
fn a_wake_is_answered_by_a_poll_that_sees_what_it_was_for() {
    model(|bell, data| poll(bell, data, false));
}

#[test]
fn so_it_is_by_one_that_has_woken_others() {
    model(|bell, data| poll(bell, data, true));
}

#[test]
fn a_wake_by_who_then_lets_go_of_the_bell_is_not_lost() {
    model(poll_alone);
}

/// Runs a model with two threads. One thread polls. The other thread wakes the bell and then drops
/// its reference to the bell.
fn model(poll: impl Fn(&Arc<Bell>, &AtomicUsize) -> (usize, Call) + Sync + Send + 'static) {
    loom::model(move || {
        let bell = Arc::new(Bell::new());
        let data = Arc::new(AtomicUsize::new(0));
        let (waking, written) = (bell.clone(), data.clone());
        let waker = thread::spawn(move || {
            written.store(1, Relaxed);
            waking.wake()
        });
        let _ = bell.arrived();
        let (mut seen, mut call) = poll(&bell, &data);
        if call == Call::Ring {
            assert!(bell.arrived());
            (seen, call) = poll(&bell, &data);
            assert_eq!((seen, call), (1, Call::Quiet));
        }
        // A ring that a poll has overtaken is worth nothing: that poll has answered the wake.
        if waker.join().unwrap() == Call::Ring && bell.arrived() {
            (seen, _) = poll(&bell, &data);
        }
        assert_eq!(seen, 1, "the wake was lost");
    });
}

/// Polls once like [`poll`]. Begins or ends the poll with a plain store, instead of a
/// read-modify-write, if no other thread has a reference to the bell at this moment.
fn poll_alone(bell: &Arc<Bell>, data: &AtomicUsize) -> (usize, Call) {
    let is_alone = || {
        let is_alone = Arc::strong_count(bell) == 1;
        fence(Acquire);
        is_alone
    };
    if is_alone() {
        bell.begin_alone();
    } else {
        bell.begin();
    }
    let seen = data.load(Relaxed);
    let call = if is_alone() {
        bell.end_alone(false)
    } else {
        bell.end(false)
    };
    (seen, call)
}

/// Checks that at most one ring is in flight, in every order of wakes and polls.
#[test]
fn one_ring_at_most_is_on_its_way() {
    loom::model(|| {
        let bell = Arc::new(Bell::new());
        assert!(bell.arrived());
        let waker = thread::spawn({
            let bell = bell.clone();
            move || [bell.wake(), bell.wake()]
        });
        let ends = [0, 1].map(|_| {
            bell.begin();
            bell.end(false)
        });
        let calls = waker.join().unwrap().into_iter().chain(ends);
        let rings = calls.filter(|call| *call == Call::Ring).count();
        assert!(rings <= 1, "two rings are on their way");
    });
}
