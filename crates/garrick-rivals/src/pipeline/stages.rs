//! The stages of Garrick's FizzBuzz pipeline.

use std::sync::mpsc::{self, Sender};

use garrick::flow::{Buffer, Cx, Graph, Wait, map_batch};
use garrick_bench::{Counts, Message};
use garrick_measure::{Result, Span};

use super::{Mode, Plan, watch};

/// Divisor of the output's capacity. If the output is full, the worker sleeps until `capacity /
/// FREE_PART` slots are free. So the worker is woken less often, and works longer each time.
const FREE_PART: usize = 4;
/// Divisor of the output's capacity. If the output is full, the generator sleeps until `capacity /
/// GENERATOR_FREE_PART` slots are free. Then the generator fills these slots before the worker has
/// taken the remaining numbers.
const GENERATOR_FREE_PART: usize = 2;
/// Divisor of the input's capacity. The logger sleeps until `capacity / FULL_PART` slots of its
/// input are full.
const FULL_PART: usize = 8;

pub(super) fn run(plan: Plan) -> Result<(Counts, Span)> {
    let mut graph = Graph::new();
    let (mut numbers, mut numbers_in) = graph.channel::<u64>(plan.capacity)?;
    let (mut names, mut names_in) = graph.channel::<Message>(plan.capacity)?;
    let generator = move |_: &mut Cx<'_>| {
        let next = numbers.sent();
        let left = usize::try_from(plan.messages - next).unwrap_or(usize::MAX);
        let count = numbers.produce_batch(numbers.batch().min(left), |n| next + n as u64);
        match count {
            _ if numbers.sent() == plan.messages => Wait::done(),
            0 => Wait::free(&numbers, numbers.capacity() / GENERATOR_FREE_PART),
            _ => Wait::again(),
        }
    };
    let mut buffer = Buffer::new();
    let worker = move |_: &mut Cx<'_>| {
        let max = numbers_in.batch().min(names.batch());
        let (input, output) = (&mut numbers_in, &mut names);
        let call = |number: &u64| Message::of(*number);
        let count = match plan.mode {
            Mode::ZeroCopy => map_batch(input, output, max, call),
            Mode::DoubleBuffer => buffer.map_batch(input, output, max, call),
        };
        if numbers_in.is_finished() {
            return Wait::done();
        }
        if count > 0 {
            return Wait::again();
        }
        let free = Wait::free(&names, names.capacity() / FREE_PART);
        Wait::readable(&numbers_in, numbers_in.batch()).and(free)
    };
    let (done, counted) = mpsc::channel();
    let mut counts = Counts::default();
    let logger = move |_: &mut Cx<'_>| {
        let count = names_in.consume_batch(names_in.batch(), |names| counts.add(names));
        if names_in.is_finished() {
            return end(&done, counts);
        }
        if count > 0 {
            return Wait::again();
        }
        Wait::readable(&names_in, names_in.capacity() / FULL_PART)
    };
    if plan.threads == 2 {
        let team = graph.team("numbers").source("generator", generator);
        team.stage("worker", worker);
    } else {
        graph.source("generator", generator);
        graph.stage("worker", worker);
    }
    graph.stage("logger", logger);
    let watch = watch();
    let running = graph.start()?;
    let counts = counted.recv()?;
    let span = watch.stop();
    running.join();
    Ok((counts, span))
}

/// Reports the counts of the logger, and ends this stage.
fn end(done: &Sender<Counts>, counts: Counts) -> Wait {
    // The receiver is waiting for the counts.
    let _ = done.send(counts);
    Wait::done()
}
