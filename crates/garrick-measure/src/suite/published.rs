//! What was published, and how our figure for the same is found.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::rows::Rows;
use crate::units;

/// What a figure counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    /// What is written beside a figure.
    pub name: &'static str,
    /// Whether more is better.
    pub more_is_better: bool,
}

impl Unit {
    /// Of time.
    pub const NANOSECONDS: Self = Self::less("ns");
    /// Of time.
    pub const MICROSECONDS: Self = Self::less("us");
    /// Of time.
    pub const MILLISECONDS: Self = Self::less("ms");
    /// Of memory.
    pub const BYTES: Self = Self::less("bytes");
    /// Millions of operations in a second.
    pub const MILLIONS_A_SECOND: Self = Self::more("M/s");
    /// How many times as much something costs.
    pub const TIMES_THE_COST: Self = Self::less("x cost");
    /// How many times as fast something is.
    pub const TIMES_AS_FAST: Self = Self::more("x speed");

    /// One of which less is better.
    pub const fn less(name: &'static str) -> Self {
        Self {
            name,
            more_is_better: false,
        }
    }

    /// One of which more is better.
    pub const fn more(name: &'static str) -> Self {
        Self {
            name,
            more_is_better: true,
        }
    }
}

/// A figure, or the least and the most of several.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The least.
    pub low: f64,
    /// The most.
    pub high: f64,
}

impl Figure {
    /// One that is known.
    pub const fn of(value: f64) -> Self {
        Self::between(value, value)
    }

    /// One that was `low`, or `high`, or something between.
    pub const fn between(low: f64, high: f64) -> Self {
        Self { low, high }
    }

    /// The end that is better.
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

/// What the system that a line is of takes on a machine like this one.
#[derive(Clone, Copy)]
pub enum Here {
    /// Nobody knows.
    Unknown,
    /// It was measured before.
    Noted(Figure),
    /// It is a contender of this run.
    InThisRun(fn(Rows<'_>) -> Option<f64>),
}

/// A line of a published table.
#[derive(Clone, Copy)]
pub struct Published {
    /// What it is of.
    pub of: &'static str,
    /// What its figures count.
    pub unit: Unit,
    /// What the source says. None if it says it in a picture only, or in words.
    pub said: Option<Figure>,
    /// What the same system takes on a machine like this one.
    pub here: Here,
    /// What we take in this run, in this unit. None if that was not measured.
    pub ours: fn(Rows<'_>) -> Option<f64>,
}

impl Published {
    /// A line of which nothing is known.
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
