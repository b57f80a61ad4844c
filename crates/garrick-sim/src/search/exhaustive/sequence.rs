//! A sequence of steps that could have happened before a certain step of a run. The last step of
//! the sequence races with this step: either of the two could have happened first.

use super::order::{Order, commute};
use crate::search::action::Action;

/// Steps that are possible before the step `first`. The last of these steps raced with `first`.
/// Abdulla et al. (2014) call the sequence "notdep(e, E).e'".
#[derive(Debug)]
pub(super) struct Sequence<'a, A> {
    order: &'a Order<A>,
    steps: Vec<usize>,
}

impl<'a, A: Action> Sequence<'a, A> {
    /// Collects the steps between `first` and `end` that do not depend on `first`. Then appends the
    /// step `second`, which races with `first`.
    pub(super) fn new(order: &'a Order<A>, first: usize, second: usize, end: usize) -> Self {
        let is_free = |&step: &usize| step != second && !order.is_before(first, step);
        let mut steps: Vec<usize> = (first + 1..end).filter(is_free).collect();
        steps.push(second);
        Self { order, steps }
    }

    /// Returns the first action, or `None` if no action is left.
    pub(super) fn first(&self) -> Option<A> {
        self.steps.first().map(|&step| self.order.action(step))
    }

    /// Returns the actions in order.
    pub(super) fn actions(&self) -> impl DoubleEndedIterator<Item = A> {
        self.steps.iter().map(|&step| self.order.action(step))
    }

    /// Returns the index of the action in the sequence if the action is an *initial*: moving an
    /// initial to the front of the sequence changes no result. Otherwise returns `None`.
    pub(super) fn initial(&self, action: A) -> Option<usize> {
        let found = self.actions().position(|other| other == action)?;
        let step = self.steps[found];
        let mut before = self.steps[..found].iter();
        before
            .all(|&earlier| !self.order.is_before(earlier, step))
            .then_some(found)
    }

    /// Returns true if the action is a *weak initial*: an initial, or an action that commutes with
    /// all actions of the sequence.
    pub(super) fn is_weak_initial(&self, action: A) -> bool {
        self.initial(action).is_some() || self.actions().all(|other| commute(other, action))
    }

    /// Removes the step at an index of the sequence.
    pub(super) fn remove(&mut self, place: usize) {
        self.steps.remove(place);
    }
}
