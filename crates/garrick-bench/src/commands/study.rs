//! Subcommands that measure in a way of their own.

use clap::{Arg, ArgAction, ArgMatches, Command};

use super::{Ended, console};
use crate::machine;
use crate::scenario::{Result, Study};

/// The flag for less of it.
const QUICK: &str = "quick";

/// The subcommand of a study.
pub(super) fn command(study: &Study) -> Command {
    let quick = Arg::new(QUICK)
        .long(QUICK)
        .action(ArgAction::SetTrue)
        .help("Fewer rounds: some seconds in all");
    Command::new(study.name).about(study.about).arg(quick)
}

/// Does the study that was asked for, if one was.
pub(super) fn run_asked(studies: &[Study], matches: &ArgMatches) -> Option<Result<Ended>> {
    let (name, matches) = matches.subcommand()?;
    let study = studies.iter().find(|study| study.name == name)?;
    Some((study.run)(matches.get_flag(QUICK)).map(|text| {
        console::print(&format!("{text}\n\n{}", machine::provenance()));
        Ended::Well
    }))
}
