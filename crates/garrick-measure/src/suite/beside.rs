//! What was published beside what was measured.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Suite;
use super::published::{Figure, Here, Published};
use super::rows::Rows;
use crate::row::Row;
use crate::statistics::thousandths;

/// Systems that differ by less are told to be even: figures that were noted in other runs are no better than that.
const EVEN: f64 = 1.25;

/// A suite's lines, with our figures from one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// The suite's name.
    pub suite: String,
    /// What it repeats.
    pub about: String,
    /// Whose figures are published, and on which machine they were measured.
    pub origin: String,
    /// Which system was measured on a machine like this one. Empty if none was.
    pub here: String,
    /// Line by line.
    pub lines: Vec<Line>,
    /// What a reader has to know.
    pub note: String,
    /// What else came out.
    pub findings: Vec<String>,
}

/// A published figure beside ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// What it is of.
    pub of: String,
    /// What the figures count.
    pub unit: String,
    /// Whether more is better.
    pub more_is_better: bool,
    /// What the source says, of its own machine.
    pub published: Option<Figure>,
    /// What the same system takes on a machine like this one.
    pub here: Option<Figure>,
    /// What we take, in this run.
    pub ours: Option<f64>,
    /// Ours in units of the better of theirs: `here` where that is known, or else `published`.
    pub ratio: Option<f64>,
    /// Who does better.
    pub standing: Option<Standing>,
}

/// Who does better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// We do.
    Ours,
    /// The difference is too small to tell.
    Even,
    /// They do.
    Theirs,
}

impl Beside {
    /// Puts what `rows` say of us beside what was published. None if nothing was, and nothing was found either.
    pub fn of(suite: &Suite, rows: &[Row]) -> Option<Self> {
        let rows = Rows::new(rows);
        let findings = (suite.findings)(rows);
        if suite.published.is_empty() && findings.is_empty() {
            return None;
        }
        let lines = suite.published.iter();
        Some(Self {
            suite: suite.name.to_owned(),
            about: suite.about.to_owned(),
            origin: suite.origin.to_owned(),
            here: suite.here.to_owned(),
            lines: lines.map(|published| Line::of(published, rows)).collect(),
            note: suite.note.to_owned(),
            findings,
        })
    }
}

impl Line {
    fn of(published: &Published, rows: Rows<'_>) -> Self {
        let unit = published.unit;
        let here = match published.here {
            Here::Unknown => None,
            Here::Noted(figure) => Some(figure),
            Here::InThisRun(find) => find(rows).map(thousandths).map(Figure::of),
        };
        let ours = (published.ours)(rows).map(thousandths);
        let theirs = here.or(published.said).map(|figure| figure.best(unit));
        // What took no time cannot be compared.
        let both = ours
            .zip(theirs)
            .filter(|(ours, theirs)| *ours > 0.0 && *theirs > 0.0);
        let ratio = both.map(|(ours, theirs)| ours / theirs);
        Self {
            of: published.of.to_owned(),
            unit: unit.name.to_owned(),
            more_is_better: unit.more_is_better,
            published: published.said,
            here,
            ours,
            ratio,
            standing: ratio.map(|ratio| Standing::of(ratio, unit.more_is_better)),
        }
    }

    /// How many times better the better one is.
    pub fn factor(&self) -> Option<f64> {
        self.ratio.map(|ratio| ratio.max(ratio.recip()))
    }
}

impl Standing {
    /// Who does better if ours is `ratio` times theirs.
    fn of(ratio: f64, more_is_better: bool) -> Self {
        let better = if more_is_better { ratio } else { ratio.recip() };
        if better >= EVEN {
            Self::Ours
        } else if better > EVEN.recip() {
            Self::Even
        } else {
            Self::Theirs
        }
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ours => "ours",
            Self::Even => "even",
            Self::Theirs => "theirs",
        })
    }
}
