//! Actors in a ring, around which one token is passed.

use std::sync::mpsc;

use garrick_measure::{Contender, Effort, Measured, Point, Result, Scenario, Swept};

use super::actors::{Pass, measure_here, ring_of, send_in};

pub(crate) const RING: Scenario = Scenario {
    name: "ring",
    operation: "one hop of the only token in a ring of 100 actors on one worker",
    contenders: |effort: &Effort| at(effort, &Point::default()),
};

pub(super) const SWEPT: Swept = Swept {
    scenario: RING.name,
    parameters: &[("actors", 2..=1_000_000)],
    contenders: at,
};

const ACTORS: u64 = 100;

fn at(_: &Effort, point: &Point) -> Vec<Contender> {
    let actors = point.get("actors").unwrap_or(ACTORS);
    vec![Contender::fitted("garrick", move |ops| ring(ops, actors)).with("actors", actors)]
}

fn ring(ops: u64, actors: u64) -> Result<Measured> {
    let (done, waiting) = mpsc::channel();
    let measured = measure_here(ops, |local| {
        let first = ring_of(actors as usize, &done, |_, relay| local.spawn(relay));
        send_in(&first, Pass::Token(ops));
    });
    assert!(waiting.try_recv().is_ok(), "the token made its last hop");
    measured
}
