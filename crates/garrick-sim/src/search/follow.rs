//! Following a list of actions, as far as possible.
//!
//! If an earlier step is left out, an index among the enabled actions no longer means the same
//! action. The value of an action still means the same action. So lists that are to be [made
//! smaller](super::shrink()) contain actions instead of indices. The strategy skips the actions
//! that cannot be taken. Scott, Panda, Brajkovic, Necula, Krishnamurthy and Shenker, "Minimizing
//! faulty executions of distributed systems" (NSDI 2016) shrink executions of actors in this way.

use super::action::{Action, Strategy};
use super::rng::Rng;

/// The way in which a run continues after the end of the list of actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Ends the run.
    End,
    /// Takes the first enabled action at each further step.
    First,
    /// Takes a random action at each further step. The seed determines the random choices.
    Walk(u64),
}

/// A strategy that takes the actions of a list in order, and skips actions that are not enabled.
///
/// Every run follows the same list.
#[derive(Clone, Debug)]
pub struct Follow<A> {
    list: Vec<A>,
    then: Then,
    at: usize,
    taken: usize,
    rng: Rng,
}

impl<A: Action> Follow<A> {
    /// Creates a strategy that follows the list.
    #[must_use]
    pub fn new(list: Vec<A>, then: Then) -> Self {
        Self {
            list,
            then,
            at: 0,
            taken: 0,
            rng: Rng::new(0),
        }
    }

    /// Returns how many actions of the list have been taken in this run.
    #[must_use]
    pub fn taken(&self) -> usize {
        self.taken
    }

    /// Returns how many actions of the list could not be taken in this run.
    #[must_use]
    pub fn skipped(&self) -> usize {
        self.at - self.taken
    }

    /// Finds the next action of the list that is enabled, and skips the actions before it. Returns
    /// the index of the found action in `enabled`, or `None` if there is no such action.
    fn next(&mut self, enabled: &[A]) -> Option<usize> {
        while let Some(wanted) = self.list.get(self.at) {
            self.at += 1;
            if let Some(index) = enabled.iter().position(|action| action == wanted) {
                self.taken += 1;
                return Some(index);
            }
        }
        None
    }
}

impl<A: Action> Strategy<A> for Follow<A> {
    fn begin(&mut self) -> bool {
        self.at = 0;
        self.taken = 0;
        if let Then::Walk(seed) = self.then {
            self.rng = Rng::new(seed);
        }
        true
    }

    fn choose(&mut self, enabled: &[A]) -> Option<usize> {
        self.next(enabled).or_else(|| match self.then {
            Then::End => None,
            Then::First => Some(0),
            Then::Walk(_) => Some(self.rng.below(enabled.len())),
        })
    }
}
