//! Tests of the counts of references, and of the threads that may read a mailbox.

use std::env;
use std::mem;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, mpsc};

use garrick_sched::{Address, Flow, Handle, Sponsor, Task, Turn};

use crate::common::does;
use garrick_testkit::ends_alone;

/// The environment variable that is set for the process that leaks references.
const LEAKS: &str = "GARRICK_TEST_LEAKS";
const MAX: u64 = 1 << 29;

/// A task that forgets as many of its own addresses as are allowed, moves to the other sponsor, and
/// repeats this.
struct Hoarder {
    to: [Handle; 2],
    round: usize,
}

impl Task for Hoarder {
    type Message = u64;

    fn receive(&mut self, rounds: u64, turn: &Turn<'_, u64>) -> Flow {
        if rounds == 0 {
            return Flow::Continue;
        }
        let me = turn.address();
        for _ in 0..MAX - 20 {
            mem::forget(turn.address());
        }
        self.round += 1;
        let to = &self.to[self.round % 2];
        turn.send_on(to, &me, rounds - 1).unwrap();
        Flow::Continue
    }
}

/// Leaks references until the process aborts. Runs in a separate process.
fn leak() {
    let (one, two) = (
        Sponsor::single("one").unwrap(),
        Sponsor::single("two").unwrap(),
    );
    let to = [one.handle(), two.handle()];
    let address = one.handle().spawn(Hoarder { to, round: 0 }).unwrap();
    let held: Vec<Address<u64>> = (0..1000).map(|_| address.clone()).collect();
    address.send(5).unwrap();
    one.shutdown();
    two.shutdown();
    drop(held);
}

/// Makes a separate process leak references. The process counts up to half a billion references,
/// and aborts with a message.
#[test]
fn stress_a_leak_of_references_stops_the_process_with_a_message() {
    if env::var_os(LEAKS).is_some() {
        return leak();
    }
    let child = Command::new(env::current_exe().unwrap())
        .args([
            "--exact",
            "references::stress_a_leak_of_references_stops_the_process_with_a_message",
        ])
        .env(LEAKS, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stderr);
    assert!(!child.status.success(), "it goes on: {said}");
    assert!(said.contains("The program leaks addresses"), "{said}");
}

#[test]
fn a_task_that_is_seen_as_another_looks_into_its_own_mailbox() {
    ends_alone(|| {
        let (one, two) = (
            Sponsor::single("victim").unwrap(),
            Sponsor::single("spy").unwrap(),
        );
        let is_over = Arc::new(AtomicBool::new(false));
        // Sends itself bursts, so that its mailbox comes and goes.
        let seen = is_over.clone();
        let victim = does(move |message: [u64; 4], turn: &Turn<'_, [u64; 4]>| {
            if message[0] == 0 && !seen.load(Relaxed) {
                let me = turn.address();
                for n in 1..40 {
                    me.send([n; 4]).unwrap();
                }
                me.send([0; 4]).unwrap();
            }
            Flow::Continue
        });
        let victim = one.handle().spawn(victim).unwrap();
        victim.send([0; 4]).unwrap();
        let (tell, heard) = mpsc::channel();
        let spy = does(move |(): (), turn: &Turn<'_, ()>| {
            let as_victim = turn.seen_as(&victim);
            let saw = (0..100_000).filter(|_| as_victim.has_more()).count();
            tell.send(saw).unwrap();
            Flow::Stop
        });
        let spy = two.handle().spawn(spy).unwrap();
        spy.send(()).unwrap();
        assert_eq!(heard.recv(), Ok(0), "its own mailbox is empty");
        is_over.store(true, Relaxed);
        one.shutdown();
        two.shutdown();
    });
}
