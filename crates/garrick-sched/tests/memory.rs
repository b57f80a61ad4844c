//! Tests that the memory of a flood of messages is given back. The test has its own process,
//! because it measures the resident memory of the process.
#![cfg(all(target_os = "linux", not(garrick_portable)))]
#![forbid(unsafe_code)]

use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use garrick_sched::{Flow, Sponsor, Task, Turn};
use garrick_testkit::{HANGS_AFTER, resident_bytes, wait};

const MESSAGES: usize = 500_000;

/// A task that handles no message before it is released, and reports when it has handled all
/// messages.
struct Dam {
    gate: mpsc::Receiver<()>,
    handled: usize,
    over: mpsc::Sender<()>,
}

impl Task for Dam {
    type Message = [u64; 8];

    fn receive(&mut self, message: [u64; 8], _: &Turn<'_, [u64; 8]>) -> Flow {
        if self.handled == 0 {
            wait(&self.gate);
        }
        assert_eq!(message, [self.handled as u64; 8]);
        self.handled += 1;
        if self.handled.is_multiple_of(MESSAGES) {
            self.over.send(()).unwrap();
        }
        Flow::Continue
    }
}

#[test]
fn what_a_flood_has_taken_is_given_back_and_serves_the_next_one() {
    let sponsor = Sponsor::pool(2).unwrap();
    let (go, gate) = mpsc::channel();
    let (over, all) = mpsc::channel();
    let handled = 0;
    let dam = Dam {
        gate,
        handled,
        over,
    };
    let dam = sponsor.handle().spawn(dam).unwrap();
    let before = resident_bytes();
    for flood in 0..2 {
        for n in 0..MESSAGES {
            dam.send([(flood * MESSAGES + n) as u64; 8]).unwrap();
        }
        if flood == 0 {
            let flooded = resident_bytes() - before;
            assert!(flooded > MESSAGES * 64, "{flooded} bytes");
            go.send(()).unwrap();
        }
        wait(&all);
        let (since, enough) = (Instant::now(), before + MESSAGES * 16);
        while resident_bytes() > enough {
            assert!(since.elapsed() < HANGS_AFTER, "{}", resident_bytes());
            thread::yield_now();
        }
    }
    sponsor.shutdown();
}
