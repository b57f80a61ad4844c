//! Loom models of the gate. The models check that no wake-up is lost or sent to the wrong waiter,
//! and that a thread that reads the count sees the work that was counted.
use super::*;
use crate::prim::thread;

/// Runs `model` in all schedules with at most three preemptions.
fn check(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(3));
    builder.check(model);
}

#[test]
fn who_rests_is_woken() {
    check(|| {
        let (mut mover, watch) = new();
        let waker = thread::spawn(move || [mover.advance(1), mover.advance(1)]);
        watch.arm(2, 7);
        let rests = watch.count() < 2;
        let woken = waker.join().unwrap().into_iter().flatten().count();
        assert!(woken <= 1, "once at most");
        assert!(!rests || woken == 1, "rests for ever");
    });
}

#[test]
fn who_rests_hears_of_the_close() {
    check(|| {
        let (mut mover, watch) = new();
        let waker = thread::spawn(move || mover.close());
        watch.arm(CLOSE_ONLY, 7);
        let rests = !watch.is_closed();
        let woken = waker.join().unwrap();
        assert!(!rests || woken == Some(7), "rests for ever");
    });
}

#[test]
fn the_right_one_is_woken() {
    check(|| {
        let (mut mover, watch) = new();
        let waker = thread::spawn(move || [mover.advance(1), mover.close()]);
        watch.arm(1, 7);
        for waiter in waker.join().unwrap().into_iter().flatten() {
            assert_eq!(waiter, 7);
        }
    });
}

#[test]
fn a_wish_that_replaces_another_is_not_lost() {
    check(|| {
        let (mut mover, watch) = new();
        let waker = thread::spawn(move || [mover.advance(1), mover.advance(1)]);
        watch.arm(1, 7);
        let first_rests = watch.count() < 1;
        watch.arm(2, 7);
        let rests = watch.count() < 2;
        let woken = waker.join().unwrap().into_iter().flatten().count();
        assert!(!(first_rests || rests) || woken >= 1, "rests for ever");
    });
}

#[test]
fn what_the_count_stands_for_has_been_done() {
    check(|| {
        let (mut mover, watch) = new();
        let work = Arc::new(AtomicU64::new(0));
        let done = Arc::clone(&work);
        let worker = thread::spawn(move || {
            done.store(1, Relaxed);
            let _ = mover.advance(1);
        });
        if watch.count() == 1 {
            assert_eq!(work.load(Relaxed), 1);
        }
        worker.join().unwrap();
    });
}

#[test]
fn a_closed_count_is_final() {
    check(|| {
        let (mut mover, watch) = new();
        let worker = thread::spawn(move || {
            let _ = mover.advance(1);
            let _ = mover.close();
        });
        if watch.is_closed() {
            assert_eq!(watch.count(), 1);
        }
        worker.join().unwrap();
    });
}

#[test]
fn what_was_done_before_the_close_is_seen_after_it() {
    check(|| {
        let (mut mover, watch) = new();
        let work = Arc::new(AtomicU64::new(0));
        let done = Arc::clone(&work);
        let worker = thread::spawn(move || {
            done.store(1, Relaxed);
            let _ = mover.close();
        });
        if watch.is_closed() {
            assert_eq!(work.load(Relaxed), 1);
        }
        worker.join().unwrap();
    });
}
