//! Probabilistic concurrency testing (PCT) with chains of actions in place of threads.
//!
//! Burckhardt, Kothari, Musuvathi and Nagarakatte, "A randomized scheduler with probabilistic
//! guarantees of finding bugs" (ASPLOS 2010); for chains of messages: Ozkan, Majumdar, Niksic,
//! Befrouei and Weissenbacher, "Randomized testing of distributed systems with probabilistic
//! guarantees" (OOPSLA 2018).
//!
//! A chain is a group of actions that happen in a fixed order, for example the messages of one
//! sender to one receiver. Each chain has a random priority. The next action is always the enabled
//! action whose chain has the highest priority. At `depth - 1` random steps, the chain that would
//! be next gets a priority below all initial priorities. A bug that needs `depth` ordering
//! constraints is found in a run of `n` steps and `c` chains with a probability of at least
//! `1 / (c * n^(depth - 1))`.
//!
//! The priority of a chain is a hash of the seed and the chain, so a choice needs no table. Only
//! the chains with lowered priorities are listed, and their number is less than `depth`.

use super::action::{Action, Strategy};
use super::rng::Rng;
use garrick_core::random::mix;

/// Default depth: the number of ordering constraints that a bug may need. Most known bugs need no
/// more.
const DEPTH: usize = 3;

/// Expected number of steps of the first run, if the caller does not set a number.
const LENGTH_FIRST: u64 = 32;

/// Bit that is set in the initial priorities, so that they are higher than the lowered priorities.
const HIGH: u64 = 1 << 63;

/// A group of actions (a chain) whose priority was lowered, with its new priority.
#[derive(Clone, Copy, Debug)]
struct Lowered {
    chain: u64,
    priority: u64,
}

/// A strategy that gives a random priority to each chain: a group of actions that happen in a fixed
/// order. At each step, the strategy chooses the enabled action whose chain has the highest
/// priority. At a few random steps, it lowers the priority of the chain that would be next.
///
/// The first run depends on the seed of [`Pct::new`], the second one on the seed after it, and so
/// on. The random steps are chosen among the first [`length`](Pct::length) steps. By default,
/// `length` is the number of steps of the longest earlier run. To repeat a run, you need its seed
/// and its `length`.
#[derive(Clone, Debug)]
pub struct Pct {
    next_seed: u64,
    depth: usize,
    length: u64,
    is_length_fixed: bool,
    longest: u64,
    salt: u64,
    step: u64,
    changes: Vec<u64>,
    lowered: Vec<Lowered>,
}

impl Pct {
    /// Creates a strategy of depth 3 whose first run has this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            next_seed: seed,
            depth: DEPTH,
            length: LENGTH_FIRST,
            is_length_fixed: false,
            longest: 0,
            salt: 0,
            step: 0,
            changes: Vec::new(),
            lowered: Vec::new(),
        }
    }

    /// Sets the number of ordering constraints that a bug may need. A depth of 0 counts as 1.
    #[must_use]
    pub fn with_depth(mut self, depth: usize) -> Self {
        self.depth = depth;
        self
    }

    /// Sets the number of steps that a run is expected to have, in place of an estimate from
    /// earlier runs. A length of 0 counts as 1.
    #[must_use]
    pub fn with_length(mut self, length: u64) -> Self {
        self.length = length.max(1);
        self.is_length_fixed = true;
        self
    }

    /// Returns the number of steps that the current run is expected to have.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Begins the run with the seed `seed`.
    pub(super) fn start(&mut self, seed: u64) {
        let mut rng = Rng::new(seed);
        self.next_seed = seed.wrapping_add(1);
        self.salt = rng.number();
        self.step = 0;
        self.lowered.clear();
        self.changes.clear();
        for _ in 1..self.depth {
            self.changes.push(rng.below(self.length as usize) as u64);
        }
    }

    /// Begins the run with the seed `seed` and the depth `depth`.
    pub(super) fn start_deep(&mut self, seed: u64, depth: usize) {
        self.depth = depth;
        self.start(seed);
    }

    /// Uses the length of the longest earlier run as the expected number of steps.
    fn estimate(&mut self) {
        self.longest = self.longest.max(self.step);
        if !self.is_length_fixed && self.longest > 0 {
            self.length = self.longest;
        }
    }

    #[inline]
    fn priority(&self, chain: u64) -> u64 {
        let lowered = self.lowered.iter().find(|lowered| lowered.chain == chain);
        lowered.map_or_else(|| mix(chain ^ self.salt) | HIGH, |low| low.priority)
    }

    #[inline]
    fn highest<A: Action>(&self, enabled: &[A]) -> usize {
        let mut best = 0;
        let mut best_priority = 0;
        for (index, action) in enabled.iter().enumerate() {
            let priority = self.priority(action.chain());
            if priority > best_priority {
                (best, best_priority) = (index, priority);
            }
        }
        best
    }

    /// Gives a chain (a group of actions that happen in a fixed order) a priority below all initial
    /// priorities. Each change in a run has an index, `change`, and assigns a different priority.
    /// The priorities are assigned in random order, because each change happens at a random step.
    #[cold]
    fn lower(&mut self, chain: u64, change: usize) {
        let priority = change as u64 + 1;
        let mut lowered = self.lowered.iter_mut();
        match lowered.find(|lowered| lowered.chain == chain) {
            Some(lowered) => lowered.priority = priority,
            None => self.lowered.push(Lowered { chain, priority }),
        }
    }
}

impl<A: Action> Strategy<A> for Pct {
    fn begin(&mut self) -> bool {
        self.estimate();
        self.start(self.next_seed);
        true
    }

    #[inline]
    fn choose(&mut self, enabled: &[A]) -> Option<usize> {
        let mut best = self.highest(enabled);
        for change in 0..self.changes.len() {
            if self.changes[change] == self.step {
                self.lower(enabled[best].chain(), change);
                best = self.highest(enabled);
            }
        }
        self.step += 1;
        Some(best)
    }
}
