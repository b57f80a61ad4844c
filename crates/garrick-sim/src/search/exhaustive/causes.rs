//! The cause of each step: the earlier step that made this step possible. A step announces the
//! actions that it makes possible. The k-th occurrence of an action is caused by the step that
//! announced this action for the k-th time.

use crate::search::action::Action;

/// An announced action that has not happened yet.
#[derive(Clone, Copy, Debug)]
struct Pending<A> {
    action: A,
    cause: Option<usize>,
}

/// Announced actions of the current run, in the order in which they were announced.
///
/// The list is short, because it contains only pending actions. So searching it from its start is
/// fast enough.
#[derive(Clone, Debug)]
pub(super) struct Causes<A> {
    pending: Vec<Pending<A>>,
}

impl<A: Action> Causes<A> {
    pub(super) fn new() -> Self {
        Self {
            pending: Vec::new(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.pending.clear();
    }

    /// Records that the step `cause` has caused the action. If `cause` is `None`, the setup has
    /// caused the action.
    pub(super) fn announce(&mut self, action: A, cause: Option<usize>) {
        self.pending.push(Pending { action, cause });
    }

    /// Returns the step that has caused the oldest pending occurrence of the action. Returns `None`
    /// if the setup has caused it.
    pub(super) fn cause(&self, action: A) -> Option<usize> {
        let pending = self.pending.iter().find(|pending| pending.action == action);
        pending.and_then(|pending| pending.cause)
    }

    /// Removes the oldest pending occurrence of the action, because it has happened.
    pub(super) fn happened(&mut self, action: A) {
        let found = self
            .pending
            .iter()
            .position(|pending| pending.action == action);
        if let Some(index) = found {
            self.pending.remove(index);
        }
    }
}
