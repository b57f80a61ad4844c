//! Suites of `garrick-rivals suite`, in which rivals are among the contenders. Each file contains
//! one suite.

mod cajun;
mod futures;
mod pipeline;
mod work_stealing;

use garrick_measure::{Row, Rows, Suite};

/// All suites, in the order of the output.
pub(crate) static SUITES: &[Suite] = &[
    pipeline::PIPELINE,
    cajun::CAJUN,
    work_stealing::WORK_STEALING,
    futures::ASYNC,
];

/// Returns the operations per second of wall time, in millions.
fn millions_a_second(row: &Row) -> f64 {
    1e3 / row.wall.median
}

/// Returns the wall time per operation in microseconds.
fn microseconds(row: &Row) -> f64 {
    row.wall.median / 1e3
}

/// Returns Garrick's row of a scenario.
fn ours<'a>(rows: Rows<'a>, scenario: &str, params: &[(&str, &str)]) -> Option<&'a Row> {
    rows.find(scenario, "garrick", params)
}

#[cfg(test)]
mod tests;
