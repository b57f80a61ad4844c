//! Memory of entities that have stopped. This is the only test of its program, because it measures
//! the memory of the process.
#![forbid(unsafe_code)]

use std::thread;
use std::time::Duration;

use garrick_actor::{Actor, Context, System};
use garrick_cluster::placement::LocalPlacement;
use garrick_cluster::{Entities, Kind, KindOptions, LocalNet, Node};
use garrick_testkit::resident_bytes;

const COUNTER: Kind<u64> = Kind::new("counter");

/// Number of entities of a round. The next constants are the number of rounds, and the number of
/// rounds after which memory should no longer grow.
const ENTITIES: u64 = 4_000;
const ROUNDS: u64 = 16;
const WARM_ROUNDS: u64 = 6;

/// Maximum growth of memory in bytes in the remaining rounds: 150 bytes for each entity of these
/// rounds.
const GROWTH_MAX: usize = 6_000_000;

struct Counter([u64; 8]);

impl Actor for Counter {
    type Msg = u64;
    type Outcome = ();

    fn receive(&mut self, number: u64, _: &mut Context<'_, u64>) {
        self.0[0] += number;
    }
}

#[test]
fn entities_that_have_stopped_leave_nothing() {
    let system = System::new().unwrap();
    let placement = LocalPlacement::new(&system.handle()).unwrap();
    let node = Node::join(&system.handle(), LocalNet::new(), "test", "one").unwrap();
    let entities = Entities::start(&node, placement).unwrap();
    let options = KindOptions::new().idle(Some(Duration::from_millis(5)));
    entities
        .host(COUNTER, options, |_| Counter([0; 8]))
        .unwrap();
    let mut warm = 0;
    for round in 0..ROUNDS {
        for number in 0..ENTITIES {
            let key = format!("{round}-{number}");
            entities.get(COUNTER, &key).unwrap().send(number).unwrap();
        }
        let created = (round + 1) * ENTITIES;
        while entities.sample()[0].created < created || entities.sample()[0].active > 0 {
            thread::yield_now();
        }
        if round + 1 == WARM_ROUNDS {
            warm = resident_bytes();
        }
    }
    let growth = resident_bytes().saturating_sub(warm);
    println!(
        "{growth} bytes more after {} further entities",
        (ROUNDS - WARM_ROUNDS) * ENTITIES
    );
    assert!(growth < GROWTH_MAX, "{growth} bytes");
}
