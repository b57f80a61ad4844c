//! The complaint about actors whose memory grows as they send to themselves, beside those in
//! `complaints.rs`.
//!
//! This is a separate program because it measures the memory of the whole process, in which no
//! other test may run.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

use std::sync::mpsc;

use garrick::prelude::*;
use garrick_measure::resident_bytes;
use garrick_testkit::HANGS_AFTER;

#[test]
fn an_actor_that_sends_to_itself_needs_no_more_memory_and_lets_others_run() {
    const TURNS: u64 = 3_000_000;
    /// Always has two messages to itself in flight.
    struct Restless(mpsc::Sender<()>);
    impl Actor for Restless {
        type Msg = u64;
        type Outcome = Next;

        fn receive(&mut self, left: u64, cx: &mut Context<'_, u64>) -> Next {
            if left == 0 {
                self.0.send(()).unwrap();
                return Next::Continue;
            }
            cx.send(&cx.address(), left - 1).unwrap();
            Next::Continue
        }
    }
    struct Neighbour;
    impl Actor for Neighbour {
        type Msg = Reply<()>;
        type Outcome = ();

        fn receive(&mut self, reply: Reply<()>, _: &mut Context<'_, Reply<()>>) {
            reply.send(());
        }
    }
    let system = System::builder().workers(1).start().unwrap();
    let (told, done) = mpsc::channel();
    let restless = system.spawn(Restless(told)).unwrap();
    let neighbour = system.spawn(Neighbour).unwrap();
    let before = resident_bytes().unwrap();
    restless.send(TURNS).unwrap();
    restless.send(TURNS).unwrap();
    for _ in 0..100 {
        assert_eq!(
            neighbour.ask(|reply| reply).wait_timeout(HANGS_AFTER),
            Ok(())
        );
    }
    for _ in 0..2 {
        done.recv_timeout(HANGS_AFTER).unwrap();
    }
    let grown = resident_bytes().unwrap().saturating_sub(before);
    // All its messages at once would be 96 MB.
    assert!(grown < 24 << 20, "{grown} bytes");
}
