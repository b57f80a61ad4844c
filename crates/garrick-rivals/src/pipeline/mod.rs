//! The FizzBuzz pipeline from a lesson of the crate `steady_state`. It is measured as stages of
//! Garrick, and as actors of `steady_state`.
//!
//! ```text
//!   generator --- u64 ---> worker --- Message ---> logger
//! ```
//!
//! The generator sends 0, 1, 2, ... The worker converts each number to its FizzBuzz name, and the
//! logger counts the names. All contenders call the same functions for this work. Each contender is
//! written as its documentation recommends for throughput: messages are read and written in place,
//! in batches. The generator and the logger always work in place. The worker works in place in one
//! mode. In the other mode, it first moves each batch into a separate buffer. Garrick's `Buffer`
//! then writes the results into the ring. The lesson of `steady_state` writes the results into a
//! second buffer, and from there into the ring.
//!
//! `steady_state` takes part only if the feature `steady` is enabled, as in `cargo rivals`.

mod stages;
#[cfg(feature = "steady")]
mod steady;

use garrick_bench::Counts;
use garrick_measure::{Clock, Contender, Effort, Measured, Result, Scenario, Span, Stopwatch};

pub(crate) const PIPELINE: Scenario = Scenario {
    name: "pipeline",
    operation: "one message through the whole FizzBuzz pipeline: a number is generated, converted \
                into its name, and counted; time runs from the start of the graph to the last \
                count; with threads=2 the logger has a separate thread, with threads=3 each stage \
                has one",
    contenders,
};

/// The method by which the worker handles a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Reads messages directly in the input ring, and writes messages directly in the output ring.
    ZeroCopy,
    /// Moves each batch from the input ring into a separate buffer, and reads the batch from there.
    DoubleBuffer,
}

/// The parameters of a pipeline.
#[derive(Debug, Clone, Copy)]
struct Plan {
    mode: Mode,
    /// Number of slots of each channel.
    capacity: usize,
    /// Number of threads: 2, or 3 if each stage has a separate thread.
    threads: usize,
    messages: u64,
}

/// The modes of the worker, each with its name.
const MODES: [(&str, Mode); 2] = [
    ("zero-copy", Mode::ZeroCopy),
    ("double-buffer", Mode::DoubleBuffer),
];

/// Measured capacities of the channels, in slots. The first capacity is enough for this pipeline.
/// The lesson of `steady_state` on performance recommends the second one.
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
                    #[cfg(feature = "steady")]
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

/// Creates a contender whose pipelines are run by the function `run`. This function returns the
/// counts of the logger, and the duration of the run.
fn by(name: &'static str, plan: Plan, run: fn(Plan) -> Result<(Counts, Span)>) -> Contender {
    Contender::fitted(name, move |messages| {
        let (counts, span) = run(Plan { messages, ..plan })?;
        assert_eq!(counts, expected(messages), "every message is counted once");
        Ok(Measured::new(messages, span))
    })
}

/// Returns the expected counts of the first `messages` numbers.
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

/// Starts a stopwatch for the wall time, and for the CPU time of the whole process.
fn watch() -> Stopwatch {
    Stopwatch::start(Clock::Process)
}
