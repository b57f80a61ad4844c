//! Pipelines in a simulation, alone and together with actors. The mistakes that are planted between
//! a pipeline and an actor must be found within 1,000 seeds, and the right versions must not fail.

#[path = "../common/mod.rs"]
mod common;

mod alone;
mod batch;
mod commit;
mod pairs;
mod relay;
mod together;

use garrick_sim::{Check, Failed, Sim};

/// Number of seeds within which a mistake must be found.
const SEEDS: u64 = 1000;

/// Number of seeds with which the right version is checked here. `cargo xtask sim` checks more.
const RIGHT_SEEDS: u64 = 500;

/// Maximum number of steps of a shortened run.
const STEPS_MAX: usize = 25;

/// Asserts that the search finds the mistake of a program, that the run is short, and that its
/// choices break the property again.
#[track_caller]
fn assert_found(name: &str, property: &str, setup: impl Fn(&mut Sim) + Copy) -> Box<Failed> {
    common::assert_found(&[property], STEPS_MAX, |first| {
        let check = Check::new(name).first_seed(first).seeds(SEEDS);
        check.run(setup).expect_err("the search finds the mistake")
    })
}

/// Asserts that no property of a program is broken.
#[track_caller]
fn assert_right(name: &str, setup: impl Fn(&mut Sim)) {
    let report = common::assert_right(name, Check::new(name), RIGHT_SEEDS, setup);
    assert_eq!(report.cut, 0, "{report}");
}
