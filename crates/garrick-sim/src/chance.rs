//! Random decisions and random times.

use std::ops::Range;
use std::time::Duration;

use garrick_core::random::mix;
use garrick_sched::Nanos;

use crate::search::Rng;

/// Denominator of all probabilities, which are given in per mille.
const PER_MILLE: u64 = 1000;

/// Returns true with a probability of `per_mille` / 1000.
pub(crate) fn draws(rng: &mut Rng, per_mille: u32) -> bool {
    per_mille > 0 && rng.below(PER_MILLE as usize) < per_mille as usize
}

/// Returns a random time in a range, or the start of the range if the range is empty.
pub(crate) fn draw_time(rng: &mut Rng, range: &Range<Nanos>) -> Nanos {
    let width = range.end.saturating_sub(range.start);
    let width = usize::try_from(width).unwrap_or(usize::MAX);
    range.start + rng.below(width.max(1)) as Nanos
}

/// Returns a generator whose random numbers depend only on the given numbers and their order.
pub(crate) fn rng_of(numbers: &[u64]) -> Rng {
    let seed = numbers
        .iter()
        .fold(0, |seed, &number| mix(mix(seed) ^ number));
    Rng::new(seed)
}

pub(crate) fn nanos_of(range: &Range<Duration>) -> Range<Nanos> {
    garrick_sched::nanos(range.start)..garrick_sched::nanos(range.end)
}

/// Panics if a probability is greater than 1000 per mille.
#[track_caller]
pub(crate) fn check_per_mille(per_mille: u32) {
    assert!(
        u64::from(per_mille) <= PER_MILLE,
        "a probability of {per_mille} per mille: it must be at most 1000"
    );
}
