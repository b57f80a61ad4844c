//! Garrick's stages.

use std::sync::mpsc;

use garrick::flow::{Cx, Graph, Receiver, Sender, Wait, map_batch};
use garrick_bench::{Counts, Message, Result, Span};

use super::{Mode, Plan, watch};

/// A stage whose output is full rests until so large a part of it is free: fewer wake-ups, and longer runs in
/// between.
const FREE_PART: usize = 4;

/// Values in a buffer: both buffers stay in the first-level cache.
const BUFFER: usize = 512;

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
            0 => Wait::free(&numbers, numbers.capacity() / FREE_PART),
            _ => Wait::again(),
        }
    };
    let mut buffers = (vec![0; BUFFER], Vec::with_capacity(BUFFER));
    let worker = move |_: &mut Cx<'_>| {
        let max = numbers_in.batch().min(names.batch());
        let count = match plan.mode {
            Mode::ZeroCopy => map_batch(&mut numbers_in, &mut names, max, |n| Message::of(*n)),
            Mode::DoubleBuffer => {
                // What is taken must find room, so the room comes first.
                let max = max.min(names.free());
                double_buffer(&mut numbers_in, &mut names, max, &mut buffers)
            }
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
        Wait::readable(&names_in, names_in.batch())
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

/// Calls up to `max` numbers by their names, for which there is room, by way of `buffers`.
fn double_buffer(
    numbers: &mut Receiver<u64>,
    names: &mut Sender<Message>,
    max: usize,
    (taken, made): &mut (Vec<u64>, Vec<Message>),
) -> usize {
    let mut count = 0;
    while count < max {
        let taken = &mut taken[..BUFFER.min(max - count)];
        let some = numbers.pop_slice(taken);
        if some == 0 {
            break;
        }
        made.clear();
        made.extend(taken[..some].iter().map(|n| Message::of(*n)));
        count += names.push_slice(made);
    }
    count
}

/// The logger's end.
fn end(done: &mpsc::Sender<Counts>, counts: Counts) -> Wait {
    // Whoever waits for it has not left.
    let _ = done.send(counts);
    Wait::done()
}
