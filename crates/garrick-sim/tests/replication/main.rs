//! Replicated systems under faults: state-based CRDTs (Shapiro, Preguica, Baquero and Zawirski,
//! "A comprehensive study of convergent and commutative replicated data types", 2011) and chain
//! replication (van Renesse and Schneider, "Chain replication for supporting high throughput and
//! availability", OSDI 2004).
//!
//! Each system also has versions with a mistake. The search must find each mistake within 1,000
//! seeds, shorten the failing run, and repeat it. It must find nothing in the right versions.

#[path = "../common/mod.rs"]
mod common;

mod chain;
mod counter;
mod gossip;
mod set;

use garrick_sim::{Check, Choosing, Failed, Sim};

/// Number of seeds within which a mistake must be found.
const SEEDS: u64 = 1000;

/// Number of seeds with which a right version is checked. The environment variable
/// `GARRICK_SIM_RIGHT` sets another number.
const RIGHT_SEEDS: u64 = 300;

/// Asserts that the search finds the mistake of a program, which breaks one of `properties`. The
/// shortened run must have at most `steps_max` steps, and its choices must break the property
/// again.
#[track_caller]
fn assert_found(
    name: &str,
    strategy: Choosing,
    properties: &[&str],
    steps_max: usize,
    setup: impl Fn(&mut Sim) + Copy,
) {
    common::assert_found(properties, steps_max, |first| {
        find(name, strategy, first, setup)
    });
}

/// Returns the first failure from seed number `first` on.
#[track_caller]
fn find(name: &str, strategy: Choosing, first: u64, setup: impl Fn(&mut Sim)) -> Box<Failed> {
    let check = Check::new(name).strategy(strategy);
    let check = check.first_seed(first).seeds(SEEDS);
    check.run(setup).expect_err("the search finds the mistake")
}

/// Asserts that no property of a program is broken, and that no run is cut.
#[track_caller]
fn assert_right(name: &str, strategy: Choosing, setup: impl Fn(&mut Sim)) {
    let check = Check::new(name).strategy(strategy);
    let report = common::assert_right(name, check, RIGHT_SEEDS, setup);
    assert_eq!(report.cut, 0, "{report}");
}
