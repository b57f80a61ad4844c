//! Portfolio: a mixture of strategies, one per seed.
//!
//! No strategy is the best for all bugs, so neighbouring seeds use different strategies. Thomson,
//! Donaldson and Betts, "Concurrency testing using controlled schedulers: an empirical study" (TOPC
//! 2016) compare strategies on known bugs.

use super::action::{Action, Strategy};
use super::pct::Pct;
use super::pos::Pos;
use super::walk::Walk;
use std::fmt;

/// The strategy that a portfolio uses for the run with a certain seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// The strategy [`Walk`].
    Walk,
    /// The strategy [`Pct`] with this depth: the number of ordering constraints that a bug may
    /// need.
    Pct(usize),
    /// The strategy [`Pos`].
    Pos,
}

/// The strategies of eight successive seeds. They repeat for the following seeds. Every second
/// strategy is a walk, because a walk is the best strategy for most bugs.
const PLANS: [Plan; 8] = [
    Plan::Walk,
    Plan::Pct(3),
    Plan::Walk,
    Plan::Pos,
    Plan::Walk,
    Plan::Pct(2),
    Plan::Walk,
    Plan::Pct(5),
];

impl Plan {
    /// Returns the strategy that a portfolio uses for the run with this seed.
    ///
    /// # Examples
    /// ```
    /// use garrick_sim::search::Plan;
    ///
    /// assert_eq!(Plan::of(0), Plan::Walk);
    /// assert_ne!(Plan::of(1), Plan::of(2));
    /// ```
    #[must_use]
    pub fn of(seed: u64) -> Self {
        PLANS[(seed % PLANS.len() as u64) as usize]
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Walk => f.write_str("random walk"),
            Self::Pct(depth) => write!(f, "PCT of depth {depth}"),
            Self::Pos => f.write_str("partial-order sampling"),
        }
    }
}

/// A strategy that uses one of several strategies in each run. The seed of the run determines which
/// one.
///
/// The first run has the seed of [`Portfolio::new`], the second one has the seed after it, and so
/// on. A run depends only on its seed and on the expected number of steps, not on earlier runs.
#[derive(Clone, Debug)]
pub struct Portfolio {
    next_seed: u64,
    plan: Plan,
    walk: Walk,
    pct: Pct,
    pos: Pos,
}

impl Portfolio {
    /// Creates a portfolio whose first run has this seed. `length` is the expected number of steps
    /// of a run, for example the length of a run that always takes the first enabled action.
    #[must_use]
    pub fn new(seed: u64, length: u64) -> Self {
        Self {
            next_seed: seed,
            plan: Plan::of(seed),
            walk: Walk::new(seed),
            pct: Pct::new(seed).with_length(length),
            pos: Pos::new(seed),
        }
    }

    /// Returns the strategy that the current run uses.
    #[must_use]
    pub fn plan(&self) -> Plan {
        self.plan
    }
}

impl<A: Action> Strategy<A> for Portfolio {
    fn begin(&mut self) -> bool {
        let seed = self.next_seed;
        self.next_seed = seed.wrapping_add(1);
        self.plan = Plan::of(seed);
        match self.plan {
            Plan::Walk => self.walk.start(seed),
            Plan::Pct(depth) => self.pct.start_deep(seed, depth),
            Plan::Pos => self.pos.start(seed),
        }
        true
    }

    #[inline]
    fn choose(&mut self, enabled: &[A]) -> Option<usize> {
        match self.plan {
            Plan::Walk => self.walk.choose(enabled),
            Plan::Pct(_) => self.pct.choose(enabled),
            Plan::Pos => self.pos.choose(enabled),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_seeds_have_different_plans_and_half_of_them_walk() {
        assert!((0..100).all(|seed| Plan::of(seed) != Plan::of(seed + 1)));
        let walks = (0..80).filter(|&seed| Plan::of(seed) == Plan::Walk);
        assert_eq!(walks.count(), 40);
    }
}
