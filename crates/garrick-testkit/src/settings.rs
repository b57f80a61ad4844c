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
    fn a_number_is_a_number() {
        assert_eq!(parsed::<u64>("GARRICK_A", "12"), 12);
    }

    #[test]
    #[should_panic(expected = "GARRICK_A=many is not a valid number")]
    fn what_is_no_number_is_not_ignored() {
        parsed::<u64>("GARRICK_A", "many");
    }
}
