//! A bounded mailbox under a flood: memory stays flat, and every message is handled or counted.
//!
//! `GARRICK_SOAK_SECONDS` sets how long each kind of mailbox is flooded. The default is a moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use garrick::mailbox::{Mailbox, OnFull};
use garrick::{Next, System, behavior};
use garrick_measure::resident_bytes;
use garrick_testkit::setting;

const PRODUCERS: usize = 8;
const CAPACITY: usize = 1_000;

/// Work of the slow consumer for one message: a few microseconds.
const WORK: u64 = 2_000;

/// Message, large enough for a leak to be seen.
type Message = [u64; 8];

fn soak_time() -> Duration {
    setting("GARRICK_SOAK_SECONDS").map_or(Duration::from_millis(200), Duration::from_secs)
}

fn flood(on_full: OnFull) {
    let system = System::builder().workers(2).start().unwrap();
    let handled = Arc::new(AtomicU64::new(0));
    let counted = handled.clone();
    let slow = behavior(move |message: Message, _| {
        let mut sum = message[0];
        for n in 0..WORK {
            sum = std::hint::black_box(sum ^ n);
        }
        counted.fetch_add(1, Relaxed);
        Next::Continue
    });
    let inlet = system
        .actor(slow)
        .mailbox(Mailbox::bounded(CAPACITY, on_full).unwrap())
        .spawn()
        .unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let producers: Vec<_> = (0..PRODUCERS)
        .map(|producer| {
            let (inlet, over) = (inlet.clone(), over.clone());
            thread::spawn(move || {
                let (mut accepted, mut refused) = (0_u64, 0_u64);
                while !over.load(Relaxed) {
                    match inlet.send([producer as u64; 8]) {
                        Ok(()) => accepted += 1,
                        Err(_) => refused += 1,
                    }
                }
                (accepted, refused)
            })
        })
        .collect();
    let (begin, time) = (Instant::now(), soak_time());
    let (mut early, mut late) = (0, 0);
    while begin.elapsed() < time {
        let resident = resident_bytes().expect("the system says what is resident") >> 10;
        if begin.elapsed() < time / 5 {
            early = early.max(resident);
        } else {
            late = late.max(resident);
        }
        thread::yield_now();
    }
    over.store(true, Relaxed);
    let (mut accepted, mut refused) = (0, 0);
    for producer in producers {
        let (a, r) = producer.join().unwrap();
        accepted += a;
        refused += r;
    }
    let dropped = inlet.clone();
    drop(inlet);
    system.shutdown();
    let (handled, dropped) = (handled.load(Relaxed), dropped.dropped());
    println!(
        "{on_full:?}: accepted {accepted}, refused {refused}, handled {handled}, dropped {dropped}; resident at most {early} KiB in the first fifth, {late} KiB after it"
    );
    assert_eq!(handled + dropped, accepted, "{on_full:?}");
    match on_full {
        OnFull::Wait => assert_eq!((refused, dropped), (0, 0)),
        OnFull::Fail => assert_eq!(dropped, 0),
        _ => assert_eq!(refused, 0),
    }
}

#[test]
fn every_message_of_a_flood_is_handled_or_counted() {
    for on_full in [
        OnFull::Wait,
        OnFull::Fail,
        OnFull::DropNewest,
        OnFull::DropOldest,
    ] {
        flood(on_full);
    }
}
