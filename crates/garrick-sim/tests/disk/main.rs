//! Tests of simulated disks in runs: the search finds planted mistakes of programs that keep files,
//! and disks follow their rules.

#[path = "../common/mod.rs"]
mod common;

mod folder;
mod runs;
mod slow;

mod key_value;
mod renamed;
mod retry;
mod torn;

use garrick_sim::{Check, Failed, Sim};

/// Number of seeds within which a mistake must be found.
const SEEDS: u64 = 1000;

/// Number of seeds with which the right version is checked here. `cargo xtask sim` checks more.
const RIGHT_SEEDS: u64 = 1000;

/// Maximum number of steps of a shortened run.
const STEPS_MAX: usize = 25;

/// Asserts that the search finds the mistake of a program, that the run is short, and that its
/// choices break the property again.
#[track_caller]
fn assert_found(name: &str, property: &str, setup: impl Fn(&mut Sim) + Copy) -> Box<Failed> {
    common::assert_found(&[property], STEPS_MAX, |_| {
        let found = Check::new(name).seeds(SEEDS).run(setup);
        found.expect_err("the search finds the planted mistake")
    })
}

/// Asserts that no property of a program is broken.
#[track_caller]
fn assert_right(name: &str, setup: impl Fn(&mut Sim)) {
    let report = common::assert_right(name, Check::new(name), RIGHT_SEEDS, setup);
    assert_eq!(report.cut, 0, "{report}");
}
