//! Searches by Garrick's simulation.

use std::time::Instant;

use garrick::sim::{Check, Choosing, Failed, Sim};

use crate::row::{Found, Program, RUNS_MAX, Row, SEARCHES};

/// Returns the rows of random orders, with and without the time to shorten the run, and of all
/// orders.
pub(crate) fn rows(program: Program, setup: fn(&mut Sim)) -> Vec<Row> {
    let check = Check::new(program.name)
        .seeds(RUNS_MAX)
        .folder(env!("CARGO_TARGET_TMPDIR"));
    let random = |seed| fail(&check.clone().first_seed(seed), setup);
    let all = |_| fail(&check.clone().strategy(Choosing::All), setup);
    let shortened = |seed| {
        let began = Instant::now();
        let after = random(seed)?.report().runs;
        let time = began.elapsed();
        Some(Found { after, time })
    };
    vec![
        Row::new(program, ("Garrick", "random", "runs"), SEARCHES, |seed| {
            random(seed).map(|failed| found(&failed))
        }),
        Row::new(
            program,
            ("Garrick", "random, and shortens the run", "runs"),
            SEARCHES,
            shortened,
        ),
        Row::new(program, ("Garrick", "all orders", "runs"), 1, |seed| {
            all(seed).map(|failed| found(&failed))
        }),
    ]
}

fn fail(check: &Check, setup: fn(&mut Sim)) -> Option<Box<Failed>> {
    check.run(setup).err()
}

fn found(failed: &Failed) -> Found {
    Found {
        after: failed.report().runs,
        time: failed.report().time,
    }
}
