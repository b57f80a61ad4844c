//! Small programs, each with a planted bug, and the same programs without the bug. The search must
//! find each bug within 1,000 seeds, shorten the failing run, and repeat it. It must find nothing
//! in the right versions.

#[path = "../common/mod.rs"]
mod common;

mod bank;
mod ceased;
mod delays;
mod election;
mod lease;
mod order;
mod outages;
mod register;
mod retry;
mod sent;
mod session;
mod split;
mod tally;
mod transfer;
mod twice;
mod two_phase;
mod vault;

use garrick_sim::{Check, Choosing, Failed, Sim};

/// Number of seeds within which a bug must be found.
const SEEDS: u64 = 1000;

/// Number of seeds with which the right version is checked here. `cargo xtask sim` checks more.
const RIGHT_SEEDS: u64 = 1000;

/// Maximum number of steps of a shortened run.
const STEPS_MAX: usize = 25;

/// Asserts that the search finds the bug of a program, that the run is short, and that its choices
/// break the property again.
#[track_caller]
fn assert_found(name: &str, property: &str, setup: impl Fn(&mut Sim) + Copy) {
    // Both searches begin with the first seed.
    let failed = common::assert_found(&[property], STEPS_MAX, |_| find(name, setup));
    assert!(failed.moves().len() <= failed.steps(), "{failed}");
}

#[track_caller]
fn find(name: &str, setup: impl Fn(&mut Sim)) -> Box<Failed> {
    let found = Check::new(name).seeds(SEEDS).run(setup);
    found.expect_err("the search finds the planted bug")
}

/// Asserts that no property of a program is broken.
#[track_caller]
fn assert_right(name: &str, setup: impl Fn(&mut Sim)) {
    let report = common::assert_right(name, Check::new(name), RIGHT_SEEDS, setup);
    assert_eq!(report.cut, 0, "{report}");
}

/// Asserts that a search of all orders is complete and finds nothing, with few redundant runs.
#[track_caller]
fn assert_all_right(name: &str, runs_max: u64, setup: impl Fn(&mut Sim)) {
    let check = Check::new(name).strategy(Choosing::All).seeds(runs_max);
    let report = check.run(setup).unwrap_or_else(|failed| panic!("{failed}"));
    assert!(report.complete, "{report}");
    assert!(report.redundant * 10 <= report.runs, "{report}");
}
