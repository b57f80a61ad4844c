//! Subcommands that a build without their features does not have.

use clap::{Arg, Command};
use garrick_measure::commands::{Ended, Subcommand};

/// A subcommand that only explains how to build the program with the subcommand `journal`.
#[cfg(not(feature = "journal"))]
pub(super) const JOURNAL: Subcommand = Subcommand {
    command: || {
        command(
            "journal",
            "Durable commands per second (not in this build: feature `journal`)",
        )
    },
    run: |_| {
        refused(
            "this garrick-rivals was built without the feature `journal`; run it by `cargo rivals \
             journal`, which enables the feature and needs a C compiler for SQLite",
        )
    },
};

/// A subcommand that only explains how to build the program with the subcommand `far`.
#[cfg(not(feature = "far"))]
pub(super) const FAR: Subcommand = Subcommand {
    command: || {
        command(
            "far",
            "Messages between two nodes (not in this build: feature `far`)",
        )
    },
    run: |_| {
        refused(
            "this garrick-rivals was built without the feature `far`; run it by `cargo far`, which \
             enables the feature",
        )
    },
};

/// Returns a command that accepts all arguments.
fn command(name: &'static str, about: &'static str) -> Command {
    let rest = Arg::new("rest")
        .num_args(0..)
        .trailing_var_arg(true)
        .allow_hyphen_values(true)
        .hide(true);
    Command::new(name).about(about).arg(rest)
}

fn refused(why: &str) -> garrick_measure::Result<Ended> {
    Ok(Ended::Refused(why.to_owned()))
}
