//! Commands that measure. This module also contains the parsing, printing and exit codes of all
//! commands.
//!
//! A mistake on the command line is reported in one line on standard error before any work begins.
//! The exit code is 2.

mod console;
mod outputs;
mod progress;
mod study;

mod flags;

pub mod bench;
mod own;
pub mod suite;

use std::fmt;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Args, FromArgMatches};

use crate::experiment::Experiment;
use crate::scenario::{self, Measured, Scenario, Study};
use crate::suggest::question;
use crate::suite::Suite;

pub use crate::suggest::did_you_mean;
pub use console::{print, warn};

/// The outcome of a command.
#[derive(Debug)]
pub enum Ended {
    /// The command was successful. The exit code is 0.
    Well,
    /// The command has finished, but a check of its results has failed. The text is the reason.
    /// The exit code is 1.
    Wrong(String),
    /// The command line is invalid, or it requests something impossible. The text is the reason. No
    /// work was started. The exit code is 2.
    Refused(String),
    /// The user stopped the command early. The results so far are kept, and the text describes
    /// them. The exit code is 130.
    Interrupted(String),
}

/// A subcommand with its own flags.
pub struct Subcommand {
    /// Returns the `clap` command with the subcommand's name, description and flags.
    pub command: fn() -> clap::Command,
    /// Runs the subcommand with the arguments from the command line.
    pub run: fn(&ArgMatches) -> scenario::Result<Ended>,
}

impl fmt::Debug for Subcommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subcommand")
            .field("name", &(self.command)().get_name())
            .finish_non_exhaustive()
    }
}

/// Runs a command that measures `scenarios`, and returns the exit code for `main`.
///
/// The command is called `name`. It works like `garrick bench`, but with these scenarios. `about`
/// is the first line of its help. Each of the `studies` is a subcommand. If there are `suites`, the
/// subcommand `suite` measures them.
pub fn measure(
    name: &'static str,
    about: &'static str,
    scenarios: &'static [Scenario],
    studies: &'static [Study],
    suites: &'static [Suite],
) -> ExitCode {
    measure_or(name, about, scenarios, studies, suites, &[])
}

/// Runs a command as [`measure`] does. The command also has the subcommands `more`.
pub fn measure_or(
    name: &'static str,
    about: &'static str,
    scenarios: &'static [Scenario],
    studies: &'static [Study],
    suites: &'static [Suite],
    more: &'static [Subcommand],
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
        .subcommands(more.iter().map(|one| (one.command)()))
        .subcommands((!suites.is_empty()).then(|| suite::command(name, suites)))
        .after_help(bench::scenarios_help(name, offer));
    let matches = match command.try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return exit(Ok(explain(&error))),
    };
    if let Some(ended) = study::run_asked(studies, &matches) {
        return exit(ended);
    }
    if let Some((name, matches)) = matches.subcommand() {
        let is_meant = |one: &&Subcommand| (one.command)().get_name() == name;
        if let Some(one) = more.iter().find(is_meant) {
            return exit((one.run)(matches));
        }
    }
    if let Some(matches) = matches.subcommand_matches(suite::NAME) {
        let arguments = suite::Arguments::from_arg_matches(matches);
        return ended(arguments, |arguments| suite::run(arguments, suites));
    }
    let arguments = bench::Arguments::from_arg_matches(&matches);
    ended(arguments, |arguments| bench::run(arguments, offer))
}

/// Runs a command that measures `experiment`, and returns the exit code for `main`.
///
/// The command has a progress bar, and the flags of `garrick bench` for files, pictures and
/// comparisons. If the user presses Ctrl-C, the command stops, and reports the measurements made so
/// far.
///
/// # Examples
/// ```no_run
/// use std::process::ExitCode;
/// use garrick_measure::{Dut, Experiment};
///
/// fn main() -> ExitCode {
///     let sum = Dut::new("sum", |_| || (0..1000_u64).map(std::hint::black_box).sum::<u64>());
///     garrick_measure::experiment(Experiment::new("sum", "adding 1000 numbers").dut(sum))
/// }
/// ```
pub fn experiment(experiment: Experiment) -> ExitCode {
    let about = format!("{}: {}", experiment.name(), experiment.operation());
    // The shown name is that of the program's file.
    let command = own::Arguments::augment_args(clap::Command::new("experiment")).about(about);
    match parse(command) {
        Ok(arguments) => exit(own::run(&arguments, experiment)),
        Err(ended) => exit(Ok(ended)),
    }
}

/// Prints a measurement as JSON for the parent process, and returns [`Ended::Well`].
///
/// # Errors
/// Fails if the measurement cannot be converted into JSON.
pub fn told(measured: &Measured) -> scenario::Result<Ended> {
    print(&serde_json::to_string(measured)?);
    Ok(Ended::Well)
}

/// Returns the version and the commit of the command, as `--version` prints them.
pub fn version() -> &'static str {
    const { concat!(env!("CARGO_PKG_VERSION"), " (", env!("GARRICK_COMMIT"), ")") }
}

/// Parses the command line of this process.
///
/// # Errors
/// If the command line requests the help or the version, prints that text and returns
/// [`Ended::Well`] as the error. If the command line is invalid, returns [`Ended::Refused`].
pub fn parse<A: FromArgMatches>(command: clap::Command) -> Result<A, Ended> {
    let names: Vec<String> = command
        .get_subcommands()
        .map(|one| one.get_name().to_owned())
        .collect();
    let parsed = command.try_get_matches();
    let parsed = parsed.and_then(|matches| A::from_arg_matches(&matches));
    parsed.map_err(|error| match (explain(&error), unknown_command(&error)) {
        // For some slips, such as two exchanged letters, clap suggests nothing.
        (Ended::Refused(why), Some(typed)) if suggested(&error).is_empty() => {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            Ended::Refused(why + &did_you_mean(typed, &names))
        }
        (ended, _) => ended,
    })
}

/// Returns the name of the unknown subcommand if `error` reports one.
fn unknown_command(error: &clap::Error) -> Option<&str> {
    match error.get(ContextKind::InvalidSubcommand)? {
        ContextValue::String(name) => Some(name),
        _ => None,
    }
}

/// Runs a command with its parsed arguments, if the arguments are valid.
fn ended<A>(
    arguments: Result<A, clap::Error>,
    run: impl FnOnce(&A) -> scenario::Result<Ended>,
) -> ExitCode {
    match arguments {
        Ok(arguments) => exit(run(&arguments)),
        Err(error) => exit(Ok(explain(&error))),
    }
}

/// Reports the outcome of a command, and returns its exit code.
pub fn exit(ended: scenario::Result<Ended>) -> ExitCode {
    match ended {
        Ok(Ended::Well) => ExitCode::SUCCESS,
        Ok(Ended::Wrong(why)) => fail(&why, 1),
        Ok(Ended::Refused(why)) => fail(&why, 2),
        Ok(Ended::Interrupted(kept)) => fail(&format!("interrupted; {kept}"), 130),
        Err(error) => fail(&error.to_string(), 1),
    }
}

/// Returns the outcome of a command if its command line was not parsed into arguments. If the help
/// or the version was requested, prints that text and returns [`Ended::Well`]. Otherwise returns
/// [`Ended::Refused`] with the text of the error, without the tips and the usage.
fn explain(error: &clap::Error) -> Ended {
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    ) {
        console::print(error.render().to_string().trim_end());
        return Ended::Well;
    }
    let text = error.render().to_string();
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return Ended::Refused(format!("a subcommand is missing\n\n{}", text.trim_end()));
    }
    let said = text.split("\n\n").next().unwrap_or(&text);
    let words: Vec<&str> = said
        .split_whitespace()
        .skip_while(|word| *word == "error:")
        .collect();
    Ended::Refused(words.join(" ") + &suggested(error))
}

/// Returns a question that suggests a similar name, or an empty text if no name is similar.
fn suggested(error: &clap::Error) -> String {
    let kinds = [
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedArg,
        ContextKind::SuggestedValue,
    ];
    let name = kinds.into_iter().find_map(|kind| match error.get(kind)? {
        ContextValue::String(name) => Some(name),
        ContextValue::Strings(names) => names.last(),
        _ => None,
    });
    name.map_or(String::new(), |name| question(name))
}

fn fail(why: &str, code: u8) -> ExitCode {
    console::warn(&format!("error: {why}"));
    ExitCode::from(code)
}
