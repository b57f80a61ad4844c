//! The suites of `garrick-rivals suite`, one file for each: those with contenders that are not ours.

mod cajun;
mod futures;
mod pipeline;
mod work_stealing;

use garrick_measure::{Row, Rows, Suite};

/// All of them, in the order in which they are shown.
pub(crate) static SUITES: &[Suite] = &[
    pipeline::PIPELINE,
    cajun::CAJUN,
    work_stealing::WORK_STEALING,
    futures::ASYNC,
];

/// Millions of operations in a second of wall time.
fn millions_a_second(row: &Row) -> f64 {
    1e3 / row.wall.median
}

/// Microseconds of wall time for an operation.
fn microseconds(row: &Row) -> f64 {
    row.wall.median / 1e3
}

/// Our row of a scenario.
fn ours<'a>(rows: Rows<'a>, scenario: &str, params: &[(&str, &str)]) -> Option<&'a Row> {
    rows.find(scenario, "garrick", params)
}

#[cfg(test)]
mod tests;
