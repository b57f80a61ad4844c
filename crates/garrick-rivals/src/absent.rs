//! The subcommand `journal` of programs that are built without the feature `journal`.

use clap::{Arg, Command};
use garrick_measure::commands::{Ended, Subcommand};

/// A subcommand that only explains how to build the program with the subcommand `journal`.
pub(super) const JOURNAL: Subcommand = Subcommand {
    command: || {
        let rest = Arg::new("rest")
            .num_args(0..)
            .trailing_var_arg(true)
            .allow_hyphen_values(true)
            .hide(true);
        Command::new("journal")
            .about("Durable commands per second (not in this build: feature `journal`)")
            .arg(rest)
    },
    run: |_| Ok(Ended::Refused(WHY.to_owned())),
};

const WHY: &str = "this garrick-rivals was built without the feature `journal`; run it by \
                   `cargo rivals journal`, which enables the feature and needs a C compiler for \
                   SQLite";
