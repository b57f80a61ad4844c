//! Commands that this build does not have, because they take long to build.

use clap::{Args, Subcommand};
use garrick_measure::commands::Ended;

/// Arguments of a command that this build does not have.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    arguments: Vec<String>,
}

/// A command that this build does not have.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure scenarios: `cargo measure bench` builds and runs it.
    #[cfg(not(feature = "bench"))]
    #[command(disable_help_flag = true)]
    Bench(Arguments),
    /// Repeat published experiments: `cargo measure suite` builds and runs it.
    #[cfg(not(feature = "bench"))]
    #[command(disable_help_flag = true)]
    Suite(Arguments),
    /// Run all kinds of work at once: `cargo measure soak` builds and runs it.
    #[cfg(not(feature = "bench"))]
    #[command(disable_help_flag = true)]
    Soak(Arguments),
    /// Watch a running process in this terminal: `cargo top` builds and runs it.
    #[cfg(not(feature = "top"))]
    #[command(disable_help_flag = true)]
    Top(Arguments),
}

impl Command {
    /// Refuses the command. The message contains the `cargo` command that builds and runs it.
    pub(crate) fn refuse(self) -> Ended {
        let (name, command, arguments) = match self {
            #[cfg(not(feature = "bench"))]
            Self::Bench(rest) => ("bench", "cargo measure bench", rest),
            #[cfg(not(feature = "bench"))]
            Self::Suite(rest) => ("suite", "cargo measure suite", rest),
            #[cfg(not(feature = "bench"))]
            Self::Soak(rest) => ("soak", "cargo measure soak", rest),
            #[cfg(not(feature = "top"))]
            Self::Top(rest) => ("top", "cargo top", rest),
        };
        let command = [&[command.to_owned()], &arguments.arguments[..]].concat();
        Ended::Refused(format!(
            "`garrick {name}` takes long to build, and is not part of this build: run `{}` in the repository",
            command.join(" ")
        ))
    }
}
