//! Uniform random walk: each step is one of the enabled actions, with equal probabilities.
//!
//! A walk needs no knowledge of the system, and can find any bug. But if a bug needs `k` particular
//! choices, each among `n` actions, a walk finds the bug with a probability of only `n^-k`. Yuan,
//! Yang and Gu, "Partial order aware concurrency sampling" (CAV 2018) compare the walk with
//! [`Pct`](super::Pct) and [`Pos`](super::Pos).

use super::action::{Action, Strategy};
use super::rng::Rng;

/// A strategy that chooses each step among the enabled actions with equal probabilities.
///
/// The first run depends on the seed of [`Walk::new`], the second one on the seed after it, and so
/// on.
#[derive(Clone, Debug)]
pub struct Walk {
    next_seed: u64,
    rng: Rng,
}

impl Walk {
    /// Creates a walk whose first run has this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            next_seed: seed,
            rng: Rng::new(seed),
        }
    }

    /// Begins the run with the seed `seed`.
    pub(super) fn start(&mut self, seed: u64) {
        self.next_seed = seed.wrapping_add(1);
        self.rng = Rng::new(seed);
    }
}

impl<A: Action> Strategy<A> for Walk {
    fn begin(&mut self) -> bool {
        self.start(self.next_seed);
        true
    }

    #[inline]
    fn choose(&mut self, enabled: &[A]) -> Option<usize> {
        Some(self.rng.below(enabled.len()))
    }
}
