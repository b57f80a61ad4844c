//! A pipeline prices the orders of a batch, and an actor adds the prices up. The source closes the
//! batch when it has sent the last order. But other orders may still be in the pipeline.

use std::thread;

use garrick_actor::{Actor, Address, Context};
use garrick_flow::{Cx, Graph, Receiver, Sender, Wait, stages};
use garrick_sim::{Check, Sim};

use crate::{SEEDS, assert_found, assert_right};

/// Number of orders in the batch.
const ORDERS: u64 = 3;

/// A fact: the total of the batch when it was closed.
#[derive(Debug)]
struct Closed {
    total: u64,
}

#[derive(Debug)]
enum Booking {
    Price(u64),
    Close,
}

/// An actor that adds up the prices of a batch.
#[derive(Default)]
struct Till {
    total: u64,
    is_closed: bool,
}

impl Actor for Till {
    type Msg = Booking;
    type Outcome = ();

    fn receive(&mut self, booking: Booking, cx: &mut Context<'_, Booking>) {
        match booking {
            Booking::Price(price) if !self.is_closed => self.total += price,
            Booking::Price(_) => {}
            Booking::Close => {
                self.is_closed = true;
                cx.note(Closed { total: self.total });
            }
        }
    }
}

/// Returns a source that sends the orders, and then closes the batch at the cash register `till`,
/// if `till` is given.
fn orders(
    mut output: Sender<u64>,
    till: Option<Address<Booking>>,
) -> impl FnMut(&mut Cx<'_>) -> Wait {
    let mut next = 1;
    move |_| {
        while next <= ORDERS && output.try_push(next).is_ok() {
            next += 1;
        }
        if next <= ORDERS {
            return Wait::free(&output, 1);
        }
        if let Some(till) = &till {
            let _ = till.send(Booking::Close);
        }
        Wait::done()
    }
}

/// Returns a stage that books the prices, and then closes the batch if `closes` is true.
fn book(
    mut input: Receiver<u64>,
    till: Address<Booking>,
    closes: bool,
) -> impl FnMut(&mut Cx<'_>) -> Wait {
    move |_| {
        input.consume_batch(usize::MAX, |prices| {
            for price in prices {
                let _ = till.send(Booking::Price(*price));
            }
        });
        if !input.is_finished() {
            return Wait::readable(&input, 1);
        }
        if closes {
            let _ = till.send(Booking::Close);
        }
        Wait::done()
    }
}

/// Sets up the pipeline. If `is_right` is true, the stage that books prices closes the batch.
/// Otherwise, the source closes it.
fn batch(sim: &mut Sim, is_right: bool) {
    let node = sim.node("shop");
    let till = node.spawn(Till::default()).unwrap();
    let mut graph = Graph::new();
    let (numbers, numbers_in) = graph.channel(2).unwrap();
    let (prices, prices_in) = graph.channel(2).unwrap();
    let closed_early = (!is_right).then(|| till.clone());
    graph.source("orders", orders(numbers, closed_early));
    graph.stage("price", stages::map(numbers_in, prices, |order| order * 10));
    graph.stage("book", book(prices_in, till, is_right));
    let pipeline = node.run(graph).unwrap();
    sim.at_end("all prices are in the total", |facts| {
        facts
            .last::<Closed>()
            .is_some_and(|closed| closed.total == 60)
    });
    sim.at_end("the pipeline ends", move |_| pipeline.has_ended());
}

#[test]
fn a_batch_that_its_source_closes_is_found() {
    let failed = assert_found("batch", "all prices are in the total", |sim| {
        batch(sim, false);
    });
    let trace = failed.trace().to_string();
    assert!(trace.contains("stage orders steps"), "{trace}");
    assert!(trace.contains("stage orders -> Till#1: Booking"), "{trace}");
}

#[test]
fn a_batch_that_its_last_stage_closes_is_right() {
    assert_right("batch closed by the last stage", |sim| batch(sim, true));
}

#[test]
fn a_seed_leads_to_the_same_run_on_each_thread() {
    let run = || {
        let check = Check::new("batch on threads").first_seed(7).seeds(SEEDS);
        let failed = check.run(|sim| batch(sim, false)).unwrap_err();
        let moves = failed.moves().to_vec();
        (failed.seed(), moves, failed.trace().to_string())
    };
    let runs = [thread::spawn(run), thread::spawn(run)];
    let [one, other] = runs.map(|run| run.join().unwrap());
    assert_eq!(one, other);
    assert_eq!(one, run());
}
