//! Test settings that environment variables can change, such as the duration or the seed.

use std::env;
use std::str::FromStr;

/// Returns the number in an environment variable, if the variable is set.
///
/// # Panics
///
/// Panics if the variable is set but does not contain a number, so that a test does not ignore a
/// wrong setting.
pub fn setting<T: FromStr>(variable: &str) -> Option<T> {
    env::var(variable).ok().map(|text| parsed(variable, &text))
}

/// Environment variable that makes all simulations run all their seeds, also in an unoptimized
/// build.
const ALL_SEEDS: &str = "GARRICK_ALL_SEEDS";

/// Returns the number of seeds with which a test runs a simulation. If the environment variable
/// `variable` is set, returns the number in this variable. Otherwise returns `seeds` in a build
/// without debug assertions, or if the environment variable `GARRICK_ALL_SEEDS` is set. In other
/// builds, which are usually not optimized, returns a twentieth of `seeds`, but at least 2.
///
/// A simulation takes 10 to 20 times as long in an unoptimized build. So the step `simulations` of
/// `cargo xtask ci` runs the optimized programs of all tests that call this function, with
/// `GARRICK_ALL_SEEDS`.
///
/// # Panics
///
/// Panics if the variable is set but does not contain a number.
pub fn seeds(variable: &str, seeds: u64) -> u64 {
    let has_all = !cfg!(debug_assertions) || env::var_os(ALL_SEEDS).is_some();
    setting(variable).unwrap_or_else(|| by_default(seeds, has_all))
}

fn by_default(seeds: u64, has_all: bool) -> u64 {
    if has_all {
        seeds
    } else {
        (seeds / 20).max(2).min(seeds)
    }
}

fn parsed<T: FromStr>(variable: &str, text: &str) -> T {
    let number = text.parse().ok();
    number.unwrap_or_else(|| panic!("{variable}={text} is not a valid number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_set_is_not_asked() {
        assert_eq!(setting::<u64>("GARRICK_OF_WHICH_NOBODY_HAS_HEARD"), None);
    }

    #[test]
    fn an_unoptimized_build_runs_few_seeds() {
        assert_eq!(by_default(300, true), 300);
        assert_eq!(by_default(300, false), 15);
        assert_eq!(by_default(10, false), 2);
        assert_eq!(by_default(1, false), 1);
    }

    #[test]
    fn a_number_is_a_number() {
        assert_eq!(parsed::<u64>("GARRICK_A", "12"), 12);
    }

    #[test]
    #[should_panic(expected = "GARRICK_A=many is not a valid number")]
    fn what_is_no_number_is_not_ignored() {
        parsed::<u64>("GARRICK_A", "many");
    }
}
