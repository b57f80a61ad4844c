//! A small generator of pseudorandom numbers, which is the same in every process.

use garrick_core::random::mix;

/// A generator of pseudorandom numbers. Equal seeds lead to equal numbers.
///
/// The generator is splitmix64, described by Steele, Lea and Flood, "Fast splittable pseudorandom
/// number generators" (2014).
#[derive(Debug, Clone)]
pub struct Rng(u64);

/// Step of the state of the generator.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Rng {
    /// Creates a generator.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(mix(seed))
    }

    /// Returns the next number.
    #[inline]
    pub fn next(&mut self) -> u64 {
        let number = mix(self.0);
        self.0 = self.0.wrapping_add(STEP);
        number
    }

    /// Returns a number below `end`. Returns 0 if `end` is 0.
    ///
    /// The number is the high half of a product, as described by Lemire, "Fast random integer
    /// generation in an interval" (2019). The bias is below `end` / 2^64.
    #[inline]
    pub fn below(&mut self, end: usize) -> usize {
        let product = u128::from(self.next()) * end as u128;
        (product >> 64) as usize
    }
}
