//! Somebody in between who tries everything, at random.

use proptest::collection::vec;
use proptest::prelude::*;

use super::changes::try_everything;

/// Bytes that are made up at most: most streams take less.
const CHOICES_MAX: usize = 16 * 1024;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn nothing_that_is_changed_gets_through(bytes in vec(any::<u8>(), 0..CHOICES_MAX)) {
        try_everything(&bytes);
    }
}
