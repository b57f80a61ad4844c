//! Memory of a system that does not have many actors.
//!
//! This is a separate program because it measures the memory of the whole process, in which no
//! other test may run.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

use garrick::prelude::*;
use garrick_measure::resident_bytes;

/// Actor of `WORDS` words, so that each instance has a different size.
struct OfWords<const WORDS: usize>([u64; WORDS]);

impl<const WORDS: usize> Actor for OfWords<WORDS> {
    type Msg = Reply<u64>;
    type Outcome = ();

    fn receive(&mut self, reply: Reply<u64>, _: &mut Context<'_, Reply<u64>>) {
        reply.send(self.0.iter().sum());
    }
}

/// Spawns one actor, and waits for its answer.
fn one<const WORDS: usize>(system: &System) -> Address<Reply<u64>> {
    let actor = system.spawn(OfWords([1; WORDS])).unwrap();
    assert_eq!(actor.ask(|reply| reply).wait(), Ok(WORDS as u64));
    actor
}

#[test]
fn actors_of_many_sizes_take_pages_and_not_slabs() {
    let system = System::builder().workers(1).start().unwrap();
    let _first = one::<1>(&system);
    let before = resident_bytes().unwrap();
    let _actors = [
        one::<2>(&system),
        one::<4>(&system),
        one::<6>(&system),
        one::<8>(&system),
        one::<12>(&system),
        one::<16>(&system),
        one::<20>(&system),
        one::<50>(&system),
    ];
    let grown = resident_bytes().unwrap().saturating_sub(before);
    // Each actor has a slab of 1 MiB to itself, of which it uses one page.
    assert!(grown < 1 << 20, "{grown} bytes for eight actors");
}
