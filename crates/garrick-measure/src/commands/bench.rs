//! The command `garrick bench`, for any list of scenarios.

use clap::Args;

use super::flags::{Flags, described, plan};
use super::{Ended, console};
use crate::engine::Plan;
use crate::list;
use crate::point::{Axis, Point, grid};
use crate::scenario::{Effort, Result, Scenario, Swept};
use crate::suggest;

/// Maximum number of parameters that can be swept at once.
const SWEPT_MAX: usize = 2;

/// The command-line arguments of `bench`: flags, and names of scenarios.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Scenarios to measure, or families: `idle` stands for all scenarios whose names begin with
    /// `idle-`. Default: all.
    #[arg(value_name = "SCENARIO")]
    scenarios: Vec<String>,

    /// Measure at each of these values of a parameter: depth=5..20, n=0..1000+100 (steps of 100),
    /// n=1..4096*2 (doubled each time) or n=1,10,50. Give this flag twice for two parameters.
    #[arg(long, value_name = "NAME=VALUES")]
    sweep: Vec<Axis>,

    #[command(flatten)]
    flags: Flags,
}

/// The scenarios that a command offers.
#[derive(Debug, Clone, Copy)]
pub struct Offer {
    /// Scenarios that are measured if the user names no scenario.
    pub scenarios: &'static [Scenario],
    /// Additional scenarios, which are measured only if the user names them.
    pub more: &'static [Scenario],
    /// Scenarios with parameters that the user can sweep, for example with `--sweep depth=5..20`.
    pub swept: &'static [Swept],
}

impl Offer {
    /// Returns all scenarios that the user can name.
    fn named(self) -> Vec<&'static Scenario> {
        self.scenarios.iter().chain(self.more).collect()
    }
}

/// Returns the list of scenarios for the help text of `command`.
pub fn scenarios_help(command: &str, offer: Offer) -> String {
    let all: Vec<&Scenario> = offer.scenarios.iter().collect();
    let mut help = format!(
        "Scenarios: {}\nTheir operations in detail: {command} --list",
        list::names(&all)
    );
    if !offer.more.is_empty() {
        let more: Vec<&Scenario> = offer.more.iter().collect();
        help.push_str("\nMeasured only if they are named: ");
        help.push_str(&list::names(&more));
    }
    if !offer.swept.is_empty() {
        help.push_str("\nParameters to sweep: ");
        help.push_str(&parameters(offer.swept));
    }
    help
}

/// Describes the parameters that can be swept.
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

/// Measures the scenarios of `offer` that `arguments` select. Prints the results, and writes the
/// files that `arguments` request. With the flag `--list`, only lists the scenarios.
///
/// # Errors
/// Fails if a contender fails, or if a file cannot be written.
pub fn run(arguments: &Arguments, offer: Offer) -> Result<Ended> {
    let points = grid(&arguments.sweep);
    let chosen = match arguments.choose(offer) {
        Ok(chosen) => chosen,
        Err(why) => return Ok(Ended::Refused(why)),
    };
    if arguments.flags.list {
        for (scenario, _) in &chosen {
            console::print(&described(scenario));
        }
        return Ok(Ended::Well);
    }
    let effort = arguments.flags.effort();
    let plans = chosen.iter().flat_map(|choice| {
        let plan = |point| planned(*choice, point, effort);
        points.iter().map(plan).collect::<Vec<_>>()
    });
    arguments.flags.measure(plans.collect(), |_| Vec::new())
}

/// A scenario, with its sweep if one was requested.
type Choice = (&'static Scenario, Option<&'static Swept>);

/// Creates the plan for a scenario at one point of its sweep.
fn planned<'a>((scenario, swept): Choice, point: &'a Point, effort: Effort) -> Plan<'a> {
    let Some(swept) = swept else {
        return plan(scenario, effort);
    };
    Plan {
        scenario: scenario.name,
        contenders: Box::new(move || Ok((swept.contenders)(&effort, point))),
    }
}

impl Arguments {
    /// Returns the scenarios to measure, or the reason why they cannot be measured. If a sweep is
    /// requested without names, returns every scenario that has the parameters.
    fn choose(&self, offer: Offer) -> std::result::Result<Vec<Choice>, String> {
        let all = if self.scenarios.is_empty() {
            offer.scenarios.iter().collect()
        } else {
            offer.named()
        };
        let chosen = list::choose(&all, &self.scenarios).map_err(|name| {
            suggest::unknown("scenario", name, all.iter().map(|scenario| scenario.name))
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
                "no scenario has these parameters with these values; the parameters that can be \
                 swept are: {all}"
            ));
        }
        Ok(choices)
    }

    /// Returns the sweep of `scenario` over all requested parameters.
    fn swept(
        &self,
        scenario: &Scenario,
        offer: &'static [Swept],
    ) -> std::result::Result<&'static Swept, String> {
        let name = scenario.name;
        let swept = offer.iter().find(|swept| swept.scenario == name);
        let swept = swept.ok_or_else(|| {
            let all = parameters(offer);
            format!(
                "'{name}' has no parameters to sweep; the parameters that can be swept are: {all}"
            )
        })?;
        for axis in &self.sweep {
            let parameter = swept
                .parameters
                .iter()
                .find(|(parameter, _)| *parameter == axis.name);
            let (_, allowed) = parameter.ok_or_else(|| {
                let all = parameters(std::slice::from_ref(swept));
                format!(
                    "'{name}' has no parameter '{}' to sweep; it has: {all}",
                    axis.name
                )
            })?;
            if let Some(value) = axis.values.iter().find(|value| !allowed.contains(value)) {
                let (start, end) = (allowed.start(), allowed.end());
                return Err(format!(
                    "'{name}' cannot be measured at {}={value}: the value must be from {start} to \
                     {end}",
                    axis.name
                ));
            }
        }
        Ok(swept)
    }
}
