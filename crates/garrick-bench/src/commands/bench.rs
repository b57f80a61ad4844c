//! `garrick bench`, for whichever list of scenarios.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use super::{Ended, console};
use crate::harness::{self, Row, Step};
use crate::list;
use crate::report::Report;
use crate::scenario::{Effort, Result, Scenario};

/// Seconds for each row of a full run.
const SECONDS_PER_ROW: f64 = 3.0;

/// Seconds for each row of a quick run: all scenarios then take well under a minute.
const SECONDS_PER_ROW_QUICK: f64 = 0.7;

/// More would be a mistake, not a measurement.
const SECONDS_PER_ROW_MAX: f64 = 3600.0;

/// The progress bar's length; it is divided evenly among the scenarios.
const BAR_PER_SCENARIO: u64 = 1000;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// What to measure, a scenario or a family of them; everything if nothing is named.
    #[arg(value_name = "SCENARIO")]
    scenarios: Vec<String>,

    /// Say what one operation of each scenario is, and measure nothing.
    #[arg(long)]
    list: bool,

    /// Less time for each row, and smaller trees and crowds: everything in under a minute.
    #[arg(long)]
    quick: bool,

    /// Write the results to a file as well, as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// About how long to measure each row: 3 seconds, or 0.7 if quick.
    #[arg(long, value_name = "S", value_parser = seconds)]
    seconds_per: Option<f64>,
}

/// The part of the help of `command` that names the scenarios.
pub(super) fn scenarios_help(command: &str, scenarios: &[Scenario]) -> String {
    format!(
        "Scenarios: {}\nWhat each one's operation is: {command} --list",
        list::names(scenarios)
    )
}

fn seconds(text: &str) -> std::result::Result<f64, String> {
    match text.parse() {
        Ok(seconds) if seconds > 0.0 && seconds <= SECONDS_PER_ROW_MAX => Ok(seconds),
        _ => Err(format!(
            "not a number of seconds above 0 and up to {SECONDS_PER_ROW_MAX}"
        )),
    }
}

/// Measures what was asked for of `scenarios` and shows it.
pub(super) fn run(arguments: &Arguments, scenarios: &'static [Scenario]) -> Result<Ended> {
    let chosen = match list::choose(scenarios, &arguments.scenarios) {
        Ok(chosen) => chosen,
        Err(unknown) => {
            let all = list::names(scenarios);
            return Ok(Ended::Refused(format!(
                "no scenario '{unknown}'; there are: {all}"
            )));
        }
    };
    if arguments.list {
        chosen
            .iter()
            .for_each(|scenario| console::print(&described(scenario)));
        return Ok(Ended::Well);
    }
    if let Some(file) = &arguments.json
        && let Err(error) = check_writable(file)
    {
        return Ok(Ended::Refused(format!(
            "cannot write to '{}': {error}",
            file.display()
        )));
    }
    let report = Report::new(measure(&chosen, &arguments.effort())?);
    if let Some(file) = &arguments.json {
        fs::write(file, report.json())?;
    }
    console::print(report.table().trim_end());
    Ok(Ended::Well)
}

impl Arguments {
    fn effort(&self) -> Effort {
        let mut effort = Effort {
            quick: self.quick,
            seconds_per_row: 0.0,
        };
        effort.seconds_per_row = self
            .seconds_per
            .unwrap_or(effort.pick(SECONDS_PER_ROW, SECONDS_PER_ROW_QUICK));
        effort
    }
}

fn described(scenario: &Scenario) -> String {
    format!("{:16}{}", scenario.name, scenario.operation)
}

/// Better to know now than after minutes of measuring. What is in the file stays there until then.
fn check_writable(file: &Path) -> std::io::Result<()> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(file)
        .map(drop)
}

fn measure(scenarios: &[&Scenario], effort: &Effort) -> Result<Vec<Row>> {
    let bar = progress_bar(scenarios.len());
    let mut rows = Vec::new();
    for (index, scenario) in scenarios.iter().enumerate() {
        rows.extend(harness::run(scenario, effort, &mut |step| {
            show(&bar, index, step);
        })?);
    }
    bar.finish_and_clear();
    Ok(rows)
}

/// A bar on standard error; nothing is drawn where that is not a terminal.
fn progress_bar(scenarios: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_bar} {elapsed} {msg:32}");
    let bar = ProgressBar::new(scenarios as u64 * BAR_PER_SCENARIO);
    // No thread redraws it: one that woke up would be part of what is measured.
    bar.with_style(style.expect("the template is valid"))
        .with_elapsed(Duration::ZERO)
}

fn show(bar: &ProgressBar, index: usize, step: Step<'_>) {
    let done = (step.done * BAR_PER_SCENARIO as f64) as u64;
    bar.set_message(format!("{} {}", step.scenario, step.contender));
    bar.set_position(index as u64 * BAR_PER_SCENARIO + done);
}
