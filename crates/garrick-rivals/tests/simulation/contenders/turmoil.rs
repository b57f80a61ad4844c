//! Searches by turmoil. A simulation has one seed, so the test repeats the simulation with other
//! seeds.

use std::time::Instant;

use turmoil::Result;

use crate::row::{self, Found, Program, RUNS_MAX, Row};

/// Returns the row of random latencies.
pub(crate) fn rows(program: Program, run: fn(u64) -> Result) -> Vec<Row> {
    row::silence_planted();
    let find = |first| {
        let began = Instant::now();
        let mut seeds = first..first + RUNS_MAX;
        let seed = seeds.find(|seed| row::finds(|| run(*seed).unwrap()))?;
        Some(Found {
            after: seed - first + 1,
            time: began.elapsed(),
        })
    };
    let row = ("turmoil", "random latencies", "runs");
    vec![Row::random(program, row, find)]
}
