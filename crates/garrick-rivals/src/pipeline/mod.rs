//! The FizzBuzz pipeline, as stages of Garrick's and as actors of the crate `steady_state`, where it comes from.
//!
//! ```text
//!   generator --- u64 ---> worker --- Message ---> logger
//! ```
//!
//! The generator sends 0, 1, 2, ...; the worker calls each number by its name, and the logger counts the names. All
//! call the same functions for that. Each is written as its documentation recommends for throughput: batches, read and
//! written in place. The generator and the logger always work in place; the worker does in the one mode, and takes each
//! batch out into a buffer of its own in the other. What it makes then is written into the ring by Garrick's `Buffer`, and into a
//! second buffer, and from there into the ring, by the lesson of `steady_state`.

mod stages;
mod steady;

use garrick_bench::Counts;
use garrick_measure::{Clock, Contender, Effort, Measured, Result, Scenario, Span, Stopwatch};

pub(crate) const PIPELINE: Scenario = Scenario {
    name: "pipeline",
    operation: "one message through the whole FizzBuzz pipeline: a number generated, called by its name, and \
                counted; from the start of the graph to the last count; generator and worker on one thread and the \
                logger on another, or three threads",
    contenders,
};

/// How the worker handles a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// From ring to ring, in place on both sides.
    ZeroCopy,
    /// Out of the ring into a buffer of its own.
    DoubleBuffer,
}

/// What a pipeline is to be like.
#[derive(Debug, Clone, Copy)]
struct Plan {
    mode: Mode,
    /// Slots of each channel.
    capacity: usize,
    /// 2, or 3: one for each stage.
    threads: usize,
    /// Messages to send.
    messages: u64,
}

/// The modes by their names.
const MODES: [(&str, Mode); 2] = [
    ("zero-copy", Mode::ZeroCopy),
    ("double-buffer", Mode::DoubleBuffer),
];

/// Slots of the channels: what is enough here, and what `steady_state`'s lesson on performance recommends.
const CAPACITIES: [usize; 2] = [1 << 16, 1 << 20];

fn contenders(_: &Effort) -> Vec<Contender> {
    let mut contenders = Vec::new();
    for (name, mode) in MODES {
        for capacity in CAPACITIES {
            for threads in [2, 3] {
                let plan = Plan {
                    mode,
                    capacity,
                    threads,
                    messages: 0,
                };
                let both = [
                    by("garrick", plan, stages::run),
                    by("steady_state", plan, steady::run),
                ];
                let with_params = |contender: Contender| {
                    contender
                        .with("mode", name)
                        .with("capacity", capacity)
                        .with("threads", threads)
                };
                contenders.extend(both.map(with_params));
            }
        }
    }
    contenders
}

/// One whose pipelines are run by `run`, which says what the logger counted, and how long that took.
fn by(name: &'static str, plan: Plan, run: fn(Plan) -> Result<(Counts, Span)>) -> Contender {
    Contender::fitted(name, move |messages| {
        let (counts, span) = run(Plan { messages, ..plan })?;
        assert_eq!(counts, expected(messages), "every message is counted once");
        Ok(Measured::new(messages, span))
    })
}

/// What there is to count of the first `messages` numbers.
fn expected(messages: u64) -> Counts {
    let multiples_of = |divisor| messages.div_ceil(divisor);
    let (fizz, buzz, fizz_buzz) = (multiples_of(3), multiples_of(5), multiples_of(15));
    Counts {
        fizz: fizz - fizz_buzz,
        buzz: buzz - fizz_buzz,
        fizz_buzz,
        value: messages + fizz_buzz - fizz - buzz,
    }
}

/// Begins to measure the whole process.
fn watch() -> Stopwatch {
    Stopwatch::start(Clock::Process)
}
