//! Experiments, which consist of functions to measure and parameters to sweep.

use std::fmt;

use crate::dut::Dut;
use crate::engine::{self, Pace, Plan, Progress};
use crate::point::{Axis, Point, grid};
use crate::report::Report;
use crate::scenario::{ROUNDS_MAX, Result};
use crate::stop::Stop;

/// Maximum number of parameters that a picture can show. One parameter is the horizontal axis of
/// the picture, and the other parameter distinguishes the lines.
const AXES_MAX: usize = 2;

/// Default number of measurements of each `Dut` at each point.
const ROUNDS: usize = 15;

/// Default time for all measurements of a `Dut` at a point, in seconds.
const SECONDS_PER_ROW: f64 = 0.5;

/// A comparison of functions and [contenders](crate::Contender), optionally at several values of
/// one or two parameters.
///
/// # Examples
/// ```
/// use garrick_measure::{Dut, Experiment};
///
/// let report = Experiment::new("sort", "sorting n numbers that are almost in order")
///     .sweep("n", [10, 100, 1000])
///     .dut(Dut::new("stable", |point| {
///         let numbers: Vec<u64> = (0..point["n"]).map(|n| n ^ 1).collect();
///         move || { let mut sorted = numbers.clone(); sorted.sort(); sorted }
///     }))
///     .dut(Dut::new("unstable", |point| {
///         let numbers: Vec<u64> = (0..point["n"]).map(|n| n ^ 1).collect();
///         move || { let mut sorted = numbers.clone(); sorted.sort_unstable(); sorted }
///     }))
///     .reference("stable")
///     .seconds_per_row(0.01)
///     .run()?;
/// assert_eq!(report.rows().len(), 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Experiment {
    name: String,
    operation: String,
    axes: Vec<Axis>,
    duts: Vec<Dut>,
    reference: Option<String>,
    pace: Pace,
    stop: Stop,
}

impl Experiment {
    /// Creates an experiment that has nothing to measure yet. `operation` is a text that describes
    /// one call of a measured function.
    pub fn new(name: &str, operation: &str) -> Self {
        Self {
            name: name.to_owned(),
            operation: operation.to_owned(),
            axes: Vec::new(),
            duts: Vec::new(),
            reference: None,
            pace: Pace {
                rounds: ROUNDS,
                seconds_per_row: SECONDS_PER_ROW,
            },
            stop: Stop::new(),
        }
    }

    /// Adds a parameter. The experiment is then measured at each of the parameter's `values`. If
    /// there are two parameters, it is measured at each pair of their values.
    #[must_use]
    pub fn sweep(mut self, parameter: &str, values: impl IntoIterator<Item = u64>) -> Self {
        self.axes.push(Axis {
            name: parameter.to_owned(),
            values: values.into_iter().collect(),
        });
        self
    }

    /// Adds a function or contender to measure. At each point of the sweep, all functions and
    /// contenders of the experiment are measured alternately.
    #[must_use]
    pub fn dut(mut self, dut: Dut) -> Self {
        self.duts.push(dut);
        self
    }

    /// Sets the name of the [`Dut`] that the others are compared with. The report then also
    /// contains the ratio of each time to the time of this reference.
    #[must_use]
    pub fn reference(mut self, name: &str) -> Self {
        self.reference = Some(name.to_owned());
        self
    }

    /// Sets the approximate time to measure each [`Dut`] at each point of the sweep, in seconds.
    /// The default is half a second.
    #[must_use]
    pub fn seconds_per_row(mut self, seconds: f64) -> Self {
        self.pace.seconds_per_row = seconds;
        self
    }

    /// Sets the number of measurements of each [`Dut`] at each point of the sweep. The default is
    /// 15. The 95 % confidence interval of a median needs at least 6.
    #[must_use]
    pub fn rounds(mut self, rounds: usize) -> Self {
        self.pace.rounds = rounds;
        self
    }

    /// Makes [`run`](Self::run) return early when the flag `stop` is set. The report then contains
    /// the measurements made so far.
    #[must_use]
    pub fn stop(mut self, stop: &Stop) -> Self {
        self.stop = stop.clone();
        self
    }

    /// Returns the experiment's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the description of one call of a measured function.
    pub fn operation(&self) -> &str {
        &self.operation
    }

    /// Measures all functions and contenders at each point of the sweep, and returns the report.
    ///
    /// # Errors
    /// Fails if there is nothing to measure, if there are more than two parameters, or if a
    /// parameter has no values. Fails if the reference does not exist, or if the number of rounds
    /// or seconds is invalid. Also fails if a contender fails.
    pub fn run(self) -> Result<Report> {
        self.run_with(&mut |_| {})
    }

    /// Measures everything and reports progress.
    pub(crate) fn run_with(self, progress: &mut dyn FnMut(Progress<'_>)) -> Result<Report> {
        self.check()?;
        let points = self.points();
        let plans = points.iter().map(|point| self.plan(point)).collect();
        let reference = self.reference.as_deref();
        let rows = engine::run(plans, self.pace, reference, &self.stop, progress)?;
        Ok(Report::new(rows))
    }

    /// Returns all points of the sweep.
    pub(crate) fn points(&self) -> Vec<Point> {
        grid(&self.axes)
    }

    fn plan<'a>(&'a self, point: &'a Point) -> Plan<'a> {
        let all = move || self.duts.iter().map(|dut| dut.at(point)).collect();
        Plan {
            scenario: &self.name,
            contenders: Box::new(all),
        }
    }

    /// Checks the experiment. Returns a description of the mistake if there is one.
    pub(crate) fn check(&self) -> std::result::Result<(), String> {
        let Self { name, pace, .. } = self;
        if self.duts.is_empty() {
            return Err(format!("'{name}' has nothing to measure"));
        }
        if self.axes.len() > AXES_MAX {
            return Err(format!("'{name}' sweeps more than {AXES_MAX} parameters"));
        }
        if let Some(axis) = self.axes.iter().find(|axis| axis.values.is_empty()) {
            return Err(format!(
                "'{name}' has no values for the parameter '{}'",
                axis.name
            ));
        }
        if let Some(reference) = &self.reference
            && !self.duts.iter().any(|dut| dut.name() == reference)
        {
            let names: Vec<&str> = self.duts.iter().map(Dut::name).collect();
            let names = names.join(", ");
            return Err(format!(
                "the reference '{reference}' is not measured; it must be one of: {names}"
            ));
        }
        if !(1..=ROUNDS_MAX).contains(&pace.rounds) {
            return Err(format!(
                "the number of rounds is {}, but must be from 1 to {ROUNDS_MAX}",
                pace.rounds
            ));
        }
        if !(pace.seconds_per_row > 0.0 && pace.seconds_per_row.is_finite()) {
            return Err(format!(
                "the time for each row is {} seconds, but must be positive and finite",
                pace.seconds_per_row
            ));
        }
        Ok(())
    }
}

impl fmt::Debug for Experiment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Experiment")
            .field("name", &self.name)
            .field("axes", &self.axes)
            .field("duts", &self.duts)
            .finish_non_exhaustive()
    }
}
