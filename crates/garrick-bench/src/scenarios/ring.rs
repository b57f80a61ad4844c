//! One token that goes round.

use std::sync::mpsc;

use super::actors::{Pass, measure_here, ring_of, send_in};
use crate::scenario::{Contender, Effort, Measured, Result, Scenario};

pub(super) const RING: Scenario = Scenario {
    name: "ring",
    operation: "one hop of the only token in a ring of 100 actors on one worker",
    contenders: |_: &Effort| vec![Contender::fitted("garrick", ring).with("actors", ACTORS)],
};

const ACTORS: usize = 100;

fn ring(ops: u64) -> Result<Measured> {
    let (done, waiting) = mpsc::channel();
    let measured = measure_here(ops, |local| {
        let first = ring_of(ACTORS, &done, |_, relay| local.spawn(relay));
        send_in(&first, Pass::Token(ops));
    });
    assert!(waiting.try_recv().is_ok(), "the token made its last hop");
    measured
}
