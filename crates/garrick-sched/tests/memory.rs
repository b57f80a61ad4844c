//! Memory that a flood has taken comes back. A separate process, because its resident memory is
//! measured.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

#[path = "common/hang.rs"]
mod hang;

use std::sync::mpsc;
use std::time::Instant;
use std::{fs, thread};

use garrick_sched::{Flow, Sponsor, Task, Turn};

const MESSAGES: usize = 500_000;

/// Returns the resident bytes of this process.
fn resident() -> usize {
    let statm = fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

/// Handles nothing before it is released, and reports when it has handled all messages.
struct Dam {
    gate: mpsc::Receiver<()>,
    handled: usize,
    over: mpsc::Sender<()>,
}

impl Task for Dam {
    type Message = [u64; 8];

    fn receive(&mut self, message: [u64; 8], _: &Turn<'_, [u64; 8]>) -> Flow {
        if self.handled == 0 {
            hang::wait(&self.gate);
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
    let before = resident();
    for flood in 0..2 {
        for n in 0..MESSAGES {
            dam.send([(flood * MESSAGES + n) as u64; 8]).unwrap();
        }
        if flood == 0 {
            let flooded = resident() - before;
            assert!(flooded > MESSAGES * 64, "{flooded} bytes");
            go.send(()).unwrap();
        }
        hang::wait(&all);
        let (since, enough) = (Instant::now(), before + MESSAGES * 16);
        while resident() > enough {
            assert!(since.elapsed() < hang::HANGS_AFTER, "{}", resident());
            thread::yield_now();
        }
    }
    sponsor.shutdown();
}
