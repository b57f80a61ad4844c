//! Searches by shuttle.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use shuttle::scheduler::{DfsScheduler, PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, FailurePersistence, Runner};

use crate::row::{self, Found, Program, RUNS_MAX, Row};

/// Parameter of the search PCT. It is tuned to find bugs that depend on the order of this number of
/// steps.
const DEPTH: usize = 3;

/// Returns the rows of random orders, of PCT, and of all orders.
pub(crate) fn rows(program: Program, test: fn()) -> Vec<Row> {
    row::silence_planted();
    let runs = RUNS_MAX as usize;
    vec![
        Row::random(program, ("shuttle", "random", "runs"), |seed| {
            search(RandomScheduler::new_from_seed(seed, runs), test)
        }),
        Row::random(program, ("shuttle", "PCT", "runs"), |seed| {
            search(PctScheduler::new_from_seed(seed, DEPTH, runs), test)
        }),
        // Orders that differ only in independent steps are tried, too, so there may be too many.
        Row::same(program, ("shuttle", "all orders", "runs"), || {
            search(DfsScheduler::new(Some(runs), false), test)
        }),
    ]
}

fn search(scheduler: impl Scheduler + 'static, test: fn()) -> Option<Found> {
    let mut config = Config::new();
    config.failure_persistence = FailurePersistence::None;
    let runs = Arc::new(AtomicU64::new(0));
    let runner = Runner::new(scheduler, config);
    let began = Instant::now();
    let counted = Arc::clone(&runs);
    let is_found = row::finds(|| {
        runner.run(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            test();
        });
    });
    let time = began.elapsed();
    let after = runs.load(Ordering::Relaxed);
    is_found.then_some(Found { after, time })
}
