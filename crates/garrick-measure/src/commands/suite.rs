//! The command `garrick suite`, for any list of suites that repeat published experiments.

use clap::{Args, Command};

use super::flags::{Flags, described, plan};
use super::{Ended, console};
use crate::engine::Plan;
use crate::machine;
use crate::row::Row;
use crate::scenario::{Effort, Result};
use crate::suggest;
use crate::suite::{Beside, Suite};
use crate::units;

/// Name of the subcommand that measures suites.
pub const NAME: &str = "suite";

/// Description of the subcommand `suite` in the help.
pub const ABOUT: &str = "Repeat published experiments, and show their figures beside ours";

/// The command-line arguments of `suite`: flags, and names of suites.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Suites to repeat. Default: all.
    #[arg(value_name = "NAME")]
    suites: Vec<String>,

    #[command(flatten)]
    flags: Flags,
}

/// Returns the subcommand `suite` of the command `program`.
pub(super) fn command(program: &str, offer: &[Suite]) -> Command {
    Arguments::augment_args(Command::new(NAME))
        .about(ABOUT)
        .after_help(suites_help(program, offer))
}

/// Returns the list of suites for the help text of `program`.
pub fn suites_help(program: &str, offer: &[Suite]) -> String {
    let names = names(offer);
    format!("Suites: {names}\nTheir experiments in detail: {program} {NAME} --list")
}

/// Measures the suites of `offer` that `arguments` select. Prints the results, and writes the files
/// that `arguments` request. With the flag `--list`, only lists the suites.
///
/// # Errors
/// Fails if a contender fails, or if a file cannot be written.
pub fn run(arguments: &Arguments, offer: &'static [Suite]) -> Result<Ended> {
    let chosen = match choose(offer, &arguments.suites) {
        Ok(chosen) => chosen,
        Err(why) => return Ok(Ended::Refused(why)),
    };
    if arguments.flags.list {
        for suite in &chosen {
            console::print(&listed(suite));
        }
        return Ok(Ended::Well);
    }
    let effort = arguments.flags.effort();
    if let Some(available) = machine::available_bytes()
        && let Err(why) = fit(&chosen, &effort, available)
    {
        return Ok(Ended::Refused(why));
    }
    let plans: Vec<Plan<'_>> = chosen
        .iter()
        .flat_map(|suite| suite.scenarios)
        .map(|scenario| plan(scenario, effort))
        .collect();
    let beside = |rows: &[Row]| -> Vec<Beside> {
        let all = chosen.iter();
        all.filter_map(|suite| Beside::of(suite, rows)).collect()
    };
    arguments.flags.measure(plans, beside)
}

/// Returns the suites of `offer` with the given names, in the order of `offer`. Returns all suites
/// if there are no names. Fails with an error message if a name is unknown.
fn choose(
    offer: &'static [Suite],
    names: &[String],
) -> std::result::Result<Vec<&'static Suite>, String> {
    let known = |name: &&String| offer.iter().any(|suite| suite.name == **name);
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        let known = offer.iter().map(|suite| suite.name);
        return Err(suggest::unknown("suite", unknown, known));
    }
    let asked = |suite: &&Suite| names.is_empty() || names.iter().any(|name| name == suite.name);
    Ok(offer.iter().filter(asked).collect())
}

/// Checks that `available` bytes of memory are enough for each of the chosen suites.
fn fit(chosen: &[&Suite], effort: &Effort, available: u64) -> std::result::Result<(), String> {
    let needs = |suite: &&&Suite| (suite.memory_bytes)(effort) > available;
    let Some(suite) = chosen.iter().find(needs) else {
        return Ok(());
    };
    let needed = (suite.memory_bytes)(effort);
    let less = if effort.quick {
        ""
    } else {
        "; --quick needs less"
    };
    Err(format!(
        "suite '{}' needs {} of memory, but only {} are available{less}",
        suite.name,
        units::bytes(needed),
        units::bytes(available)
    ))
}

fn names(offer: &[Suite]) -> String {
    let names: Vec<&str> = offer.iter().map(|suite| suite.name).collect();
    names.join(", ")
}

/// Describes a suite for `--list`.
fn listed(suite: &Suite) -> String {
    let mut text = format!("{:15} {}", suite.name, suite.about);
    for scenario in suite.scenarios {
        text.push_str("\n  ");
        text.push_str(&described(scenario));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    static OFFER: &[Suite] = &[
        Suite {
            name: "small",
            ..Suite::PLAIN
        },
        Suite {
            name: "large",
            memory_bytes: |effort| effort.pick(8 * GIB, GIB),
            ..Suite::PLAIN
        },
    ];

    fn chosen(names: &[&str]) -> std::result::Result<Vec<&'static str>, String> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let chosen = choose(OFFER, &names)?;
        Ok(chosen.iter().map(|suite| suite.name).collect())
    }

    #[test]
    fn suites_are_chosen_by_their_whole_names_in_the_lists_order() {
        assert_eq!(chosen(&[]).unwrap(), ["small", "large"]);
        assert_eq!(chosen(&["large", "small"]).unwrap(), ["small", "large"]);
        let refused = chosen(&["small", "lar"]).unwrap_err();
        assert_eq!(
            refused,
            "no suite is called 'lar' (did you mean 'large'?); the names are: small, large"
        );
    }

    #[test]
    fn what_does_not_fit_into_memory_is_refused_before_any_work() {
        let all: Vec<&Suite> = OFFER.iter().collect();
        let effort = |quick| Effort {
            quick,
            seconds_per_row: 1.0,
        };
        assert_eq!(fit(&all, &effort(true), GIB), Ok(()));
        assert_eq!(fit(&all[..1], &effort(false), 0), Ok(()));
        let refused = fit(&all, &effort(false), GIB).unwrap_err();
        let said =
            "suite 'large' needs 8.00 GiB of memory, but only 1.00 GiB are available; --quick";
        assert!(refused.starts_with(said), "{refused}");
        let refused = fit(&all, &effort(true), GIB - 1).unwrap_err();
        assert!(!refused.contains("--quick"), "{refused}");
    }
}
