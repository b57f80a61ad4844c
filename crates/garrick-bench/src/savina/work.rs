//! The small computations of the suite: random numbers, busy waiting, and two pieces of
//! floating-point work.
//!
//! The suite has its own generator, so that different languages draw the same numbers. It is a
//! linear congruential generator with 16 bits: x' = (1309 x + 13849) mod 65536. The Java sources of
//! the suite sometimes use the generators of the Java library. In such places, this code uses the
//! suite's generator instead.

use std::hint::black_box;

/// The random number generator of the Savina suite.
#[derive(Debug, Clone)]
pub(super) struct Random(u32);

impl Random {
    /// Seed for benchmarks that do not choose their own seed.
    pub(super) const SEED: u64 = 74_755;

    /// Creates a generator that starts with `seed`. Only the low 16 bits of the seed are used.
    pub(super) fn new(seed: u64) -> Self {
        Self((seed & 0xffff) as u32)
    }

    /// Returns the next random number, which is less than 65,536.
    pub(super) fn next(&mut self) -> u32 {
        self.0 = (self.0 * 1309 + 13_849) & 0xffff;
        self.0
    }

    /// Returns the next random number, which is less than `end`. `end` is at most 65,536. The
    /// number is the remainder of a division, as in the suite, so the distribution is not quite
    /// uniform.
    pub(super) fn below(&mut self, end: u32) -> u32 {
        self.next() % end
    }

    /// Returns the next 32-bit number, which is composed of two drawn numbers.
    pub(super) fn wide(&mut self) -> u32 {
        (self.next() << 16) | self.next()
    }
}

/// Keeps the thread busy by drawing `count` random numbers.
pub(super) fn busy_wait(count: u32) {
    let mut random = Random::new(Random::SEED);
    for _ in 0..count {
        black_box(random.next());
    }
}

/// Angle whose squared sine the fork-join benchmarks compute.
pub(super) const THETA: f64 = 37.2;

/// Returns the square of the sine of `theta`. The compiler cannot reuse the result of an earlier
/// call.
pub(super) fn square_sine(theta: f64) -> f64 {
    let sine = black_box(theta).sin();
    sine * sine
}

/// Number of logarithms per unit of cost.
const LOGARITHMS_PER_COST: u32 = 100;

/// Returns the result of work on an item. The result is the item, plus the logarithms of 100 random
/// numbers for each unit of `cost`. If `cost` is zero, one logarithm is added.
pub(super) fn worked_on(item: f64, cost: u32) -> f64 {
    let mut random = Random::new(u64::from(cost));
    let logarithms = (cost * LOGARITHMS_PER_COST).max(1);
    (0..logarithms).fold(item, |sum, _| {
        sum + (f64::from(random.next()) / 65_536.0 + 0.01).ln()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_generator_draws_each_number_once_in_a_period() {
        let mut random = Random::new(Random::SEED);
        let first = random.next();
        assert_eq!(first, (74_755 * 1309 + 13_849) % 65_536);
        let drawn: HashSet<u32> = (1..65_536).map(|_| random.next()).collect();
        assert_eq!(drawn.len(), 65_535);
        assert!(!drawn.contains(&first));
        assert_eq!(random.next(), first);
    }

    #[test]
    fn what_is_drawn_below_an_end_is_below_it() {
        let mut random = Random::new(7);
        assert!((0..1000).all(|_| random.below(10) < 10));
        assert!((0..1000).any(|_| random.wide() > 0xffff));
    }

    #[test]
    fn work_depends_on_its_cost() {
        let one = worked_on(0.0, 0);
        assert_eq!(one, (13_849.0_f64 / 65_536.0 + 0.01).ln());
        assert_ne!(worked_on(0.0, 1), worked_on(0.0, 2));
        assert_eq!(square_sine(THETA), THETA.sin().powi(2));
    }
}
