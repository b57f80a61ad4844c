//! Loom models of the parker. A thread sets a flag by a relaxed store, and then unparks the owner.
//! If the unpark did not make the flag visible to the owner, the owner would park forever. Loom
//! reports this as a deadlock.

use loom::thread;

use super::*;
use crate::prim::atomic::AtomicBool;

/// Runs `model` in all schedules with at most three preemptions. With two publishers, a run of all
/// schedules would take too long.
fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

fn publish(flag: &AtomicBool, unparker: &Unparker) {
    flag.store(true, Relaxed);
    unparker.unpark();
}

#[test]
fn look_then_park_loses_no_wake_up() {
    loom::model(|| {
        let mut parker = Parker::new();
        let flag = Arc::new(AtomicBool::new(false));
        let publisher = {
            let (flag, unparker) = (flag.clone(), parker.unparker());
            thread::spawn(move || publish(&flag, &unparker))
        };
        while !flag.load(Relaxed) {
            parker.park();
        }
        publisher.join().unwrap();
    });
}

#[test]
fn the_second_of_two_tokens_is_not_lost() {
    check(|| {
        let mut parker = Parker::new();
        let flags = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
        let publishers = [0, 1].map(|n| {
            let (flags, unparker) = (flags.clone(), parker.unparker());
            thread::spawn(move || publish(&flags[n], &unparker))
        });
        while !flags.iter().all(|flag| flag.load(Relaxed)) {
            parker.park();
        }
        for publisher in publishers {
            publisher.join().unwrap();
        }
    });
}

#[test]
fn a_token_at_the_deadline_is_seen() {
    loom::model(|| {
        let mut parker = Parker::new();
        let flag = Arc::new(AtomicBool::new(false));
        let publisher = {
            let (flag, unparker) = (flag.clone(), parker.unparker());
            thread::spawn(move || publish(&flag, &unparker))
        };
        if parker.park_timeout(Duration::ZERO) {
            assert!(flag.load(Relaxed), "a token without what it stands for");
            assert!(!parker.park_timeout(Duration::ZERO), "taken twice");
        } else {
            parker.park();
        }
        publisher.join().unwrap();
    });
}
