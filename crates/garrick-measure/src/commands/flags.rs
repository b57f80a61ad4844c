//! Flags and functions that all measuring commands share.

use std::collections::BTreeSet;

use clap::Args;

use super::Ended;
use super::outputs::Outputs;
use super::progress::Bar;
use crate::engine::{self, Pace, Plan};
use crate::report::Report;
use crate::row::Row;
use crate::scenario::{Effort, Result, Scenario};
use crate::stop::Stop;
use crate::suggest;
use crate::suite::Beside;

/// Default time to measure each row of a full run, in seconds.
const SECONDS_PER_ROW: f64 = 3.0;

/// Default time to measure each row of a quick run, in seconds. With this value, all scenarios of
/// `garrick bench` take well under a minute.
const SECONDS_PER_ROW_QUICK: f64 = 0.7;

/// Maximum time to measure each row, in seconds. If a user requests more, this counts as a mistake.
const SECONDS_PER_ROW_MAX: f64 = 3600.0;

#[derive(Debug, Args)]
pub(super) struct Flags {
    /// Describe one operation of each scenario, and measure nothing.
    #[arg(long)]
    pub(super) list: bool,

    /// Measure each row for a shorter time, with smaller trees and fewer actors.
    #[arg(long)]
    quick: bool,

    /// Approximate number of seconds to measure each row. The default is 3, or 0.7 with --quick.
    #[arg(long, value_name = "S", value_parser = seconds)]
    seconds_per: Option<f64>,

    /// Show an additional column with the ratio of each time to the time of this contender.
    #[arg(long, value_name = "CONTENDER")]
    reference: Option<String>,

    #[command(flatten)]
    outputs: Outputs,
}

/// Parses the number of seconds for each row.
pub(super) fn seconds(text: &str) -> std::result::Result<f64, String> {
    match text.parse() {
        Ok(seconds) if seconds > 0.0 && seconds <= SECONDS_PER_ROW_MAX => Ok(seconds),
        _ => Err(format!(
            "not a number of seconds above 0 and up to {SECONDS_PER_ROW_MAX}"
        )),
    }
}

impl Flags {
    pub(super) fn effort(&self) -> Effort {
        let mut effort = Effort {
            quick: self.quick,
            seconds_per_row: 0.0,
        };
        effort.seconds_per_row = self
            .seconds_per
            .unwrap_or(effort.pick(SECONDS_PER_ROW, SECONDS_PER_ROW_QUICK));
        effort
    }

    /// Measures `plans`, adds the suites that `beside` creates from the rows, and prints the
    /// report.
    pub(super) fn measure(
        &self,
        plans: Vec<Plan<'_>>,
        beside: impl FnOnce(&[Row]) -> Vec<Beside>,
    ) -> Result<Ended> {
        if let Some(why) = self.unknown_reference(&plans)? {
            return Ok(Ended::Refused(why));
        }
        let stop = Stop::on_ctrl_c()?;
        let before = match self.outputs.check() {
            Ok(before) => before,
            Err(why) => return Ok(Ended::Refused(why)),
        };
        let bar = Bar::new(plans.len());
        let pace = Pace::from(&self.effort());
        let reference = self.reference.as_deref();
        let rows = engine::run(plans, pace, reference, &stop, &mut |step| bar.show(step))?;
        bar.clear();
        let beside = beside(&rows);
        let report = Report::new(rows).with_suites(beside);
        let title = "Garrick's figures";
        self.outputs.finish(title, &report, before.as_ref(), &stop)
    }
}

impl Flags {
    /// Checks that some plan has a contender with the name of the reference, the contender with
    /// which the others are compared. If not, returns the reason why the reference cannot be used.
    fn unknown_reference(&self, plans: &[Plan<'_>]) -> Result<Option<String>> {
        let Some(reference) = &self.reference else {
            return Ok(None);
        };
        let mut names = BTreeSet::new();
        for plan in plans {
            let contenders = (plan.contenders)()?;
            names.extend(contenders.into_iter().map(|contender| contender.name));
        }
        if names.contains(reference.as_str()) {
            return Ok(None);
        }
        let names = names.iter().copied();
        Ok(Some(suggest::unknown(
            "contender (for --reference)",
            reference,
            names,
        )))
    }
}

/// Creates the plan for a scenario without a sweep.
pub(super) fn plan(scenario: &'static Scenario, effort: Effort) -> Plan<'static> {
    Plan {
        scenario: scenario.name,
        contenders: Box::new(move || Ok((scenario.contenders)(&effort))),
    }
}

/// Describes a scenario for `--list`.
pub(super) fn described(scenario: &Scenario) -> String {
    format!("{:15} {}", scenario.name, scenario.operation)
}
