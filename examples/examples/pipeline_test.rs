//! A test of a pipeline without threads: step by step, in many orders of steps, and with injected
//! panics.
//!
//! Run it with `cargo run --release -p garrick-examples --example pipeline_test`.
use std::error::Error;
use std::sync::mpsc;

use garrick::flow::testing::Stepper;
use garrick::flow::{Graph, Restarts, stages};

/// Builds the pipeline under test: numbers are doubled and added up.
fn build(total: mpsc::Sender<u64>) -> Result<Graph, Box<dyn Error>> {
    let mut graph = Graph::new();
    let (numbers, input) = graph.channel::<u64>(8)?;
    let (output, doubles) = graph.channel::<u64>(2)?;
    graph.source("numbers", stages::produce(numbers, 1..=100));
    let double = stages::map(input, output, |n| n * 2);
    graph.stage("double", double.restarting(Restarts::unlimited()));
    let mut sum = 0;
    graph.stage(
        "sum",
        stages::consume(doubles, move |batch: &[u64]| {
            sum += batch.iter().sum::<u64>();
            // The test receives until the end.
            let _ = total.send(sum);
        }),
    );
    Ok(graph)
}

fn main() -> Result<(), Box<dyn Error>> {
    // The panics are injected on purpose.
    std::panic::set_hook(Box::new(|_| ()));

    // One step at a time.
    let (total, _totals) = mpsc::channel();
    let mut stepper = Stepper::new(build(total)?);
    while stepper.fill(1) == 0 {
        let stage = stepper.step().ok_or("no stage has anything to do")?;
        print!("{stage:>8} took a step: ");
        println!("{} | {}", stepper.fill(0), stepper.fill(1));
    }

    // Many orders of steps, which are reproducible, and a panic every few steps.
    let mut restarts = 0;
    for seed in 0..100 {
        let (total, totals) = mpsc::channel();
        let mut stepper = Stepper::new(build(total)?).seeded(seed);
        while stepper.run(5) == 5 {
            // The stage may have ended by now.
            let _ = stepper.inject_panic("double", "on purpose");
        }
        let report = stepper.finish();
        restarts += report.stages()[1].restarts;
        assert_eq!(totals.iter().last(), Some(10_100), "seed {seed}");
    }
    println!("100 orders of steps, {restarts} panics, the same sum each time");
    Ok(())
}
