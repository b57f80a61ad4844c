//! Partial-order sampling.
//!
//! Each enabled action gets a random priority, and the action with the highest priority is chosen.
//! After that, the actions that race with the chosen one get new priorities. So different orders of
//! racing actions are more equally likely than in a random walk. The algorithm is described by Yuan,
//! Yang and Gu, "Partial order aware concurrency sampling" (CAV 2018).

use hashbrown::HashMap;

use super::action::{Action, Strategy};
use super::hash::ByNumber;
use super::rng::Rng;

/// A strategy that chooses by random priorities of actions.
#[derive(Debug, Clone)]
pub struct Pos {
    rng: Rng,
    /// Priorities of the next actions of chains.
    priorities: HashMap<u64, u64, ByNumber>,
}

impl Pos {
    /// Creates a strategy that depends only on `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            rng: Rng::new(seed),
            priorities: HashMap::default(),
        }
    }
}

impl<A: Action> Strategy<A> for Pos {
    fn begin(&mut self) -> bool {
        true
    }

    fn choose(&mut self, enabled: &[A]) -> Option<usize> {
        let mut best = (0, 0);
        for (index, action) in enabled.iter().enumerate() {
            let rng = &mut self.rng;
            let priority = self.priorities.entry(action.chain());
            let priority = *priority.or_insert_with(|| rng.next() | 1);
            if priority > best.0 {
                best = (priority, index);
            }
        }
        let chosen = enabled[best.1];
        for action in enabled {
            if races(chosen, *action) {
                self.priorities.remove(&action.chain());
            }
        }
        Some(best.1)
    }
}

/// Returns true if the order of two actions matters.
pub(super) fn races<A: Action>(one: A, other: A) -> bool {
    match (one.changes(), other.changes()) {
        (Some(one), Some(other)) => one == other,
        _ => true,
    }
}
