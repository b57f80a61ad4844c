//! Searches by madsim. A run has one seed, so the test repeats the run with other seeds, as the
//! attribute `madsim::test` does if `MADSIM_TEST_NUM` is set.

use std::future::Future;
use std::time::Instant;

use madsim::Config;
use madsim::runtime::Runtime;

use crate::row::{self, Found, Program, RUNS_MAX, Row};

/// Returns the row of random latencies and orders of tasks.
pub(crate) fn rows<F: Future<Output = ()>>(program: Program, test: fn() -> F) -> Vec<Row> {
    row::silence_planted();
    let run = |seed| Runtime::with_seed_and_config(seed, Config::default()).block_on(test());
    let find = |first| {
        let began = Instant::now();
        let mut seeds = first..first + RUNS_MAX;
        let seed = seeds.find(|seed| row::finds(|| run(*seed)))?;
        Some(Found {
            after: seed - first + 1,
            time: began.elapsed(),
        })
    };
    let row = ("madsim", "random latencies and tasks", "runs");
    vec![Row::random(program, row, find)]
}
