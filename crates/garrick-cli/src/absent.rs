//! Commands that are not part of this build, because they take a long time to compile.

use clap::{Args, Subcommand};
use garrick_measure::commands::Ended;

/// Arguments of a command that is not part of this build.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    arguments: Vec<String>,
}

/// A command that is not part of this build.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure scenarios. Not part of this build: run `cargo measure bench` instead.
    #[cfg(not(feature = "bench"))]
    #[command(disable_help_flag = true)]
    Bench(Arguments),
    /// Repeat published experiments. Not part of this build: run `cargo measure suite` instead.
    #[cfg(not(feature = "bench"))]
    #[command(disable_help_flag = true)]
    Suite(Arguments),
    /// Run all kinds of work at once. Not part of this build: run `cargo measure soak` instead.
    #[cfg(not(feature = "bench"))]
    #[command(disable_help_flag = true)]
    Soak(Arguments),
    /// Run a cluster of processes and kill them, or look at a running cluster. Not part of this
    /// build: run `cargo cluster` instead.
    #[cfg(not(feature = "cluster"))]
    #[command(disable_help_flag = true)]
    Cluster(Arguments),
    /// Watch a running process in this terminal. Not part of this build: run `cargo top` instead.
    #[cfg(not(feature = "top"))]
    #[command(disable_help_flag = true)]
    Top(Arguments),
}

impl Command {
    /// Returns the error for a command that is not part of this build. The error names the `cargo`
    /// command that builds and runs the missing command.
    pub(crate) fn refuse(self) -> Ended {
        let (name, command, arguments) = match self {
            #[cfg(not(feature = "bench"))]
            Self::Bench(rest) => ("bench", "cargo measure bench", rest),
            #[cfg(not(feature = "bench"))]
            Self::Suite(rest) => ("suite", "cargo measure suite", rest),
            #[cfg(not(feature = "bench"))]
            Self::Soak(rest) => ("soak", "cargo measure soak", rest),
            #[cfg(not(feature = "cluster"))]
            Self::Cluster(rest) => ("cluster", "cargo cluster", rest),
            #[cfg(not(feature = "top"))]
            Self::Top(rest) => ("top", "cargo top", rest),
        };
        let command = [&[command.to_owned()], &arguments.arguments[..]].concat();
        Ended::Refused(format!(
            "`garrick {name}` is not part of this build, because it takes a long time to compile: \
             run `{}` in the repository instead",
            command.join(" ")
        ))
    }
}
