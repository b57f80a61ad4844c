//! Searches by shuttle.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use shuttle::scheduler::{DfsScheduler, PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, FailurePersistence, Runner};

use crate::row::{self, Found, Program, RUNS_MAX, Row, SEARCHES};

/// Number of changes of priorities in a run of PCT, plus one. Garrick's default is the same.
const DEPTH: usize = 3;

/// Returns the rows of random orders, of PCT, and of all orders.
pub(crate) fn rows(program: Program, test: fn()) -> Vec<Row> {
    row::silence_planted();
    let runs = RUNS_MAX as usize;
    vec![
        Row::new(program, ("shuttle", "random", "runs"), SEARCHES, |seed| {
            search(RandomScheduler::new_from_seed(seed, runs), test)
        }),
        Row::new(program, ("shuttle", "PCT", "runs"), SEARCHES, |seed| {
            search(PctScheduler::new_from_seed(seed, DEPTH, runs), test)
        }),
        Row::new(program, ("shuttle", "all orders", "runs"), 1, |_| {
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
    let searched = panic::catch_unwind(AssertUnwindSafe(|| {
        runner.run(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            test();
        })
    }));
    let time = began.elapsed();
    let after = runs.load(Ordering::Relaxed);
    searched.is_err().then_some(Found { after, time })
}
