//! Published figures, and functions that find our figures for the same subject.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::rows::Rows;
use crate::units;

/// Unit of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    /// Text that follows a figure.
    pub name: &'static str,
    /// True if more is better.
    pub more_is_better: bool,
}

impl Unit {
    /// Nanoseconds of time.
    pub const NANOSECONDS: Self = Self::less("ns");
    /// Microseconds of time.
    pub const MICROSECONDS: Self = Self::less("us");
    /// Milliseconds of time.
    pub const MILLISECONDS: Self = Self::less("ms");
    /// Bytes of memory.
    pub const BYTES: Self = Self::less("bytes");
    /// Millions of operations per second.
    pub const MILLIONS_A_SECOND: Self = Self::more("M/s");
    /// Factor by which a cost is higher.
    pub const TIMES_THE_COST: Self = Self::less("x cost");
    /// Factor by which a speed is higher.
    pub const TIMES_AS_FAST: Self = Self::more("x speed");

    /// Creates a unit for which less is better.
    pub const fn less(name: &'static str) -> Self {
        Self {
            name,
            more_is_better: false,
        }
    }

    /// Creates a unit for which more is better.
    pub const fn more(name: &'static str) -> Self {
        Self {
            name,
            more_is_better: true,
        }
    }
}

/// A figure, or the minimum and maximum of several figures.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Minimum.
    pub low: f64,
    /// Maximum.
    pub high: f64,
}

impl Figure {
    /// Creates a figure that is known exactly.
    pub const fn of(value: f64) -> Self {
        Self::between(value, value)
    }

    /// Creates a figure between `low` and `high`.
    pub const fn between(low: f64, high: f64) -> Self {
        Self { low, high }
    }

    /// Returns the better end of the range.
    pub(super) fn best(self, unit: Unit) -> f64 {
        if unit.more_is_better {
            self.high
        } else {
            self.low
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let low = units::three_digits(self.low);
        if self.low == self.high {
            return f.pad(&low);
        }
        f.pad(&format!("{low} .. {}", units::three_digits(self.high)))
    }
}

/// Figure of the published system on a machine like this one.
#[derive(Clone, Copy)]
pub enum Here {
    /// Unknown figure.
    Unknown,
    /// Figure that was measured earlier.
    Noted(Figure),
    /// Figure of a contender of this run.
    InThisRun(fn(Rows<'_>) -> Option<f64>),
}

/// A line of a published table.
#[derive(Clone, Copy)]
pub struct Published {
    /// Subject of the line.
    pub of: &'static str,
    /// Unit of the figures.
    pub unit: Unit,
    /// Published figure. `None` if it is published only in a picture or in words.
    pub said: Option<Figure>,
    /// Figure of the same system on a machine like this one.
    pub here: Here,
    /// Returns our figure in this run, in the same unit. Returns `None` if it was not measured.
    pub ours: fn(Rows<'_>) -> Option<f64>,
}

impl Published {
    /// A line without any known figures.
    pub const UNKNOWN: Self = Self {
        of: "",
        unit: Unit::NANOSECONDS,
        said: None,
        here: Here::Unknown,
        ours: |_| None,
    };
}

impl fmt::Debug for Published {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Published")
            .field("of", &self.of)
            .field("said", &self.said)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Here {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("Unknown"),
            Self::Noted(figure) => f.debug_tuple("Noted").field(figure).finish(),
            Self::InThisRun(_) => f.write_str("InThisRun(..)"),
        }
    }
}
