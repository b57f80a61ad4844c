//! A stage sends the sums of pairs of values to an actor, and restarts when it panics. If it has
//! the first value of a pair in its state, a restart loses this value.

use garrick_actor::{Actor, Address, Context};
use garrick_flow::{Cx, Graph, Receiver, Restarts, Slots, Wait, restarting, stages};
use garrick_sim::Sim;

use crate::{assert_found, assert_right};

/// A fact: the sum of all pairs so far.
#[derive(Debug)]
struct Total(u64);

/// An actor that adds up the sums.
struct Ledger(u64);

impl Actor for Ledger {
    type Msg = u64;
    type Outcome = ();

    fn receive(&mut self, sum: u64, cx: &mut Context<'_, u64>) {
        self.0 += sum;
        cx.note(Total(self.0));
    }
}

/// The first value of a pair.
type First = Option<u64>;

/// Handles all available values.
fn pair(first: &mut First, input: &mut Receiver<u64>, ledger: &Address<u64>) -> Wait {
    while let Some(value) = input.try_pop() {
        match first.take() {
            Some(first) => _ = ledger.send(first + value),
            None => *first = Some(value),
        }
    }
    if input.is_finished() {
        return Wait::done();
    }
    Wait::readable(input, 1)
}

fn pairs(sim: &mut Sim, is_right: bool) {
    let node = sim.node("bank");
    let ledger = node.spawn(Ledger(0)).unwrap();
    let mut graph = Graph::new();
    let (output, input) = graph.channel(Slots::of(4).batch(1)).unwrap();
    graph.source("values", stages::produce(output, 1..=4));
    if is_right {
        let kept = (None, input, ledger);
        let make = |_: &mut (First, Receiver<u64>, Address<u64>)| ();
        let stage = restarting(kept, make, |(), (first, input, ledger), _: &mut Cx<'_>| {
            pair(first, input, ledger)
        });
        graph.stage("pair", stage.policy(Restarts::default()));
    } else {
        let stage = restarting(
            (input, ledger),
            |_| None,
            |first, (input, ledger), _| pair(first, input, ledger),
        );
        graph.stage("pair", stage.policy(Restarts::default()));
    }
    let pipeline = node.run(graph).unwrap();
    pipeline.inject_panic("pair").unwrap();
    sim.at_end("all values count", |facts| {
        facts.last::<Total>().is_some_and(|total| total.0 == 10)
    });
}

#[test]
fn a_value_that_a_restart_forgets_is_found() {
    let failed = assert_found("pairs", "all values count", |sim| pairs(sim, false));
    let trace = failed.trace().to_string();
    assert!(trace.contains("stage pair: panic"), "{trace}");
}

#[test]
fn a_value_that_outlives_a_restart_is_right() {
    assert_right("pairs in the kept part", |sim| pairs(sim, true));
}
