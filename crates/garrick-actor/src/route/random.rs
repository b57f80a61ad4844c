//! Routing to random routees.
//!
//! The generator is SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number
//! Generators", 2014). Its state is a single 64-bit word, which is sufficient for choosing routees.
//! A number below `n` is computed with a multiplication (Lemire, "Fast Random Integer Generation in
//! an Interval", 2019), but without the rejection step. For any realistic number of routees, the
//! bias is too small to be measured.

use std::fmt;

use garrick_sched::World;

use super::policy::Policy;
use super::routees::Routees;
use super::router::RouterMsg;
use crate::model::context::Context;

/// A policy that sends each message to a random routee. All routees are equally likely.
///
/// # Examples
/// Policies with the same seed make the same choices:
/// ```
/// use garrick_actor::System;
/// use garrick_actor::route::{Random, Router};
/// use garrick_actor::system::RealWorld;
///
/// let system = System::new()?;
/// let same_each_time = Router::<u32>::spawn(&system.handle(), Random::seeded(7))?;
/// let different_each_time =
///     Router::<u32>::spawn(&system.handle(), Random::from_world(&*RealWorld::shared()))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Random {
    state: u64,
}

impl Random {
    /// Creates a policy whose choices are determined by `seed`.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Creates a policy with a seed from `world`. A [`World`] is the source of time and randomness
    /// of a system.
    #[must_use]
    pub fn from_world(world: &dyn World) -> Self {
        Self::seeded(world.seed())
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mix(self.state)
    }

    /// Returns a random number from 0 to `end - 1`.
    fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }
}

/// The increment of SplitMix64: 2^64 divided by the golden ratio, rounded to an odd number.
pub(super) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Mixes the bits of `word`: every bit of the result depends on every bit of `word`. This is the
/// last step of SplitMix64.
pub(super) fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

impl<M: 'static> Policy<M> for Random {
    fn route(
        &mut self,
        msg: M,
        routees: &mut Routees<M>,
        _: &Context<'_, RouterMsg<M>>,
    ) -> Result<(), M> {
        routees.send_to(msg, |_, routees| self.below(routees.len()))
    }
}

impl fmt::Debug for Random {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Random").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_the_published_one() {
        let mut random = Random::seeded(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn choices_are_even() {
        let mut random = Random::seeded(1);
        let mut chosen = [0_u32; 7];
        for _ in 0..70_000 {
            chosen[random.below(7)] += 1;
        }
        assert!(
            chosen.iter().all(|n| (9_600..10_400).contains(n)),
            "{chosen:?}"
        );
    }
}
