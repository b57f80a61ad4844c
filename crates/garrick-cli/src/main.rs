//! The `garrick` command: the pipeline demonstration, the benchmarks, and a view of running
//! processes.
#![forbid(unsafe_code)]

mod logging;
mod top;

mod telemetry;

mod pipeline;
mod soak;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use garrick_bench::{Child, SAVINA, SCENARIOS, SUITES, SWEPT};
use garrick_measure::Result;
use garrick_measure::commands::{Ended, bench, exit, parse, suite, told, version};

/// Garrick: actors and pipelines.
#[derive(Debug, Parser)]
#[command(name = "garrick", version = version())]
struct Arguments {
    /// The pipeline, with its defaults, if there is none.
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the pipeline: a generator, a worker with its heartbeat, and a logger.
    Pipeline(pipeline::Arguments),
    /// Measure scenarios, each beside an atomic addition and other ways to do the same.
    Bench(bench::Arguments),
    #[command(about = suite::ABOUT)]
    Suite(suite::Arguments),
    /// Run all kinds of work at once for minutes, check the results, and watch the memory.
    Soak(soak::Arguments),
    /// Watch a running process in this terminal.
    Top(top::Arguments),
    #[command(flatten)]
    Child(Child),
}

/// Everything that `garrick bench` measures.
const OFFER: bench::Offer = bench::Offer {
    scenarios: SCENARIOS,
    more: SAVINA,
    swept: SWEPT,
};

impl Default for Command {
    fn default() -> Self {
        Self::Pipeline(pipeline::Arguments::default())
    }
}

impl Command {
    fn run(self) -> Result<Ended> {
        match self {
            Self::Pipeline(arguments) => pipeline::run(&arguments),
            Self::Bench(arguments) => bench::run(&arguments, OFFER),
            Self::Suite(arguments) => suite::run(&arguments, SUITES),
            Self::Soak(arguments) => soak::run(&arguments),
            Self::Top(arguments) => top::run(arguments),
            Self::Child(child) => told(&child.run()?),
        }
    }
}

fn main() -> ExitCode {
    let bench_help = bench::scenarios_help("garrick bench", OFFER);
    let suites_help = suite::suites_help("garrick", SUITES);
    // Grammar of the command line, with the names of scenarios and suites in the help.
    let command = Arguments::command()
        .mut_subcommand("bench", |bench| bench.after_help(bench_help))
        .mut_subcommand(suite::NAME, |suite| suite.after_help(suites_help));
    match parse::<Arguments>(command) {
        Ok(arguments) => exit(arguments.command.unwrap_or_default().run()),
        Err(ended) => exit(Ok(ended)),
    }
}
