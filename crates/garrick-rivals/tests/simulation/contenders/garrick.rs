//! Searches by Garrick's simulation.

use std::time::Instant;

use garrick::sim::{Check, Choosing, Failed, Sim};

use crate::row::{Found, Program, RUNS_MAX, Row};

/// Returns three rows: random orders without the time to shorten the failing run, random orders
/// with this time, and all orders.
pub(crate) fn rows(program: Program, setup: fn(&mut Sim)) -> Vec<Row> {
    let check = Check::new(program.name)
        .seeds(RUNS_MAX)
        .folder(env!("CARGO_TARGET_TMPDIR"));
    let mut until_reported = Vec::new();
    let random = |seed| {
        let began = Instant::now();
        let failed = check.clone().first_seed(seed).run(setup).err()?;
        until_reported.push(began.elapsed());
        Some(found(&failed))
    };
    let all = || {
        let failed = check.clone().strategy(Choosing::All).run(setup).err()?;
        Some(found(&failed))
    };
    let random = Row::random(program, ("Garrick", "random", "runs"), random);
    let reported = random.with_times("random, until it is shortened", &until_reported);
    let all = Row::same(program, ("Garrick", "all orders", "runs"), all).found();
    vec![random, reported, all]
}

fn found(failed: &Failed) -> Found {
    Found {
        after: failed.report().runs,
        time: failed.report().time,
    }
}
