//! What a scenario is: something to do many times, and several contenders who do it.

use std::error::Error;
use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::clock::Span;
use crate::point::Point;

/// What can keep a scenario from running: a thread or a process that the system does not give.
pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// One thing that is measured.
pub struct Scenario {
    /// What it is called on the command line, in tables and in JSON.
    pub name: &'static str,
    /// What exactly one operation is.
    pub operation: &'static str,
    /// Makes those who do it, in the order in which they are shown.
    pub contenders: fn(&Effort) -> Vec<Contender>,
}

/// What is measured in a way of its own, and shown in tables of its own: a subcommand.
pub struct Study {
    /// Its name on the command line.
    pub name: &'static str,
    /// The line about it in the help.
    pub about: &'static str,
    /// Its sections, in the order in which they are shown. Of several, some can be chosen.
    pub sections: &'static [Section],
}

/// A part of a [`Study`].
pub struct Section {
    /// Its name on the command line.
    pub name: &'static str,
    /// Measures, in a few seconds if told to be quick, and says what came of it.
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

/// A scenario that can be measured at other parameters than its own.
pub struct Swept {
    /// The scenario's name.
    pub scenario: &'static str,
    /// What can be swept: names, and the least and the most that each can be.
    pub parameters: &'static [(&'static str, RangeInclusive<u64>)],
    /// Makes those who do it there, in the order in which they are shown.
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

/// Measurements of each contender in a full run.
const ROUNDS_FULL: usize = 15;

/// The same in a quick run.
const ROUNDS_QUICK: usize = 7;

/// Measurements of each contender at most, however long it takes.
pub(crate) const ROUNDS_MAX: usize = 1000;

/// A measurement takes about this long at most, in seconds: between two of them a run can be stopped.
const SLICE_S_MAX: f64 = 0.5;

/// How much work a run is to put in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effort {
    /// Whether what is large by nature is to be made smaller.
    pub quick: bool,
    /// About how long each row is measured, in seconds, its preparations aside.
    pub seconds_per_row: f64,
}

impl Effort {
    /// `quick` where that was asked for, else `full`.
    pub fn pick<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }

    /// How often each contender is measured, unless its work is of a given size. More time makes more
    /// measurements, not longer ones.
    pub(crate) fn rounds(&self) -> usize {
        let for_time = (self.seconds_per_row / SLICE_S_MAX).ceil() as usize;
        for_time.clamp(self.pick(ROUNDS_FULL, ROUNDS_QUICK), ROUNDS_MAX)
    }

    /// Returns about how long each measurement of a contender takes, in seconds.
    pub fn slice_s(&self) -> f64 {
        self.seconds_per_row / self.rounds() as f64
    }
}

/// How many operations one repetition does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// As many as fill the time, up to this many.
    Fitted {
        /// What memory, or the patience of a reader, allows at once.
        ops_max: u64,
    },
    /// What the scenario says.
    Fixed {
        /// How many repetitions are enough.
        rounds_max: usize,
    },
}

/// What one repetition came to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Operations done.
    pub ops: u64,
    /// CPU time of all of them, in nanoseconds.
    pub cpu_ns: f64,
    /// Wall time of all of them, in nanoseconds.
    pub wall_ns: f64,
    /// Resident bytes for each actor, if that is what was looked at.
    pub bytes_per_actor: Option<f64>,
}

impl Measured {
    /// `ops` operations that took `span`.
    pub fn new(ops: u64, span: Span) -> Self {
        Self {
            ops,
            cpu_ns: span.cpu.as_nanos() as f64,
            wall_ns: span.wall.as_nanos() as f64,
            bytes_per_actor: None,
        }
    }

    /// What all of them took.
    pub(crate) fn span(&self) -> Span {
        Span {
            cpu: Duration::from_nanos(self.cpu_ns as u64),
            wall: Duration::from_nanos(self.wall_ns as u64),
        }
    }

    /// CPU time of one operation, in nanoseconds.
    pub fn cpu_per_op(&self) -> f64 {
        self.cpu_ns / self.ops as f64
    }

    /// Wall time of one operation, in nanoseconds.
    pub fn wall_per_op(&self) -> f64 {
        self.wall_ns / self.ops as f64
    }
}

/// One who does what a scenario asks for.
pub struct Contender {
    /// `garrick`, or what it is compared with.
    pub name: &'static str,
    /// What distinguishes it from others of that name.
    pub params: Map<String, Value>,
    /// How much it does in one repetition.
    pub(crate) size: Size,
    /// Does about as many operations as it is told to, and says what they took.
    pub measure: Box<dyn FnMut(u64) -> Result<Measured>>,
}

impl Contender {
    /// One who does as many operations as fill the time.
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

    /// One whose work is of a given size.
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

    /// Notes a parameter.
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.params.insert(key.to_owned(), value.into());
        self
    }

    /// Does at most so many operations at once.
    pub fn at_most(mut self, ops_max: u64) -> Self {
        self.size = Size::Fitted { ops_max };
        self
    }

    /// Repeats its fixed work at most so many times.
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
