//! Published figures together with measured figures.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Suite;
use super::published::{Figure, Here, Published};
use super::rows::Rows;
use crate::row::Row;
use crate::statistics::thousandths;

/// Factor below which two systems count as equal, because figures from different runs are not
/// accurate enough for a finer distinction.
const EVEN: f64 = 1.25;

/// The published figures of a suite, together with our figures from one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// Name of the suite.
    pub suite: String,
    /// Description of the experiment that the suite repeats.
    pub about: String,
    /// The authors of the published figures, and the machine on which they measured them.
    pub origin: String,
    /// Description of how the published system was measured on a machine like this one. Empty if it
    /// was not measured.
    pub here: String,
    /// The lines of the comparison. Each line contains a published figure and our figure.
    pub lines: Vec<Line>,
    /// Notes that are needed to understand the lines.
    pub note: String,
    /// Results in addition to the comparison with published figures, one sentence per entry.
    pub findings: Vec<String>,
}

/// A published figure together with our figure for the same operation or quantity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The operation or quantity that was measured.
    pub of: String,
    /// Unit of all figures of the line.
    pub unit: String,
    /// True if a larger figure is better.
    pub more_is_better: bool,
    /// The published figure, measured on the machine of its authors. `None` if it was published
    /// only in a picture or in words.
    pub published: Option<Figure>,
    /// The figure of the published system on a machine like this one. `None` if it is unknown.
    pub here: Option<Figure>,
    /// Our figure in this run. `None` if it was not measured.
    pub ours: Option<f64>,
    /// Our figure, divided by the figure of the published system. The divisor is the field `here`
    /// if it is known, and otherwise the field `published`. If the divisor is a range, the better
    /// end of the range is used. `None` if one of the two figures is unknown or zero.
    pub ratio: Option<f64>,
    /// The result of comparing the two figures. `None` if there is no ratio.
    pub standing: Option<Standing>,
}

/// The result of comparing our figure with the published system's figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// Our figure is better.
    Ours,
    /// The difference between the figures is too small to call one of them better.
    Even,
    /// The published system's figure is better.
    Theirs,
    /// There is no result, because the measurement of one of the figures was disturbed.
    Doubtful,
}

impl Beside {
    /// Combines the published figures of `suite` with our figures from `rows`. Returns `None` if
    /// the suite has no published figures and there are no findings.
    pub fn of(suite: &Suite, rows: &[Row]) -> Option<Self> {
        let believed = rows.iter().filter(|row| row.doubts.is_empty());
        let believed: Vec<Row> = believed.cloned().collect();
        let (rows, believed) = (Rows::new(rows), Rows::new(&believed));
        let findings = findings(suite, rows, believed);
        if suite.published.is_empty() && findings.is_empty() {
            return None;
        }
        let lines = suite.published.iter();
        Some(Self {
            suite: suite.name.to_owned(),
            about: suite.about.to_owned(),
            origin: suite.origin.to_owned(),
            here: suite.here.to_owned(),
            lines: lines
                .map(|published| Line::of(published, rows, believed))
                .collect(),
            note: suite.note.to_owned(),
            findings,
        })
    }
}

/// Returns the findings that do not depend on doubtful rows. If findings are omitted, a last
/// sentence states how many.
fn findings(suite: &Suite, rows: Rows<'_>, believed: Rows<'_>) -> Vec<String> {
    let (mut all, sure) = ((suite.findings)(rows), (suite.findings)(believed));
    let before = all.len();
    all.retain(|finding| sure.contains(finding));
    match before - all.len() {
        0 => {}
        1 => all.push("1 finding is left out, because it depends on doubtful rows.".to_owned()),
        left_out => all.push(format!(
            "{left_out} findings are left out, because they depend on doubtful rows."
        )),
    }
    all
}

impl Line {
    fn of(published: &Published, rows: Rows<'_>, believed: Rows<'_>) -> Self {
        let unit = published.unit;
        let here_in = |rows| match published.here {
            Here::Unknown => None,
            Here::Noted(figure) => Some(figure),
            Here::InThisRun(find) => find(rows).map(thousandths).map(Figure::of),
        };
        let ours_in = |rows| (published.ours)(rows).map(thousandths);
        let (here, ours) = (here_in(rows), ours_in(rows));
        let is_sure = here == here_in(believed) && ours == ours_in(believed);
        let theirs = here.or(published.said).map(|figure| figure.best(unit));
        // A time of zero cannot be compared.
        let both = ours
            .zip(theirs)
            .filter(|(ours, theirs)| *ours > 0.0 && *theirs > 0.0);
        let ratio = both.map(|(ours, theirs)| ours / theirs);
        let standing = |ratio| {
            if is_sure {
                Standing::of(ratio, unit.more_is_better)
            } else {
                Standing::Doubtful
            }
        };
        Self {
            of: published.of.to_owned(),
            unit: unit.name.to_owned(),
            more_is_better: unit.more_is_better,
            published: published.said,
            here,
            ours,
            ratio,
            standing: ratio.map(standing),
        }
    }

    /// Returns how many times better the better figure is than the worse one. The factor is at
    /// least 1. Returns `None` if there is no ratio.
    pub fn factor(&self) -> Option<f64> {
        self.ratio.map(|ratio| ratio.max(ratio.recip()))
    }
}

impl Standing {
    /// Returns the result of comparing the two figures, if our figure is `ratio` times the
    /// published system's figure.
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
            Self::Doubtful => "doubtful",
        })
    }
}
