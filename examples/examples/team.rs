//! Runs the same stages with a thread for each stage, and as a team that shares one thread. Only
//! the construction of the graph differs.
//!
//! A team has no wake-ups between threads, and its messages stay in one core's cache. Stages on
//! separate threads can work at the same time. The work of the stages determines which of the two
//! is faster.
//!
//! Run it with `cargo run --release -p garrick-examples --example team`.
use std::error::Error;
use std::time::Instant;

use garrick::flow::{Graph, Report, stages};

const NUMBERS: u64 = 20_000_000;

/// Builds the pipeline, on one thread or on three, and runs it.
fn run(is_team: bool) -> Result<Report, Box<dyn Error>> {
    let mut graph = Graph::new();
    let (numbers_out, numbers) = graph.channel::<u64>(1 << 14)?;
    let (odd_out, odd) = graph.channel::<bool>(1 << 14)?;
    let numbers = (
        stages::produce(numbers_out, 0..NUMBERS),
        stages::map(numbers, odd_out, |n| n % 2 == 1).wait_for(4096),
        stages::consume(odd, |batch: &[bool]| assert!(!batch.is_empty())).wait_for(4096),
    );
    if is_team {
        let team = graph.team("all");
        team.source("numbers", numbers.0)
            .stage("odd", numbers.1)
            .stage("check", numbers.2);
    } else {
        graph.source("numbers", numbers.0);
        graph.stage("odd", numbers.1);
        graph.stage("check", numbers.2);
    }
    Ok(graph.start()?.join())
}

fn main() -> Result<(), Box<dyn Error>> {
    for (name, is_team) in [
        ("a thread for each stage", false),
        ("one thread for all", true),
    ] {
        let began = Instant::now();
        let report = run(is_team)?;
        let rate = NUMBERS as f64 / began.elapsed().as_secs_f64() / 1e6;
        let rests: u64 = report.stages().iter().map(|stage| stage.rests).sum();
        println!("{name}: {rate:.0} million messages a second, {rests} rests");
        assert_eq!(report.channels()[1].taken, NUMBERS);
    }
    Ok(())
}
