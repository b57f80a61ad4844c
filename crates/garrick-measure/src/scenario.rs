//! Scenarios, which consist of an operation to repeat, and the contenders that perform it.

use std::error::Error;
use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::clock::Span;
use crate::point::Point;

/// The result type of this crate's functions that can fail. The error is a boxed [`Error`].
pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// An operation to measure, with the contenders that perform it.
pub struct Scenario {
    /// Name of the scenario on the command line, in tables and in JSON.
    pub name: &'static str,
    /// Description of exactly one operation. `--list` shows this description.
    pub operation: &'static str,
    /// Creates the contenders, in the order in which the outputs show them.
    pub contenders: fn(&Effort) -> Vec<Contender>,
}

/// A subcommand that measures by its own method and prints its own tables.
pub struct Study {
    /// Name of the subcommand.
    pub name: &'static str,
    /// Description of the study in the help.
    pub about: &'static str,
    /// Sections, in the order in which they are shown. If there are several, the user can select
    /// some of them with the flag `--only`.
    pub sections: &'static [Section],
}

/// A part of a [`Study`].
pub struct Section {
    /// Name of the section, for the flag `--only`.
    pub name: &'static str,
    /// Runs the section's measurements, and returns the results as text. If `quick` is true, the
    /// measurements take only a few seconds.
    pub run: fn(quick: bool) -> Result<String>,
}

impl fmt::Debug for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Section")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Study {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Study")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scenario")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// A scenario that can be measured at several values of its parameters.
pub struct Swept {
    /// Name of the scenario.
    pub scenario: &'static str,
    /// Names of the parameters that can be swept, with the minimum and maximum value of each.
    pub parameters: &'static [(&'static str, RangeInclusive<u64>)],
    /// Creates the contenders at a point of a sweep, in the order in which the outputs show them.
    pub contenders: fn(&Effort, &Point) -> Vec<Contender>,
}

impl fmt::Debug for Swept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Swept")
            .field("scenario", &self.scenario)
            .field("parameters", &self.parameters)
            .finish_non_exhaustive()
    }
}

/// Number of measurements of each contender in a full run.
const ROUNDS_FULL: usize = 15;

/// Number of measurements of each contender in a quick run.
const ROUNDS_QUICK: usize = 7;

/// Number of measurements of each contender in a run that takes less than [`SECONDS_TRIAL`] per
/// row. Such a run only shows that the measurements work, because its figures are inaccurate.
const ROUNDS_TRIAL: usize = 2;

/// Time per row, in seconds, below which each contender is measured only [`ROUNDS_TRIAL`] times.
const SECONDS_TRIAL: f64 = 0.001;

/// Maximum number of measurements of each contender, even in a long run.
pub(crate) const ROUNDS_MAX: usize = 1000;

/// Approximate maximum duration of one measurement, in seconds. A run can be stopped between two
/// measurements.
const SLICE_S_MAX: f64 = 0.5;

/// The effort of a run: how much work the contenders do, and how long they are measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effort {
    /// True if contenders with a large amount of work should do less.
    pub quick: bool,
    /// Approximate time to measure each row, in seconds. The time for preparations is not included.
    pub seconds_per_row: f64,
}

impl Effort {
    /// Returns `quick` in a quick run, and `full` otherwise.
    pub fn pick<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }

    /// Returns the number of measurements of each contender that has no fixed amount of work. The
    /// number is so large that no measurement takes longer than [`SLICE_S_MAX`], but at most
    /// [`ROUNDS_MAX`].
    pub(crate) fn rounds(&self) -> usize {
        if self.seconds_per_row < SECONDS_TRIAL {
            return ROUNDS_TRIAL;
        }
        let for_time = (self.seconds_per_row / SLICE_S_MAX).ceil() as usize;
        for_time.clamp(self.pick(ROUNDS_FULL, ROUNDS_QUICK), ROUNDS_MAX)
    }

    /// Returns the approximate time of each measurement of a contender, in seconds.
    pub fn slice_s(&self) -> f64 {
        self.seconds_per_row / self.rounds() as f64
    }
}

/// The number of operations in one repetition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// Largest number of operations that fits into the available time, up to a limit.
    Fitted {
        /// Maximum number of operations. This maximum limits the memory and the time that the
        /// operations take.
        ops_max: u64,
    },
    /// A fixed number of operations, which the scenario sets.
    Fixed {
        /// Maximum number of repetitions.
        rounds_max: usize,
    },
}

/// The result of one call of [`Contender::measure`], which performs one repetition of a contender's
/// work.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Number of operations that were performed.
    pub ops: u64,
    /// CPU time of all operations, in nanoseconds.
    pub cpu_ns: f64,
    /// Wall time of all operations, in nanoseconds.
    pub wall_ns: f64,
    /// Resident memory for each actor in bytes. `None` if memory was not measured.
    pub bytes_per_actor: Option<f64>,
}

impl Measured {
    /// Creates the result of `ops` operations that took `span`.
    pub fn new(ops: u64, span: Span) -> Self {
        Self {
            ops,
            cpu_ns: span.cpu.as_nanos() as f64,
            wall_ns: span.wall.as_nanos() as f64,
            bytes_per_actor: None,
        }
    }

    /// Returns the total CPU time and wall time of all operations.
    pub(crate) fn span(&self) -> Span {
        Span {
            cpu: Duration::from_nanos(self.cpu_ns as u64),
            wall: Duration::from_nanos(self.wall_ns as u64),
        }
    }

    /// Checks that the time of one operation is a number. Otherwise, no table could show it, and no
    /// JSON file could be read again.
    ///
    /// # Errors
    /// Fails if there are no operations, or if a figure is negative, infinite or not a number.
    pub(crate) fn check(&self, scenario: &str, contender: &str) -> Result<()> {
        if self.ops == 0 {
            return Err(format!(
                "'{contender}' of '{scenario}' has reported 0 operations, so the time of one \
                 operation is unknown"
            )
            .into());
        }
        let figures = [Some(self.cpu_ns), Some(self.wall_ns), self.bytes_per_actor];
        let is_sound = |figure: &f64| figure.is_finite() && *figure >= 0.0;
        match figures.iter().flatten().find(|figure| !is_sound(figure)) {
            None => Ok(()),
            Some(figure) => Err(format!(
                "'{contender}' of '{scenario}' has reported {figure} nanoseconds or bytes, but \
                 figures must be finite and not negative"
            )
            .into()),
        }
    }

    /// Returns the CPU time of one operation, in nanoseconds.
    pub fn cpu_per_op(&self) -> f64 {
        self.cpu_ns / self.ops as f64
    }

    /// Returns the wall time of one operation, in nanoseconds.
    pub fn wall_per_op(&self) -> f64 {
        self.wall_ns / self.ops as f64
    }
}

/// An implementation of a scenario's operation. The contenders of a scenario are compared with each
/// other.
pub struct Contender {
    /// Name of the contender: `garrick`, or the name of another library.
    pub name: &'static str,
    /// Parameters that distinguish the contender from others with the same name.
    pub params: Map<String, Value>,
    /// Amount of work in one repetition.
    pub(crate) size: Size,
    /// Performs about the given number of operations. Returns the exact number, and the time that
    /// they took.
    pub measure: Box<dyn FnMut(u64) -> Result<Measured>>,
}

impl Contender {
    /// Creates a contender without a fixed amount of work. Each repetition calls `measure` with the
    /// number of operations that fills the available time. `measure` performs about this number of
    /// operations.
    pub fn fitted(
        name: &'static str,
        measure: impl FnMut(u64) -> Result<Measured> + 'static,
    ) -> Self {
        let size = Size::Fitted { ops_max: u64::MAX };
        Self {
            name,
            params: Map::new(),
            size,
            measure: Box::new(measure),
        }
    }

    /// Creates a contender whose amount of work is fixed. Each repetition calls `measure`, which
    /// performs this work once.
    pub fn fixed(
        name: &'static str,
        mut measure: impl FnMut() -> Result<Measured> + 'static,
    ) -> Self {
        let size = Size::Fixed {
            rounds_max: usize::MAX,
        };
        Self {
            name,
            params: Map::new(),
            size,
            measure: Box::new(move |_| measure()),
        }
    }

    /// Adds a parameter, for example `workers=2`. In all outputs, parameters distinguish the
    /// contender from others with the same name.
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.params.insert(key.to_owned(), value.into());
        self
    }

    /// Makes the contender perform as many operations as fit into the available time, but at most
    /// `ops_max` in one repetition.
    pub fn at_most(mut self, ops_max: u64) -> Self {
        self.size = Size::Fitted { ops_max };
        self
    }

    /// Makes the amount of work fixed, and limits the number of repetitions to `rounds_max`.
    pub fn rounds(mut self, rounds_max: usize) -> Self {
        self.size = Size::Fixed { rounds_max };
        self
    }
}

impl fmt::Debug for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Contender")
            .field("name", &self.name)
            .field("params", &self.params)
            .finish_non_exhaustive()
    }
}
