//! Exhaustive search: all orders, one run after another, without those that differ only in the
//! order of independent actions.
//!
//! The search keeps no states. It repeats the actions of the previous run up to some step, and
//! chooses differently there (Godefroid, "Partial-order methods for the verification of concurrent
//! systems", 1996). Two methods avoid equivalent runs:
//!
//! - *Source sets*: another action is tried at a step only if two later actions race, and a run
//!   that reverses them has to begin with that action (Abdulla, Aronis, Jonsson and Sagonas,
//!   "Source sets: a foundation for optimal dynamic partial order reduction", JACM 2017).
//! - *Sleep sets*: an action that was tried at a step is not tried again until an action that races
//!   with it has happened. If all enabled actions sleep, the run is redundant and ends.
//!
//! ```text
//!   step i      chosen: a      tried later: b      because a and b race
//!   step i+1    c
//!   ...
//!   step j      b              b does not depend on a, except by the order of the two
//! ```

mod bits;

mod events;

use super::action::{Action, Strategy};
use super::pos::races;
use events::Events;

/// A strategy that tries all orders.
#[derive(Debug, Clone)]
pub struct Exhaustive<A> {
    /// Choices of the current run, from the first step on.
    path: Vec<Node<A>>,
    /// Actions of the current run so far.
    events: Events<A>,
    /// True if equivalent runs are avoided.
    reduces: bool,
    has_begun: bool,
}

/// A step at which an action was chosen.
#[derive(Debug, Clone)]
struct Node<A> {
    chosen: A,
    /// Actions to try, including those that were tried.
    wanted: Vec<A>,
    /// Actions that need not be tried.
    sleeping: Vec<A>,
}

impl<A: Action> Exhaustive<A> {
    /// Creates a search that avoids equivalent runs.
    #[must_use]
    pub fn new() -> Self {
        Self::with(true)
    }

    /// Creates a search that tries all orders, including equivalent ones.
    #[must_use]
    pub fn plain() -> Self {
        Self::with(false)
    }

    fn with(reduces: bool) -> Self {
        Self {
            path: Vec::new(),
            events: Events::new(),
            reduces,
            has_begun: false,
        }
    }

    /// Adds a step, and returns the index of its action. Returns `None` if all actions sleep.
    fn extend(&mut self, enabled: &[A]) -> Option<usize> {
        let sleeping = match self.path.last() {
            Some(last) if self.reduces => {
                let stays = |action: &&A| !races(**action, last.chosen);
                last.sleeping.iter().filter(stays).copied().collect()
            }
            _ => Vec::new(),
        };
        let index = enabled
            .iter()
            .position(|action| !sleeping.contains(action))?;
        let chosen = enabled[index];
        self.path.push(Node {
            chosen,
            wanted: if self.reduces {
                vec![chosen]
            } else {
                enabled.to_vec()
            },
            sleeping,
        });
        Some(index)
    }

    /// Adds the action of a step to the events, and records which actions must be tried at earlier
    /// steps because of it.
    fn add_event(&mut self, action: A) {
        let path = &mut self.path;
        self.events.add(action, |step, initials| {
            let wanted = &mut path[step].wanted;
            if !initials.iter().any(|action| wanted.contains(action)) {
                wanted.extend(initials.first());
            }
        });
    }
}

impl<A: Action> Default for Exhaustive<A> {
    fn default() -> Self {
        Self::new()
    }
}

impl<A: Action> Strategy<A> for Exhaustive<A> {
    fn begin(&mut self) -> bool {
        if !self.has_begun {
            self.has_begun = true;
            return true;
        }
        while let Some(node) = self.path.last_mut() {
            node.sleeping.push(node.chosen);
            let sleeping = &node.sleeping;
            if let Some(next) = node.wanted.iter().find(|action| !sleeping.contains(action)) {
                node.chosen = *next;
                self.events.begin(self.path.len() - 1);
                return true;
            }
            self.path.pop();
        }
        false
    }

    fn caused(&mut self, action: A) {
        self.events.caused(action);
    }

    fn choose(&mut self, enabled: &[A]) -> Option<usize> {
        let step = self.events.len();
        let index = match self.path.get(step) {
            Some(node) => {
                let found = enabled.iter().position(|action| *action == node.chosen);
                found.unwrap_or_else(|| {
                    panic!(
                        "step {step} of a run cannot be repeated, so the program does not depend on \
                         the simulation alone"
                    )
                })
            }
            None => self.extend(enabled)?,
        };
        self.add_event(enabled[index]);
        Some(index)
    }
}
