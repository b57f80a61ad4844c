//! A random walk: each enabled action is equally likely.

use super::action::{Action, Strategy};
use super::rng::Rng;

/// A strategy that chooses each enabled action with the same probability.
#[derive(Debug, Clone)]
pub struct Walk(Rng);

impl Walk {
    /// Creates a walk that depends only on `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Rng::new(seed))
    }
}

impl<A: Action> Strategy<A> for Walk {
    fn begin(&mut self) -> bool {
        true
    }

    fn choose(&mut self, enabled: &[A]) -> Option<usize> {
        Some(self.0.below(enabled.len()))
    }
}
