//! Comparison of a run with an earlier one. Rows are faster, slower, or undecided.
//!
//! Machines change their speed, so the comparison uses the ratio to the yardstick. For rows that
//! measure memory, it uses bytes. A change counts if the two intervals around the medians do not
//! overlap, and the medians differ by more than a tenth.

use std::fmt::{self, Write};

use crate::row::Row;
use crate::statistics::Interval;

use super::Report;

/// Relative change below which a row counts as unchanged.
const TOLERANCE: f64 = 0.1;

/// Factor that widens an interval if only minimum and maximum are known.
const UNSURE: f64 = 1.25;

/// Result of comparing a row with an earlier run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The row costs less than before.
    Faster,
    /// The row costs the same as before, within the accuracy of the measurement.
    Same,
    /// The row costs more than before.
    Slower,
    /// The row seems to cost more, but one of the runs was disturbed.
    Doubtful,
    /// The row was not measured before.
    New,
    /// The row was measured before, but not now, although its scenario was measured.
    Gone,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Faster => "faster",
            Self::Same => "same",
            Self::Slower => "SLOWER",
            Self::Doubtful => "doubtful",
            Self::New => "new",
            Self::Gone => "gone",
        })
    }
}

/// A row of one run or of both runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Scenario, contender and parameters.
    pub name: String,
    /// Result of the comparison.
    pub verdict: Verdict,
    /// Earlier cost, in units of the yardstick, or in bytes.
    pub before: Option<f64>,
    /// Current cost, in units of the yardstick, or in bytes.
    pub now: Option<f64>,
}

/// All rows of two runs, side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Changes, row by row.
    pub changes: Vec<Change>,
    /// Origin of the earlier run.
    pub source: String,
}

impl Report {
    /// Compares this run with `before`, an earlier one.
    pub fn compare(&self, before: &Self) -> Comparison {
        let mut changes: Vec<Change> = self
            .rows
            .iter()
            .map(|row| changed(row, before.rows.iter().find(|old| old.is_like(row))))
            .collect();
        let measured = |old: &&Row| self.rows.iter().any(|row| row.scenario == old.scenario);
        let gone = before.rows.iter().filter(measured);
        let gone = gone.filter(|old| !self.rows.iter().any(|row| row.is_like(old)));
        changes.extend(gone.map(|old| Change {
            name: named(old),
            verdict: Verdict::Gone,
            before: Some(cost(old).0),
            now: None,
        }));
        Comparison {
            changes,
            source: before.provenance(),
        }
    }
}

impl Comparison {
    /// Returns the rows that cost more than before, without the doubtful ones.
    pub fn slower(&self) -> impl Iterator<Item = &Change> {
        let changes = self.changes.iter();
        changes.filter(|change| change.verdict == Verdict::Slower)
    }

    /// Writes the changes as text, one row per line.
    pub fn table(&self) -> String {
        let mut text = format!("Against {}:\n", self.source);
        for Change {
            name,
            verdict,
            before,
            now,
        } in &self.changes
        {
            let change = match (before, now) {
                (Some(before), Some(now)) => {
                    let percent = 100.0 * (now / before - 1.0);
                    format!("{before:.2} -> {now:.2} ({percent:+.0} %)")
                }
                (Some(before), None) => format!("{before:.2}"),
                (None, now) => now.map_or(String::new(), |now| format!("{now:.2}")),
            };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{verdict:9} {name}  {change}");
        }
        text.push_str(
            "Costs are in units of one atomic addition just then, or in bytes; doubtful rows want to be measured \
             again.\n",
        );
        text
    }
}

fn named(row: &Row) -> String {
    format!("{} {}", row.scenario, row.label())
}

fn changed(row: &Row, old: Option<&Row>) -> Change {
    let (now, bounds) = cost(row);
    let verdict = old.map_or(Verdict::New, |old| {
        let (before, old_bounds) = cost(old);
        let believed = row.doubts.is_empty() && old.doubts.is_empty();
        if bounds.low > old_bounds.high && now > before * (1.0 + TOLERANCE) {
            if believed {
                Verdict::Slower
            } else {
                Verdict::Doubtful
            }
        } else if bounds.high < old_bounds.low && now < before / (1.0 + TOLERANCE) {
            Verdict::Faster
        } else {
            Verdict::Same
        }
    });
    Change {
        name: named(row),
        verdict,
        before: old.map(|old| cost(old).0),
        now: Some(now),
    }
}

/// Returns the cost of a row, and the interval around that cost.
fn cost(row: &Row) -> (f64, Interval) {
    if let Some(bytes) = row.bytes_per_actor {
        let exact = Interval {
            low: bytes,
            high: bytes,
        };
        return (bytes, exact);
    }
    let known = row.to_rmw.and_then(|ratio| ratio.interval);
    let bounds = known.unwrap_or_else(|| {
        // The row comes from an older file or has few rounds: take the spread of its times, and
        // widen it.
        let per_ns = row.ratio_to_rmw / row.cpu.median;
        Interval {
            low: row.cpu.min * per_ns / UNSURE,
            high: row.cpu.max * per_ns * UNSURE,
        }
    });
    (row.ratio_to_rmw, bounds)
}
