//! A state on the path that an exhaustive search is exploring.

use super::order::commute;
use super::tree::Tree;
use crate::search::action::Action;

/// A state, with the sequences of actions that are still to be explored from it.
#[derive(Clone, Debug)]
pub(super) struct Node<A> {
    /// Actions that are enabled in this state.
    pub(super) enabled: Vec<A>,
    /// Actions that need not be explored from this state, because other runs have shown all their
    /// consequences.
    pub(super) sleep: Vec<A>,
    /// Sequences of actions to explore. The first one is being explored.
    pub(super) tree: Tree<A>,
}

impl<A: Action> Node<A> {
    pub(super) fn new() -> Self {
        Self {
            enabled: Vec::new(),
            sleep: Vec::new(),
            tree: Tree::new(),
        }
    }

    /// Fills the node of a new state, which follows the state `before`. An action in the sleep set
    /// of `before` stays in the sleep set if it commutes with the step between the two states.
    pub(super) fn fill(&mut self, enabled: &[A], before: Option<&mut Self>) {
        self.enabled.clear();
        self.enabled.extend_from_slice(enabled);
        self.sleep.clear();
        self.tree.clear();
        let Some(before) = before else { return };
        if let Some(step) = before.tree.first() {
            let sleep = before.sleep.iter().copied();
            self.sleep
                .extend(sleep.filter(|&action| commute(action, step)));
            self.tree = before.tree.take_rest();
        }
    }

    /// Plans to explore all enabled actions that are not in the sleep set.
    pub(super) fn add_all(&mut self) {
        for &action in &self.enabled {
            if !self.sleep.contains(&action) {
                self.tree.add(action);
            }
        }
    }

    /// Plans to explore the first enabled action that is not in the sleep set.
    pub(super) fn add_one(&mut self) {
        let mut enabled = self.enabled.iter();
        if let Some(&action) = enabled.find(|action| !self.sleep.contains(action)) {
            self.tree.add(action);
        }
    }

    /// Returns true if the next sequence begins with an action that can be taken in this state.
    pub(super) fn is_possible(&self) -> bool {
        let first = self.tree.first();
        first.is_some_and(|action| self.enabled.contains(&action) && !self.sleep.contains(&action))
    }

    /// Ends the exploration of the first action. If `is_reduced` is true, adds this action to the
    /// sleep set. Returns true if there is another action to explore.
    pub(super) fn advance(&mut self, is_reduced: bool) -> bool {
        if let Some(done) = self.tree.first() {
            self.tree.remove_first();
            if is_reduced {
                self.sleep.push(done);
            }
        }
        self.tree.first().is_some()
    }
}
