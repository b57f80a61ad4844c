//! Probabilistic concurrency testing with chains of actions.
//!
//! Each chain of actions gets a random priority, and the enabled action with the highest priority
//! is chosen. At a few random steps, the chain of the chosen action gets a low priority. A bug that
//! needs `d` ordering constraints is found with a probability of at least `1 / (n k^(d - 1))`, for
//! `n` chains and `k` steps. The algorithm is described by Burckhardt, Kothari, Musuvathi and
//! Nagarakatte, "A randomized scheduler with probabilistic guarantees of finding bugs" (ASPLOS
//! 2010). Its form for chains of messages is described by Ozkan, Majumdar, Niksic, Befrouei and
//! Weissenbacher, "Randomized testing of distributed systems with probabilistic guarantees" (OOPSLA
//! 2018).

use hashbrown::HashMap;

use super::action::{Action, Strategy};
use super::hash::ByNumber;
use super::rng::Rng;

/// Priorities of chains are above this number, and priorities after a change are below it.
const CHANGED_MAX: u64 = 1 << 32;

/// A strategy that chooses by random priorities of chains.
#[derive(Debug, Clone)]
pub struct Pct {
    rng: Rng,
    /// Steps at which a priority changes, in increasing order.
    changes: Vec<u64>,
    priorities: HashMap<u64, u64, ByNumber>,
    /// Number of steps so far.
    steps: u64,
}

impl Pct {
    /// Creates a strategy that depends only on `seed`. It finds bugs that need up to `depth`
    /// ordering constraints. `steps` is the expected number of steps of the run.
    #[must_use]
    pub fn new(seed: u64, depth: u32, steps: u64) -> Self {
        let mut rng = Rng::new(seed);
        let end = usize::try_from(steps).unwrap_or(usize::MAX);
        let mut changes: Vec<u64> = (1..depth).map(|_| rng.below(end) as u64).collect();
        changes.sort_unstable();
        Self {
            rng,
            changes,
            priorities: HashMap::default(),
            steps: 0,
        }
    }

    /// Returns the priority of a chain, which is drawn when the chain is first enabled.
    fn priority(&mut self, chain: u64) -> u64 {
        let rng = &mut self.rng;
        *(self.priorities.entry(chain)).or_insert_with(|| CHANGED_MAX + (rng.next() >> 1))
    }
}

impl<A: Action> Strategy<A> for Pct {
    fn begin(&mut self) -> bool {
        true
    }

    fn choose(&mut self, enabled: &[A]) -> Option<usize> {
        let mut best = (0, 0);
        for (index, action) in enabled.iter().enumerate() {
            let priority = self.priority(action.chain());
            if priority > best.0 {
                best = (priority, index);
            }
        }
        let changes = self
            .changes
            .iter()
            .filter(|step| **step == self.steps)
            .count();
        if changes > 0 {
            // The later the change, the lower the priority.
            let later = self
                .changes
                .iter()
                .filter(|step| **step > self.steps)
                .count() as u64;
            self.priorities.insert(enabled[best.1].chain(), later + 1);
        }
        self.steps += 1;
        Some(best.1)
    }
}
