//! A pipeline that reads, parses and stores lines. Its second stage is slow.

use std::error::Error;
use std::thread;
use std::time::Duration;

use garrick::flow::{Graph, Slots, stages};
use garrick::telemetry::{Snapshot, Telemetry};

use super::program::Program;

/// Capacity of the channels in messages.
const CAPACITY: usize = 256;

/// Minimum share of filled slots at which telemetry calls a channel full.
const FULL: f64 = 0.75;

/// Time that the parser takes for each line.
const PARSE: Duration = Duration::from_micros(200);

pub(super) fn start(telemetry: &Telemetry) -> Result<Program, Box<dyn Error>> {
    let mut graph = Graph::new();
    let (lines, lines_in) = graph.channel::<u64>(Slots::of(CAPACITY).named("lines"))?;
    let (records, records_in) = graph.channel::<u64>(Slots::of(CAPACITY).named("records"))?;
    graph.source("reader", stages::produce(lines, 0..));
    let parse = |line: &u64| {
        thread::sleep(PARSE);
        line * 2
    };
    graph.stage("parser", stages::map(lines_in, records, parse));
    graph.stage("store", stages::consume(records_in, |_: &[u64]| ()));
    let running = graph.start()?;
    telemetry.watch(running.monitor());
    Ok(Program::of(running))
}

pub(super) fn found(seen: &Snapshot) -> Option<String> {
    let pipeline = seen.pipelines.iter().find(|one| one.bottleneck.is_some())?;
    let input = seen
        .edges
        .iter()
        .find(|edge| edge.to == pipeline.bottleneck)?;
    if input.fill_p80 < FULL {
        return None;
    }
    Some(format!(
        "{} The channel {} is {:.0} % full.",
        pipeline.text,
        input.name.as_deref()?,
        input.fill_p80 * 100.0
    ))
}
