//! Published figures, and functions that find our figures for the same operation or quantity.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::rows::Rows;
use crate::units;

/// The unit of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    /// The text that follows a figure, such as `ns`.
    pub name: &'static str,
    /// True if a larger figure is better.
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
    /// A ratio of two costs. A smaller figure is better.
    pub const TIMES_THE_COST: Self = Self::less("x cost");
    /// A ratio of two speeds. A larger figure is better.
    pub const TIMES_AS_FAST: Self = Self::more("x speed");

    /// Creates a unit in which a smaller figure is better. The text `name` follows each figure.
    pub const fn less(name: &'static str) -> Self {
        Self {
            name,
            more_is_better: false,
        }
    }

    /// Creates a unit in which a larger figure is better. The text `name` follows each figure.
    pub const fn more(name: &'static str) -> Self {
        Self {
            name,
            more_is_better: true,
        }
    }
}

/// A figure, or the range of several figures.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The smallest of the figures.
    pub low: f64,
    /// The largest of the figures.
    pub high: f64,
}

impl Figure {
    /// Creates a figure with a single value.
    pub const fn of(value: f64) -> Self {
        Self::between(value, value)
    }

    /// Creates a figure that ranges from `low` to `high`.
    pub const fn between(low: f64, high: f64) -> Self {
        Self { low, high }
    }

    /// Returns the upper bound of the range if a larger value is better, and otherwise the lower
    /// bound.
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

/// The figure of the published system on a machine like this one: unknown, measured in an earlier
/// run, or measured in this run.
#[derive(Clone, Copy)]
pub enum Here {
    /// No figure is known.
    Unknown,
    /// The figure was measured in an earlier run, and is contained in this variant.
    Noted(Figure),
    /// The figure is measured in this run. The function finds it in the rows of the run, and
    /// returns `None` if it was not measured.
    InThisRun(fn(Rows<'_>) -> Option<f64>),
}

/// A published figure, and a function that finds our figure for the same operation or quantity.
#[derive(Clone, Copy)]
pub struct Published {
    /// The operation or quantity that was measured.
    pub of: &'static str,
    /// Unit of the published figure, of `here` and of our figure.
    pub unit: Unit,
    /// The published figure. `None` if it is published only in a picture or in words.
    pub said: Option<Figure>,
    /// Figure of the published system on a machine like this one.
    pub here: Here,
    /// Returns our figure in this run, in the same unit, or `None` if it was not measured.
    pub ours: fn(Rows<'_>) -> Option<f64>,
}

impl Published {
    /// A [`Published`] without any figures. Write `..Published::UNKNOWN` at the end of a struct
    /// expression to set the fields that the new value does not need.
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
