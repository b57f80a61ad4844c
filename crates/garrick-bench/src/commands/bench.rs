//! `garrick bench`, for whichever list of scenarios.

use clap::Args;

use super::outputs::Outputs;
use super::progress::Bar;
use super::{Ended, console};
use crate::engine::{self, Pace, Plan};
use crate::list;
use crate::point::{Axis, Point, grid};
use crate::report::Report;
use crate::scenario::{Effort, Result, Scenario, Swept};
use crate::stop::Stop;

/// Seconds for each row of a full run.
const SECONDS_PER_ROW: f64 = 3.0;

/// Seconds for each row of a quick run: all scenarios then take well under a minute.
const SECONDS_PER_ROW_QUICK: f64 = 0.7;

/// More would be a mistake, not a measurement.
const SECONDS_PER_ROW_MAX: f64 = 3600.0;

/// Parameters that can be swept at once.
const SWEPT_MAX: usize = 2;

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

    /// About how long to measure each row: 3 seconds, or 0.7 if quick.
    #[arg(long, value_name = "S", value_parser = seconds)]
    seconds_per: Option<f64>,

    /// Measure at each of these values: depth=5..20, n=0..1000+100, n=1..4096*2 or n=1,10,50; twice for two
    /// parameters.
    #[arg(long, value_name = "NAME=VALUES")]
    sweep: Vec<Axis>,

    /// Put times in relation to those of this contender.
    #[arg(long, value_name = "CONTENDER")]
    reference: Option<String>,

    #[command(flatten)]
    outputs: Outputs,
}

/// What can be measured.
#[derive(Clone, Copy)]
pub(super) struct Offer {
    /// All scenarios.
    pub(super) scenarios: &'static [Scenario],
    /// Those whose parameters can be swept.
    pub(super) swept: &'static [Swept],
}

/// The part of the help of `command` that names the scenarios.
pub(super) fn scenarios_help(command: &str, offer: Offer) -> String {
    let mut help = format!(
        "Scenarios: {}\nWhat each one's operation is: {command} --list",
        list::names(offer.scenarios)
    );
    if !offer.swept.is_empty() {
        help.push_str("\nParameters to sweep: ");
        help.push_str(&parameters(offer.swept));
    }
    help
}

/// What can be swept, in words.
fn parameters(swept: &[Swept]) -> String {
    let each = swept.iter().flat_map(|swept| {
        let of = |(name, range): &(&str, std::ops::RangeInclusive<u64>)| {
            let (start, end) = (range.start(), range.end());
            format!("{} {name} ({start} to {end})", swept.scenario)
        };
        swept.parameters.iter().map(of)
    });
    each.collect::<Vec<_>>().join(", ")
}

/// A number of seconds that a row can be measured.
pub(super) fn seconds(text: &str) -> std::result::Result<f64, String> {
    match text.parse() {
        Ok(seconds) if seconds > 0.0 && seconds <= SECONDS_PER_ROW_MAX => Ok(seconds),
        _ => Err(format!(
            "not a number of seconds above 0 and up to {SECONDS_PER_ROW_MAX}"
        )),
    }
}

/// Measures what was asked for and shows it.
pub(super) fn run(arguments: &Arguments, offer: Offer) -> Result<Ended> {
    let points = grid(&arguments.sweep);
    let chosen = match arguments.choose(offer) {
        Ok(chosen) => chosen,
        Err(why) => return Ok(Ended::Refused(why)),
    };
    if arguments.list {
        for (scenario, _) in &chosen {
            console::print(&described(scenario));
        }
        return Ok(Ended::Well);
    }
    let stop = Stop::on_ctrl_c()?;
    let before = match arguments.outputs.check() {
        Ok(before) => before,
        Err(why) => return Ok(Ended::Refused(why)),
    };
    let effort = arguments.effort();
    let plans = chosen.iter().flat_map(|choice| {
        let plan = |point| plan(*choice, point, effort);
        points.iter().map(plan).collect::<Vec<_>>()
    });
    let plans: Vec<Plan<'_>> = plans.collect();
    let bar = Bar::new(plans.len());
    let reference = arguments.reference.as_deref();
    let rows = engine::run(plans, Pace::from(&effort), reference, &stop, &mut |step| {
        bar.show(step);
    })?;
    bar.clear();
    let report = Report::new(rows);
    let title = "Garrick's figures";
    arguments
        .outputs
        .finish(title, &report, before.as_ref(), &stop)
}

/// A scenario, and how to sweep it if that was asked for.
type Choice = (&'static Scenario, Option<&'static Swept>);

fn plan<'a>((scenario, swept): Choice, point: &'a Point, effort: Effort) -> Plan<'a> {
    Plan {
        scenario: scenario.name,
        contenders: Box::new(move || {
            Ok(match swept {
                Some(swept) => (swept.contenders)(&effort, point),
                None => (scenario.contenders)(&effort),
            })
        }),
    }
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

    /// What is to be measured, or why it cannot be. What is swept and not named is every scenario that has the
    /// parameters.
    fn choose(&self, offer: Offer) -> std::result::Result<Vec<Choice>, String> {
        let chosen = list::choose(offer.scenarios, &self.scenarios).map_err(|unknown| {
            let all = list::names(offer.scenarios);
            format!("no scenario '{unknown}'; there are: {all}")
        })?;
        if self.sweep.is_empty() {
            return Ok(chosen
                .into_iter()
                .map(|scenario| (scenario, None))
                .collect());
        }
        if self.sweep.len() > SWEPT_MAX {
            return Err(format!(
                "more than {SWEPT_MAX} parameters cannot be swept at once"
            ));
        }
        let mut choices = Vec::new();
        for scenario in chosen {
            match self.swept(scenario, offer.swept) {
                Ok(swept) => choices.push((scenario, Some(swept))),
                Err(why) if !self.scenarios.is_empty() => return Err(why),
                Err(_) => {}
            }
        }
        if choices.is_empty() {
            let all = parameters(offer.swept);
            return Err(format!(
                "no scenario can be swept like that; what can be: {all}"
            ));
        }
        Ok(choices)
    }

    /// How `scenario` is swept over all that was asked for.
    fn swept(
        &self,
        scenario: &Scenario,
        offer: &'static [Swept],
    ) -> std::result::Result<&'static Swept, String> {
        let name = scenario.name;
        let swept = offer.iter().find(|swept| swept.scenario == name);
        let swept = swept.ok_or_else(|| {
            let all = parameters(offer);
            format!("'{name}' has no parameters to sweep; what can be: {all}")
        })?;
        for axis in &self.sweep {
            let parameter = swept
                .parameters
                .iter()
                .find(|(parameter, _)| *parameter == axis.name);
            let (_, allowed) = parameter.ok_or_else(|| {
                let all = parameters(std::slice::from_ref(swept));
                format!("'{name}' has no '{}' to sweep; there is: {all}", axis.name)
            })?;
            if let Some(value) = axis.values.iter().find(|value| !allowed.contains(value)) {
                let (start, end) = (allowed.start(), allowed.end());
                return Err(format!(
                    "{}={value} of '{name}' is not from {start} to {end}",
                    axis.name
                ));
            }
        }
        Ok(swept)
    }
}

fn described(scenario: &Scenario) -> String {
    format!("{:16}{}", scenario.name, scenario.operation)
}
