//! A random number generator. The generator makes pauses random, so that retries do not happen at
//! the same time.
//!
//! The generator is SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number
//! Generators", 2014), which increments a counter and mixes its bits. The state is a single 64-bit
//! word, and every seed is suitable. The generator is not cryptographically secure.

/// The increment of SplitMix64: the odd number nearest to 2^64 divided by the golden ratio.
pub(super) const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A random number generator.
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// Returns a random number from 0 to `max` inclusive.
    pub(super) fn up_to(&mut self, max: u64) -> u64 {
        // The high word of the product, which is even enough for waiting times.
        let choices = u128::from(max) + 1;
        ((u128::from(self.next()) * choices) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_within_bounds_and_reach_both_ends() {
        let mut random = Random::new(0);
        let mut seen = [0; 4];
        (0..4_000).for_each(|_| seen[random.up_to(3) as usize] += 1);
        assert!(seen.iter().all(|&count| count > 800), "{seen:?}");
        assert_eq!(random.up_to(0), 0);
    }

    #[test]
    fn the_largest_bound_does_not_overflow() {
        let mut random = Random::new(7);
        assert_ne!(random.up_to(u64::MAX), random.up_to(u64::MAX));
    }
}
