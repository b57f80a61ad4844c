//! Subcommands that measure by their own methods and print their own tables.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command};

use super::{Ended, console};
use crate::machine;
use crate::scenario::{Result, Section, Study};

/// Name of the flag for a shorter run.
const QUICK: &str = "quick";

/// Name of the flag that chooses sections.
const ONLY: &str = "only";

/// Returns the subcommand that runs `study`.
pub(super) fn command(study: &Study) -> Command {
    let quick = Arg::new(QUICK)
        .long(QUICK)
        .action(ArgAction::SetTrue)
        .help("Run fewer rounds, which takes a few seconds in total");
    let command = Command::new(study.name).about(study.about).arg(quick);
    if study.sections.len() < 2 {
        return command;
    }
    let names = study.sections.iter().map(|section| section.name);
    command.arg(
        Arg::new(ONLY)
            .long(ONLY)
            .value_name("SECTIONS")
            .action(ArgAction::Append)
            .value_delimiter(',')
            .value_parser(PossibleValuesParser::new(names))
            .help("Run only these sections, separated by commas"),
    )
}

/// Runs the study that the command line requests. Returns `None` if no study is requested.
pub(super) fn run_asked(studies: &[Study], matches: &ArgMatches) -> Option<Result<Ended>> {
    let (name, matches) = matches.subcommand()?;
    let study = studies.iter().find(|study| study.name == name)?;
    let sections = chosen(study, matches);
    Some(run(&sections, matches.get_flag(QUICK)).map(|text| {
        console::print(&format!("{text}\n\n{}", machine::provenance()));
        Ended::Well
    }))
}

/// Returns the requested sections in the order of the study, or all sections if none are requested.
fn chosen<'a>(study: &'a Study, matches: &ArgMatches) -> Vec<&'a Section> {
    // A study with a single section has no such flag.
    let only = matches.try_get_many::<String>(ONLY).ok().flatten();
    let only: Option<Vec<&String>> = only.map(Iterator::collect);
    let is_chosen = |section: &&Section| {
        only.as_ref()
            .is_none_or(|only| only.iter().any(|name| *name == section.name))
    };
    study.sections.iter().filter(is_chosen).collect()
}

fn run(sections: &[&Section], quick: bool) -> Result<String> {
    let mut told = Vec::new();
    for section in sections {
        let text = (section.run)(quick)?;
        if sections.len() > 1 {
            // A full run takes minutes. If the run is interrupted, the finished sections stay on
            // the screen.
            console::warn(&format!("{text}\n"));
        }
        told.push(text);
    }
    Ok(told.join("\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STUDY: Study = Study {
        name: "letters",
        about: "",
        sections: &[
            Section {
                name: "a",
                run: |_| Ok("A".to_owned()),
            },
            Section {
                name: "b",
                run: |_| Ok("B".to_owned()),
            },
            Section {
                name: "c",
                run: |quick| Ok(if quick { "c" } else { "C" }.to_owned()),
            },
        ],
    };

    fn told(arguments: &[&str]) -> std::result::Result<String, clap::Error> {
        let all = ["letters"].iter().chain(arguments);
        let matches = command(&STUDY).try_get_matches_from(all)?;
        let told = run(&chosen(&STUDY, &matches), matches.get_flag(QUICK));
        Ok(told.expect("no section fails"))
    }

    #[test]
    fn all_sections_run_unless_some_are_chosen() {
        assert_eq!(told(&[]).unwrap(), "A\n\nB\n\nC");
        assert_eq!(told(&["--quick"]).unwrap(), "A\n\nB\n\nc");
        assert_eq!(told(&["--only", "b"]).unwrap(), "B");
        assert_eq!(told(&["--only", "c,a"]).unwrap(), "A\n\nC");
        assert_eq!(told(&["--only", "c", "--only=b"]).unwrap(), "B\n\nC");
    }

    #[test]
    fn a_wrong_section_is_refused_with_those_that_there_are() {
        let error = told(&["--only", "a,d"]).unwrap_err().to_string();
        assert!(
            error.contains("'d'") && error.contains("a, b, c"),
            "{error}"
        );
    }
}
