//! A pipeline of three stages, each on its own thread: numbers, their squares, and the sum of the
//! squares.
//!
//! Run it with `cargo run --release -p garrick-examples --example pipeline`.
use std::error::Error;
use std::sync::mpsc;

use garrick::flow::{Cx, Graph, Wait, map_batch, stages};

fn main() -> Result<(), Box<dyn Error>> {
    let mut graph = Graph::new();
    let (numbers_out, mut numbers) = graph.channel::<u64>(4096)?;
    let (mut squares_out, squares) = graph.channel::<u64>(4096)?;

    // Standard stages are ready to use.
    graph.source("numbers", stages::produce(numbers_out, 1..=1_000_000));

    // A custom stage does the work that is possible now, and then returns what to wait for.
    graph.stage("square", move |_: &mut Cx<'_>| {
        map_batch(&mut numbers, &mut squares_out, usize::MAX, |n| n * n);
        if numbers.is_finished() || squares_out.is_closed() {
            return Wait::done();
        }
        Wait::readable(&numbers, 1024).and(Wait::free(&squares_out, 1024))
    });

    let (result, results) = mpsc::channel();
    let mut sum = 0;
    graph.stage(
        "sum",
        stages::consume(squares, move |batch: &[u64]| {
            sum += batch.iter().sum::<u64>();
            // The receiver lives until the end of `main`.
            let _ = result.send(sum);
        }),
    );

    let report = graph.start()?.join();
    for stage in report.stages() {
        println!(
            "{:>8}: {} in, {} out, {} steps",
            stage.name, stage.messages_in, stage.messages_out, stage.steps
        );
    }
    println!(
        "the sum of the squares is {}",
        results.iter().last().ok_or("no sum")?
    );
    Ok(())
}
