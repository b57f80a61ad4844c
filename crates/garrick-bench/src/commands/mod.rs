//! What can be typed, and what it leads to.
//!
//! Whatever is wrong with what was typed is said in one line on standard error, with exit code 2, before
//! any work begins.

mod console;
mod logging;
mod outputs;
mod progress;
mod study;
mod top;

mod flags;

mod bench;
mod own;
mod suite;

mod telemetry;

mod pipeline;

mod soak;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::experiment::Experiment;
use crate::savina;
use crate::scenario::{self, Measured, Scenario, Study};
use crate::scenarios::flood_memory::{self, When};
use crate::scenarios::{SCENARIOS, SWEPT, fork_bomb, idle_cpu, idle_memory, rest_memory};
use crate::suite::Suite;
use crate::suites::SUITES;

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
    /// Work of all kinds at once for minutes, checked, with an eye on memory.
    Soak(soak::Arguments),
    /// Watch a running process in this terminal.
    Top(top::Arguments),
    /// The part of the idle-memory scenario that needs a process of its own.
    #[command(name = idle_memory::CHILD, hide = true)]
    IdleMemory {
        /// How many to make.
        actors: u64,
    },
    /// The part of the idle-cpu scenario that needs a process of its own.
    #[command(name = idle_cpu::CHILD, hide = true)]
    IdleCpu {
        /// How long to watch.
        seconds: u64,
    },
    /// The part of the flood-memory scenario that needs a process of its own.
    #[command(name = flood_memory::CHILD_PEAK, hide = true)]
    FloodPeak {
        /// How many to send.
        messages: u64,
    },
    /// The other part of it.
    #[command(name = flood_memory::CHILD_REST, hide = true)]
    FloodRest {
        /// How many to send.
        messages: u64,
    },
    /// The part of the timer-memory scenario that needs a process of its own.
    #[command(name = rest_memory::CHILD_TIMERS, hide = true)]
    TimerMemory {
        /// Timers to start and cancel.
        timers: u64,
        /// Timers that are there at once.
        #[arg(value_parser = clap::value_parser!(u64).range(1..))]
        at_once: u64,
    },
    /// The part of the ask-memory scenario that needs a process of its own.
    #[command(name = rest_memory::CHILD_ASKS, hide = true)]
    AskMemory {
        /// Questions to ask.
        asks: u64,
    },
    /// The part of the fork-bomb suite that needs a process of its own.
    #[command(name = fork_bomb::CHILD, hide = true)]
    ForkBomb {
        /// How deep the tree is to be.
        #[arg(value_parser = clap::value_parser!(u32).range(0..=24))]
        depth: u32,
    },
}

/// How a command ended.
enum Ended {
    /// As it should.
    Well,
    /// With a result that is wrong.
    Wrong(String),
    /// Not even begun, for what was asked cannot be.
    Refused(String),
    /// Before its time, with what there is of it.
    Interrupted(String),
}

/// Does what the process was asked to as the `garrick` command, and returns how it is to exit.
pub fn run() -> ExitCode {
    let bench_help = bench::scenarios_help("garrick bench", OFFER);
    let suites_help = suite::suites_help("garrick", SUITES);
    // The command line's grammar, with the names of scenarios and suites in the help.
    let command = Arguments::command()
        .mut_subcommand("bench", |bench| bench.after_help(bench_help))
        .mut_subcommand(suite::NAME, |suite| suite.after_help(suites_help));
    match parse::<Arguments>(command) {
        Ok(arguments) => exit(arguments.command.unwrap_or_default().run()),
        Err(ended) => exit(Ok(ended)),
    }
}

/// Does what the process was asked to as a command called `name` that measures `scenarios`, and returns how it
/// is to exit: `garrick bench` for another list. `about` is the first line of its help. Each of the `studies` is a
/// subcommand; of the `suites`, if there are any, `suite` is.
pub fn measure(
    name: &'static str,
    about: &'static str,
    scenarios: &'static [Scenario],
    studies: &'static [Study],
    suites: &'static [Suite],
) -> ExitCode {
    let offer = bench::Offer {
        scenarios,
        more: &[],
        swept: &[],
    };
    let command = bench::Arguments::augment_args(clap::Command::new(name))
        .about(about)
        .version(version())
        .args_conflicts_with_subcommands(true)
        .disable_help_subcommand(true)
        .subcommands(studies.iter().map(study::command))
        .subcommands((!suites.is_empty()).then(|| suite::command(name, suites)))
        .after_help(bench::scenarios_help(name, offer));
    let matches = match command.try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return exit(Ok(explain(&error))),
    };
    if let Some(ended) = study::run_asked(studies, &matches) {
        return exit(ended);
    }
    if let Some(matches) = matches.subcommand_matches(suite::NAME) {
        let arguments = suite::Arguments::from_arg_matches(matches);
        return ended(arguments, |arguments| suite::run(arguments, suites));
    }
    let arguments = bench::Arguments::from_arg_matches(&matches);
    ended(arguments, |arguments| bench::run(arguments, offer))
}

/// Does what the process was asked to as a command that measures `experiment`, and returns how it is to exit:
/// with flags for files, pictures and comparisons as `garrick bench` has them, and a progress bar. Ctrl-C keeps
/// what was measured.
///
/// # Examples
/// ```no_run
/// use std::process::ExitCode;
/// use garrick_bench::{Dut, Experiment};
///
/// fn main() -> ExitCode {
///     let sum = Dut::new("sum", |_| || (0..1000_u64).map(std::hint::black_box).sum::<u64>());
///     garrick_bench::experiment(Experiment::new("sum", "adding 1000 numbers").dut(sum))
/// }
/// ```
pub fn experiment(experiment: Experiment) -> ExitCode {
    let about = format!("{}: {}", experiment.name(), experiment.operation());
    // What is shown is the name of the program's file.
    let command = own::Arguments::augment_args(clap::Command::new("experiment")).about(about);
    match parse(command) {
        Ok(arguments) => exit(own::run(&arguments, experiment)),
        Err(ended) => exit(Ok(ended)),
    }
}

/// What `garrick bench` measures.
const OFFER: bench::Offer = bench::Offer {
    scenarios: SCENARIOS,
    more: savina::SCENARIOS,
    swept: SWEPT,
};

impl Default for Command {
    fn default() -> Self {
        Self::Pipeline(pipeline::Arguments::default())
    }
}

impl Command {
    fn run(self) -> scenario::Result<Ended> {
        match self {
            Self::Pipeline(arguments) => pipeline::run(&arguments),
            Self::Bench(arguments) => bench::run(&arguments, OFFER),
            Self::Suite(arguments) => suite::run(&arguments, SUITES),
            Self::Soak(arguments) => soak::run(&arguments),
            Self::Top(arguments) => top::run(arguments),
            Self::IdleMemory { actors } => told(&idle_memory::in_this_process(actors)?),
            Self::IdleCpu { seconds } => told(&idle_cpu::in_this_process(seconds)?),
            Self::FloodPeak { messages } => {
                told(&flood_memory::in_this_process(messages, When::Peak)?)
            }
            Self::FloodRest { messages } => {
                told(&flood_memory::in_this_process(messages, When::Rest)?)
            }
            Self::TimerMemory { timers, at_once } => {
                told(&rest_memory::timers_in_this_process(timers, at_once)?)
            }
            Self::AskMemory { asks } => told(&rest_memory::asks_in_this_process(asks)?),
            Self::ForkBomb { depth } => told(&fork_bomb::in_this_process(depth)?),
        }
    }
}

/// Tells the process that has asked for it what was measured.
fn told(measured: &Measured) -> scenario::Result<Ended> {
    console::print(&serde_json::to_string(measured)?);
    Ok(Ended::Well)
}

fn version() -> &'static str {
    const { concat!(env!("CARGO_PKG_VERSION"), " (", env!("GARRICK_COMMIT"), ")") }
}

/// What was typed, or how the command ends without it.
fn parse<A: FromArgMatches>(command: clap::Command) -> Result<A, Ended> {
    command
        .try_get_matches()
        .and_then(|matches| A::from_arg_matches(&matches))
        .map_err(|error| explain(&error))
}

/// Runs a command with what was typed, if that makes sense.
fn ended<A>(
    arguments: Result<A, clap::Error>,
    run: impl FnOnce(&A) -> scenario::Result<Ended>,
) -> ExitCode {
    match arguments {
        Ok(arguments) => exit(run(&arguments)),
        Err(error) => exit(Ok(explain(&error))),
    }
}

/// Says what there is to say of how a command ended, and makes its exit code.
fn exit(ended: scenario::Result<Ended>) -> ExitCode {
    match ended {
        Ok(Ended::Well) => ExitCode::SUCCESS,
        Ok(Ended::Wrong(why)) => fail(&why, 1),
        Ok(Ended::Refused(why)) => fail(&why, 2),
        Ok(Ended::Interrupted(kept)) => fail(&format!("interrupted; {kept}"), 130),
        Err(error) => fail(&error.to_string(), 1),
    }
}

/// Help is printed as it is; of an error, what it says before it goes on to tips and usage.
fn explain(error: &clap::Error) -> Ended {
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    ) {
        console::print(error.render().to_string().trim_end());
        return Ended::Well;
    }
    let text = error.render().to_string();
    let said = text.split("\n\n").next().unwrap_or(&text);
    let words: Vec<&str> = said
        .split_whitespace()
        .skip_while(|word| *word == "error:")
        .collect();
    Ended::Refused(words.join(" "))
}

fn fail(why: &str, code: u8) -> ExitCode {
    eprintln!("error: {why}");
    ExitCode::from(code)
}
