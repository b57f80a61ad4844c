//! The `garrick` command: the pipeline demonstration, the benchmarks, and a view of running
//! processes.
#![forbid(unsafe_code)]

mod logging;
mod token;

mod telemetry;
#[cfg(feature = "top")]
mod top;

#[cfg(feature = "cluster")]
mod cluster;
mod journal;
mod pipeline;
#[cfg(feature = "bench")]
mod soak;

#[cfg(not(all(feature = "bench", feature = "cluster", feature = "top")))]
mod absent;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
#[cfg(feature = "bench")]
use garrick_bench::{Child, SAVINA, SCENARIOS, SUITES, SWEPT};
use garrick_measure::Result;
use garrick_measure::commands::{Ended, exit, parse, version};
#[cfg(feature = "bench")]
use garrick_measure::commands::{bench, suite, told};

/// Garrick: actors and pipelines.
#[derive(Debug, Parser)]
#[command(name = "garrick", version = version())]
struct Arguments {
    /// The command. Without a command, the pipeline runs with its defaults.
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the demonstration pipeline: a generator, a worker with a heartbeat, and a logger.
    Pipeline(pipeline::Arguments),
    /// Show, check or compact the journals of durable actors in a folder.
    #[command(subcommand)]
    Journal(journal::Command),
    /// Measure scenarios, and compare them with an atomic addition and with other implementations.
    #[cfg(feature = "bench")]
    Bench(bench::Arguments),
    #[cfg(feature = "bench")]
    #[command(about = suite::ABOUT)]
    Suite(suite::Arguments),
    /// Run all kinds of work at once for minutes, check the results, and check that memory does not
    /// grow.
    #[cfg(feature = "bench")]
    Soak(soak::Arguments),
    /// Run a cluster of processes and kill them, or look at a running cluster.
    #[cfg(feature = "cluster")]
    #[command(subcommand)]
    Cluster(cluster::Command),
    /// Watch a running process in this terminal.
    #[cfg(feature = "top")]
    Top(top::Arguments),
    #[cfg(feature = "bench")]
    #[command(flatten)]
    Child(Child),
    #[cfg(not(all(feature = "bench", feature = "cluster", feature = "top")))]
    #[command(flatten)]
    Absent(absent::Command),
}

/// All scenarios that `garrick bench` can measure.
#[cfg(feature = "bench")]
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
            Self::Journal(command) => journal::run(&command),
            #[cfg(feature = "bench")]
            Self::Bench(arguments) => bench::run(&arguments, OFFER),
            #[cfg(feature = "bench")]
            Self::Suite(arguments) => suite::run(&arguments, SUITES),
            #[cfg(feature = "bench")]
            Self::Soak(arguments) => soak::run(&arguments),
            #[cfg(feature = "cluster")]
            Self::Cluster(command) => cluster::run(command),
            #[cfg(feature = "top")]
            Self::Top(arguments) => top::run(arguments),
            #[cfg(feature = "bench")]
            Self::Child(child) => told(&child.run()?),
            #[cfg(not(all(feature = "bench", feature = "cluster", feature = "top")))]
            Self::Absent(command) => Ok(command.refuse()),
        }
    }
}

/// Returns the parser of the command line. Its help contains the names of scenarios and suites.
#[cfg(feature = "bench")]
fn grammar() -> clap::Command {
    let bench_help = bench::scenarios_help("garrick bench", OFFER);
    let suites_help = suite::suites_help("garrick", SUITES);
    Arguments::command()
        .mut_subcommand("bench", |bench| bench.after_help(bench_help))
        .mut_subcommand(suite::NAME, |suite| suite.after_help(suites_help))
}

/// Returns the parser of the command line.
#[cfg(not(feature = "bench"))]
fn grammar() -> clap::Command {
    Arguments::command()
}

fn main() -> ExitCode {
    match parse::<Arguments>(grammar()) {
        Ok(arguments) => exit(arguments.command.unwrap_or_default().run()),
        Err(ended) => exit(Ok(ended)),
    }
}
