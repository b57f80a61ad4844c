//! What can be typed, and what it leads to.
//!
//! Whatever is wrong with what was typed is said in one line on standard error, with exit code 2, before
//! any work begins.

mod bench;
mod console;
mod pipeline;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::scenario;
use crate::scenarios::idle_memory;

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
    /// The part of the idle-memory scenario that needs a process of its own.
    #[command(name = idle_memory::CHILD, hide = true)]
    IdleMemory {
        /// How many to make.
        actors: u64,
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
}

/// Does what the process was asked to.
pub(crate) fn run() -> ExitCode {
    let arguments = command()
        .try_get_matches()
        .and_then(|m| Arguments::from_arg_matches(&m));
    let ended = match arguments {
        Ok(arguments) => arguments.command.unwrap_or_default().run(),
        Err(error) => Ok(explain(&error)),
    };
    match ended {
        Ok(Ended::Well) => ExitCode::SUCCESS,
        Ok(Ended::Wrong(why)) => fail(&why, 1),
        Ok(Ended::Refused(why)) => fail(&why, 2),
        Err(error) => fail(&error.to_string(), 1),
    }
}

impl Default for Command {
    fn default() -> Self {
        Self::Pipeline(pipeline::Arguments::default())
    }
}

impl Command {
    fn run(self) -> scenario::Result<Ended> {
        match self {
            Self::Pipeline(arguments) => pipeline::run(&arguments),
            Self::Bench(arguments) => bench::run(&arguments),
            Self::IdleMemory { actors } => {
                let measured = idle_memory::in_this_process(actors)?;
                console::print(&serde_json::to_string(&measured)?);
                Ok(Ended::Well)
            }
        }
    }
}

/// The command line's grammar, with the scenarios' names in the help.
fn command() -> clap::Command {
    Arguments::command().mut_subcommand("bench", |bench| bench.after_help(bench::scenarios_help()))
}

fn version() -> &'static str {
    const { concat!(env!("CARGO_PKG_VERSION"), " (", env!("GARRICK_COMMIT"), ")") }
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
