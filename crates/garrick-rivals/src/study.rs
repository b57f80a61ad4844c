//! Options, checks and remarks that the studies `far` and `journal` have in common.

use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, value_parser};

pub(crate) const QUICK: &str = "quick";
pub(crate) const JSON: &str = "json";
const ONLY: &str = "only";

/// Returns the option for one short round.
pub(crate) fn quick() -> Arg {
    let flag = Arg::new(QUICK).long(QUICK).action(ArgAction::SetTrue);
    flag.help("Run one short round")
}

/// Returns the option that selects some of the contenders with these names.
pub(crate) fn only(names: impl Iterator<Item = &'static str>) -> Arg {
    Arg::new(ONLY)
        .long(ONLY)
        .value_name("CONTENDERS")
        .action(ArgAction::Append)
        .value_delimiter(',')
        .value_parser(PossibleValuesParser::new(names))
        .help("Run only these contenders, separated by commas")
}

/// Returns the option for a file with the results. `beside` is the usual output.
pub(crate) fn json(beside: &str) -> Arg {
    Arg::new(JSON)
        .long(JSON)
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .help(format!(
            "Write the results to this file as JSON, in addition to the {beside}"
        ))
}

/// Returns true if the option [`only`] selects the contender with this name, or is not given.
pub(crate) fn is_chosen(matches: &ArgMatches, name: &str) -> bool {
    let only = matches.get_many::<String>(ONLY);
    only.is_none_or(|mut only| only.any(|one| one == name))
}

/// Checks that the file can be written, so that an error is found before a run that takes minutes.
pub(crate) fn check_json(file: &Path) -> Result<(), String> {
    let opened = OpenOptions::new().append(true).create(true).open(file);
    opened.map(drop).map_err(|error| unwritable(file, &error))
}

pub(crate) fn unwritable(path: &Path, error: &io::Error) -> String {
    format!("cannot write to '{}': {error}", path.display())
}

/// Returns lines that name the contenders that were not measured, and all errors. `part` is a word
/// for a part of the study that can fail.
pub(crate) fn unmeasured(missing: &[(&str, String)], failed: &[String], part: &str) -> String {
    let mut text = String::new();
    for (name, why) in missing {
        text += &format!("\n{name} was not measured: {why}");
    }
    for failed in failed {
        text += &format!("\na {part} failed: {failed}");
    }
    text
}

/// Returns a line with the name and the description of each contender. Repeated contenders are
/// described once.
pub(crate) fn described(contenders: impl Iterator<Item = (&'static str, &'static str)>) -> String {
    let (mut text, mut told) = (String::new(), Vec::new());
    for (name, about) in contenders {
        if !told.contains(&name) {
            told.push(name);
            text += &format!("\n{name:14} {about}");
        }
    }
    text
}
