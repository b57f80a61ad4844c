//! Wakeup trees: the sequences that are still to be explored from a state.

use super::sequence::Sequence;
use crate::search::action::Action;

/// An ordered tree of actions. Each path from the root to a leaf is a sequence to explore.
#[derive(Clone, Debug)]
pub(super) struct Tree<A> {
    branches: Vec<Branch<A>>,
}

#[derive(Clone, Debug)]
struct Branch<A> {
    action: A,
    rest: Tree<A>,
}

impl<A: Action> Tree<A> {
    pub(super) fn new() -> Self {
        Self {
            branches: Vec::new(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.branches.clear();
    }

    /// Returns the action with which the first sequence of the tree begins. Returns `None` if the
    /// tree is empty.
    pub(super) fn first(&self) -> Option<A> {
        self.branches.first().map(|branch| branch.action)
    }

    /// Returns the actions with which the sequences begin.
    pub(super) fn actions(&self) -> impl Iterator<Item = A> {
        self.branches.iter().map(|branch| branch.action)
    }

    /// Removes and returns the subtree below the first action, so that the first action becomes a
    /// leaf.
    pub(super) fn take_rest(&mut self) -> Self {
        let first = self.branches.first_mut();
        first.map_or_else(Self::new, |branch| {
            std::mem::replace(&mut branch.rest, Self::new())
        })
    }

    /// Removes the first action with its subtree.
    pub(super) fn remove_first(&mut self) {
        self.branches.remove(0);
    }

    /// Adds a sequence of one action, unless another sequence already begins with this action.
    pub(super) fn add(&mut self, action: A) {
        if self.actions().all(|other| other != action) {
            let rest = Self::new();
            self.branches.push(Branch { action, rest });
        }
    }

    /// Adds a sequence, unless the tree already contains a path that covers the sequence: each
    /// action of the path, in order, is a weak initial of what is left of the sequence (see
    /// [`Sequence::is_weak_initial`]).
    pub(super) fn insert(&mut self, mut sequence: Sequence<'_, A>) {
        let mut tree = self;
        loop {
            let covers = |branch: &Branch<A>| sequence.is_weak_initial(branch.action);
            let Some(index) = tree.branches.iter().position(covers) else {
                tree.branches.extend(Branch::path(&sequence));
                return;
            };
            let branch = &mut tree.branches[index];
            if branch.rest.branches.is_empty() {
                return;
            }
            if let Some(place) = sequence.initial(branch.action) {
                sequence.remove(place);
            }
            tree = &mut branch.rest;
        }
    }
}

impl<A: Action> Branch<A> {
    /// Returns a branch with the whole sequence, or `None` if the sequence is empty.
    fn path(sequence: &Sequence<'_, A>) -> Option<Self> {
        let actions = sequence.actions().rev();
        actions.fold(None, |after: Option<Self>, action| {
            let branches = after.into_iter().collect();
            let rest = Tree { branches };
            Some(Self { action, rest })
        })
    }
}
