//! Comparison of a run with an earlier run, row by row.
//!
//! Machines change their speed, so the comparison uses the ratio of each time to the yardstick (the
//! time of one atomic addition). For rows that measure memory in both runs, the comparison uses
//! bytes. If only one of the runs has measured memory, the comparison uses the times. A row
//! counts as changed if the two intervals around the medians do not overlap, and the medians differ
//! by more than a tenth.

use std::fmt::{self, Write};

use crate::row::Row;
use crate::statistics::Interval;

use super::Report;

/// Relative change below which a row counts as unchanged.
const TOLERANCE: f64 = 0.1;

/// Factor by which an interval is widened if only minimum and maximum are known.
const UNSURE: f64 = 1.25;

/// The result of comparing a row of a report with the same row of an earlier run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The cost of the row is lower than in the earlier run.
    Faster,
    /// The costs in the two runs differ by at most a tenth, or the difference is within the
    /// accuracy of the measurement.
    Same,
    /// The cost of the row is higher than in the earlier run.
    Slower,
    /// The cost of the row seems to be higher or lower, but one of the two runs was disturbed.
    Doubtful,
    /// The row was not measured in the earlier run.
    New,
    /// The row was measured in the earlier run but not in this one, although its scenario was
    /// measured.
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

/// The change of one row from an earlier run to this one. The row may be missing in one of the
/// runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The scenario, contender and parameters of the row.
    pub name: String,
    /// The result of comparing the row of this run with the row of the earlier run.
    pub verdict: Verdict,
    /// The cost in the earlier run: CPU time in units of one atomic addition (the
    /// [`yardstick`](crate::yardstick)), or memory in bytes. `None` if the row was not measured in
    /// that run.
    pub before: Option<f64>,
    /// The cost in this run: CPU time in units of one atomic addition (the
    /// [`yardstick`](crate::yardstick)), or memory in bytes. `None` if the row was not measured in
    /// this run.
    pub now: Option<f64>,
}

/// The result of comparing a run with an earlier run, row by row.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The change of each row.
    pub changes: Vec<Change>,
    /// The machine, compiler and commit of the earlier run.
    pub source: String,
}

impl Report {
    /// Compares this run with the earlier run `before`.
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
            before: Some(cost(old, true).0),
            now: None,
        }));
        Comparison {
            changes,
            source: before.provenance(),
        }
    }
}

impl Comparison {
    /// Returns the rows with the verdict [`Verdict::Slower`]. Rows with the verdict
    /// [`Verdict::Doubtful`] are not included.
    pub fn slower(&self) -> impl Iterator<Item = &Change> {
        let changes = self.changes.iter();
        changes.filter(|change| change.verdict == Verdict::Slower)
    }

    /// Returns the changes as text, with one line for each row.
    pub fn table(&self) -> String {
        let mut text = format!("Compared with {}:\n", self.source);
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
            "Costs are in units of one atomic addition measured at the same time, or in bytes. \
             Measure doubtful rows again.\n",
        );
        text
    }
}

fn named(row: &Row) -> String {
    format!("{} {}", row.scenario, row.label())
}

fn changed(row: &Row, old: Option<&Row>) -> Change {
    // Bytes are never compared with a time.
    let are_bytes =
        row.bytes_per_actor.is_some() && old.is_none_or(|old| old.bytes_per_actor.is_some());
    let (now, bounds) = cost(row, are_bytes);
    let old = old.map(|old| (cost(old, are_bytes), &old.doubts));
    let verdict = old.map_or(Verdict::New, |((before, old_bounds), old_doubts)| {
        let is_sure = row.doubts.is_empty() && old_doubts.is_empty();
        let verdict = if bounds.low > old_bounds.high && now > before * (1.0 + TOLERANCE) {
            Verdict::Slower
        } else if bounds.high < old_bounds.low && now < before / (1.0 + TOLERANCE) {
            Verdict::Faster
        } else {
            return Verdict::Same;
        };
        if is_sure { verdict } else { Verdict::Doubtful }
    });
    Change {
        name: named(row),
        verdict,
        before: old.map(|((before, _), _)| before),
        now: Some(now),
    }
}

/// Returns the cost of a row, and the interval around that cost. The cost is the memory in bytes if
/// `are_bytes` is true and the row has measured it, and otherwise a time.
fn cost(row: &Row, are_bytes: bool) -> (f64, Interval) {
    if let Some(bytes) = row.bytes_per_actor.filter(|_| are_bytes) {
        let exact = Interval {
            low: bytes,
            high: bytes,
        };
        return (bytes, exact);
    }
    let known = row.to_rmw.and_then(|ratio| ratio.interval);
    let bounds = known.unwrap_or_else(|| {
        // The row comes from an older file or has few rounds. The interval is then the range of its
        // times, widened.
        let per_ns = row.ratio_to_rmw / row.cpu.median;
        Interval {
            low: row.cpu.min * per_ns / UNSURE,
            high: row.cpu.max * per_ns * UNSURE,
        }
    });
    (row.ratio_to_rmw, bounds)
}
