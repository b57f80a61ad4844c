//! Assertions about checks of programs with and without a mistake.

use std::env;

use garrick_sim::Failed;

/// Asserts that a search finds a mistake that breaks one of `properties`, that the shortened run
/// has at most `steps_max` steps, and that a second search finds the same. `find` searches from the
/// seed with a number on. Returns the failure.
#[track_caller]
pub(crate) fn assert_found(
    properties: &[&str],
    steps_max: usize,
    find: impl Fn(u64) -> Box<Failed>,
) -> Box<Failed> {
    let failed = find(0);
    println!("{failed}");
    let broken = failed.broken().property.as_str();
    assert!(properties.contains(&broken), "{failed}");
    assert!(failed.steps() <= steps_max, "{failed}");
    let again = find(failed.seed());
    assert_eq!(again.seed(), failed.seed());
    assert_eq!(again.moves(), failed.moves());
    assert_eq!(again.trace().to_string(), failed.trace().to_string());
    failed
}

/// Returns the number of seeds with which a right version is checked: `default`, or the number in
/// the environment variable `GARRICK_SIM_RIGHT`.
pub(crate) fn right_seeds(default: u64) -> u64 {
    let seeds = env::var("GARRICK_SIM_RIGHT").ok();
    seeds
        .and_then(|seeds| seeds.parse().ok())
        .unwrap_or(default)
}
