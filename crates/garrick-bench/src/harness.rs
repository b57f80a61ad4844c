//! Runs scenarios so that their figures can be compared.
//!
//! A shared machine changes its speed from second to second. So contenders take turns, round by round,
//! and between any two of them the yardstick is measured: one uncontended atomic addition. A contender's
//! ratio to the yardstick comes from the yardstick just before and just after it, and what is told is the
//! median of those ratios, not the ratio of two medians.
//!
//! ```text
//!   round 1:  rmw  [garrick]  rmw  [recursion]  rmw
//!   round 2:  rmw  [garrick]  rmw  [recursion]  rmw  ...
//! ```

use serde::Serialize;
use serde_json::{Map, Value};

use crate::scenario::{Contender, Effort, Measured, Result, Scenario, Size};
use crate::statistics::Summary;
use crate::yardstick;

/// The part of a row's time that its yardstick may take.
const YARDSTICK_SHARE: f64 = 0.1;

/// Operations of the first trial. Each scenario deals with fewer than a turn's worth of messages.
const OPS_FIRST: u64 = 1024;

/// A trial grows at most by this factor, for the first one is slowed down by cold caches.
const GROWTH_MAX: f64 = 16.0;

/// One line of the result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Row {
    /// The scenario's name.
    pub(crate) scenario: &'static str,
    /// Who did it.
    pub(crate) contender: &'static str,
    /// What distinguishes it from others of that name.
    pub(crate) params: Map<String, Value>,
    /// Of `cpu` and `wall`: always `ns`.
    pub(crate) unit: &'static str,
    /// CPU time of one operation.
    pub(crate) cpu: Summary,
    /// Wall time of one operation.
    pub(crate) wall: Summary,
    /// Operations in a second of wall time.
    pub(crate) ops_per_s: f64,
    /// Resident bytes for each actor, if that is what was looked at.
    pub(crate) bytes_per_actor: Option<f64>,
    /// CPU time of one operation, where the yardstick's is 1.
    pub(crate) ratio_to_rmw: f64,
}

/// What is under way, for whoever waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step<'a> {
    /// The scenario's name.
    pub(crate) scenario: &'static str,
    /// Who is at work.
    pub(crate) contender: &'a str,
    /// The part of the scenario that is done, from 0 to 1.
    pub(crate) done: f64,
}

/// A contender with its measurements so far.
struct Entrant {
    /// Who it is.
    contender: Contender,
    /// Operations of a repetition.
    ops: u64,
    /// Repetitions to do.
    rounds: usize,
    /// What came out, and the yardstick's CPU time per operation beside it.
    measured: Vec<(Measured, f64)>,
}

/// Measures all contenders of a scenario, and calls `progress` before each repetition.
pub(crate) fn run(
    scenario: &Scenario,
    effort: &Effort,
    progress: &mut dyn FnMut(Step<'_>),
) -> Result<Vec<Row>> {
    let mut entrants = Vec::new();
    for contender in (scenario.contenders)(effort) {
        progress(Step {
            scenario: scenario.name,
            contender: contender.name,
            done: 0.0,
        });
        entrants.push(Entrant::prepare(contender, effort)?);
    }
    let rounds = entrants
        .iter()
        .map(|entrant| entrant.rounds)
        .max()
        .unwrap_or(0);
    let yardstick_s = YARDSTICK_SHARE * effort.slice_s();
    let additions = yardstick::additions_in(yardstick_s);
    let mut before = yardstick::measure(additions).cpu_per_op();
    for round in 0..rounds {
        for entrant in entrants.iter_mut().filter(|entrant| round < entrant.rounds) {
            let done = round as f64 / rounds as f64;
            progress(Step {
                scenario: scenario.name,
                contender: entrant.contender.name,
                done,
            });
            let measured = (entrant.contender.measure)(entrant.ops)?;
            let after = yardstick::measure(additions).cpu_per_op();
            entrant
                .measured
                .push((measured, f64::midpoint(before, after)));
            before = after;
        }
    }
    Ok(entrants
        .into_iter()
        .map(|entrant| entrant.row(scenario.name))
        .collect())
}

impl Entrant {
    /// Warms up, and finds out how much to do at once.
    fn prepare(mut contender: Contender, effort: &Effort) -> Result<Self> {
        let rounds = effort.rounds();
        let slice_ns = 1e9 * effort.slice_s();
        let (ops, rounds) = match contender.size {
            Size::Fitted { ops_max } => (fit(&mut contender, slice_ns, ops_max)?, rounds),
            Size::Fixed { rounds_max: 1 } => (0, 1),
            Size::Fixed { rounds_max } => {
                let trial_ns = (contender.measure)(0)?.wall_ns;
                let fitting = (1e9 * effort.seconds_per_row / trial_ns) as usize;
                (0, fitting.clamp(2, rounds).min(rounds_max))
            }
        };
        Ok(Self {
            contender,
            ops,
            rounds,
            measured: Vec::new(),
        })
    }

    fn row(self, scenario: &'static str) -> Row {
        let each = |f: fn(&Measured) -> f64| {
            Summary::of(self.measured.iter().map(|(measured, _)| f(measured)))
        };
        let wall = each(Measured::wall_per_op);
        let ratios = self
            .measured
            .iter()
            .map(|(measured, rmw)| measured.cpu_per_op() / rmw);
        let bytes: Vec<f64> = self
            .measured
            .iter()
            .filter_map(|(measured, _)| measured.bytes_per_actor)
            .collect();
        Row {
            scenario,
            contender: self.contender.name,
            unit: "ns",
            cpu: each(Measured::cpu_per_op),
            wall,
            ops_per_s: (1e9 / wall.median).round(),
            bytes_per_actor: (!bytes.is_empty()).then(|| Summary::of(bytes).median),
            ratio_to_rmw: Summary::of(ratios).median,
            params: self.contender.params,
        }
    }
}

/// How many operations take about `slice_ns`, but never more than `ops_max`.
fn fit(contender: &mut Contender, slice_ns: f64, ops_max: u64) -> Result<u64> {
    let mut ops = OPS_FIRST.min(ops_max);
    loop {
        let trial = (contender.measure)(ops)?;
        let growth = slice_ns / trial.wall_ns.max(1.0);
        // A trial this long has seen the whole slice in small.
        let last = growth < 4.0 || ops == ops_max;
        let wanted = ops as f64 * growth.clamp(0.01, GROWTH_MAX);
        // The cast saturates, which is as large as `ops_max` can be.
        ops = (wanted as u64).clamp(1, ops_max);
        if last {
            return Ok(ops);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;

    const EFFORT: Effort = Effort {
        quick: true,
        seconds_per_row: 0.007,
    };

    /// Takes `ns` an operation, and neither more nor less.
    fn steady(name: &'static str, ns: f64) -> Contender {
        Contender::fitted(name, move |ops| Ok(made_up(ops, ns)))
    }

    fn made_up(ops: u64, ns: f64) -> Measured {
        let total = ops as f64 * ns;
        Measured {
            ops,
            cpu_ns: total,
            wall_ns: 2.0 * total,
            bytes_per_actor: Some(32.0),
        }
    }

    fn scenario(contenders: fn(&Effort) -> Vec<Contender>) -> Scenario {
        Scenario {
            name: "test",
            operation: "one test",
            contenders,
        }
    }

    #[test]
    fn a_slice_is_filled() {
        let ops = fit(&mut steady("x", 10.0), 1e6, u64::MAX).unwrap();
        assert_eq!(ops, 50_000);
    }

    #[test]
    fn a_limit_is_kept() {
        assert_eq!(fit(&mut steady("x", 10.0), 1e6, 2_000).unwrap(), 2_000);
        assert_eq!(fit(&mut steady("x", 10.0), 1e6, 10).unwrap(), 10);
    }

    #[test]
    fn work_that_is_too_long_is_cut() {
        let ops = fit(&mut steady("x", 1e4), 1e6, u64::MAX).unwrap();
        assert_eq!(ops, 50);
    }

    #[test]
    fn rows_tell_what_was_measured() {
        let both = |_: &Effort| vec![steady("a", 10.0).with("depth", 3), steady("b", 40.0)];
        let rows = run(&scenario(both), &EFFORT, &mut |_| {}).unwrap();
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].contender, "a");
        assert_eq!(rows[0].cpu.median, 10.0);
        assert_eq!(rows[0].wall.median, 20.0);
        assert_eq!(rows[0].ops_per_s, 5e7);
        assert_eq!(rows[0].bytes_per_actor, Some(32.0));
        assert_eq!(rows[0].params["depth"], 3);
        assert!(rows[0].ratio_to_rmw > 0.0);
        assert_eq!(rows[1].cpu.max, 40.0);
    }

    #[test]
    fn contenders_take_turns() {
        let three = |_: &Effort| {
            ["a", "b", "c"]
                .map(|name| steady(name, 10.0))
                .into_iter()
                .collect::<Vec<_>>()
        };
        let order = Rc::new(RefCell::new(String::new()));
        let seen = order.clone();
        run(&scenario(three), &EFFORT, &mut |step| {
            seen.borrow_mut().push_str(step.contender);
        })
        .unwrap();
        assert_eq!(*order.borrow(), "abc".repeat(1 + EFFORT.rounds()));
    }

    #[test]
    fn fixed_work_is_not_repeated_more_often_than_it_says() {
        let fixed = |_: &Effort| {
            vec![
                Contender::fixed("once", || Ok(made_up(1, 1e9))).rounds(1),
                Contender::fixed("twice", || Ok(made_up(1, 1e9))).rounds(5),
            ]
        };
        let mut steps = Vec::new();
        let rows = run(&scenario(fixed), &EFFORT, &mut |step| {
            steps.push(step.contender.to_owned());
        })
        .unwrap();
        assert_eq!(rows.len(), 2);
        assert_eq!(steps, ["once", "twice", "once", "twice", "twice"]);
    }

    #[test]
    fn a_failure_ends_the_run() {
        let failing = |_: &Effort| vec![Contender::fixed("f", || Err("no thread".into()))];
        let error = run(&scenario(failing), &EFFORT, &mut |_| {}).unwrap_err();
        assert_eq!(error.to_string(), "no thread");
    }
}
