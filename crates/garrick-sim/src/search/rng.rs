//! Pseudorandom numbers that depend only on a seed.
//!
//! The generator is splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
//! generators", OOPSLA 2014). Numbers below a bound are computed by Lemire's multiplication ("Fast
//! random integer generation in an interval", 2019), but without the rejection step. For a bound
//! below 2^32, this changes no probability by more than 2^-32.

use garrick_core::random::mix;

/// Distance between two successive states. The number is odd, so that the states have a period of
/// 2^64.
const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

/// A generator of pseudorandom numbers.
///
/// # Examples
/// ```
/// use garrick_sim::search::Rng;
///
/// let (mut one, mut other) = (Rng::new(7), Rng::new(7));
/// assert_eq!(one.number(), other.number());
/// assert!(one.below(3) < 3);
/// ```
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// Creates a generator. Generators with different seeds return unrelated numbers, even if the
    /// seeds are successive.
    #[must_use]
    #[inline]
    pub fn new(seed: u64) -> Self {
        Self(mix(seed))
    }

    /// Returns the next number. Every number has the same probability.
    #[inline]
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STRIDE);
        mix(self.0)
    }

    /// Returns a number below `bound`, or 0 if `bound` is 0.
    #[inline]
    pub fn below(&mut self, bound: usize) -> usize {
        let product = u128::from(self.number()) * bound as u128;
        (product >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_below_a_bound_is_as_frequent_as_the_others() {
        let mut rng = Rng::new(1);
        let mut counts = [0_u32; 7];
        for _ in 0..70_000 {
            counts[rng.below(7)] += 1;
        }
        // A count has a standard deviation of 93.
        assert!(
            counts.iter().all(|&count| count.abs_diff(10_000) < 500),
            "{counts:?}"
        );
    }

    #[test]
    fn neighbouring_seeds_have_no_common_numbers() {
        let take = |seed| {
            let mut rng = Rng::new(seed);
            (0..1_000).map(|_| rng.number()).collect::<Vec<_>>()
        };
        let (one, other) = (take(1), take(2));
        assert!(one.iter().all(|number| !other.contains(number)));
    }

    #[test]
    fn a_bound_of_zero_or_one_leaves_no_choice() {
        let mut rng = Rng::new(3);
        assert_eq!((rng.below(0), rng.below(1)), (0, 0));
    }
}
