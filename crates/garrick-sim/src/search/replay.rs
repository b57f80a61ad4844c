//! Replaying a run exactly, to check that it is deterministic.
//!
//! In contrast to [`Follow`](super::Follow), nothing is skipped: the first action that cannot be
//! taken is a difference between the two runs, and ends the replay.

use super::action::{Action, Strategy};

/// The first difference between a run and its replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference<A> {
    /// Index of the step, from 0.
    pub step: usize,
    /// Action that the original run took in this step, or `None` if the original run had ended
    /// before this step.
    pub expected: Option<A>,
    /// Actions that were enabled in the replay at this step. Empty if the replay had already ended.
    pub enabled: Vec<A>,
}

/// A strategy that chooses the same actions as an earlier run, and reports the first action that
/// cannot be taken.
///
/// Every run replays the same list.
#[derive(Clone, Debug)]
pub struct Replay<A> {
    list: Vec<A>,
    step: usize,
    difference: Option<Difference<A>>,
}

impl<A: Action> Replay<A> {
    /// Creates a strategy that replays all actions of a run.
    #[must_use]
    pub fn new(list: Vec<A>) -> Self {
        Self {
            list,
            step: 0,
            difference: None,
        }
    }

    /// Ends the replay, and returns the first difference from the original run, or `None` if there
    /// was none. A replay that ended too early also counts as a difference.
    pub fn finish(&mut self) -> Option<Difference<A>> {
        if self.difference.is_none() && self.step < self.list.len() {
            self.differ(&[]);
        }
        self.difference.take()
    }

    fn differ(&mut self, enabled: &[A]) {
        self.difference = Some(Difference {
            step: self.step,
            expected: self.list.get(self.step).copied(),
            enabled: enabled.to_vec(),
        });
    }
}

impl<A: Action> Strategy<A> for Replay<A> {
    fn begin(&mut self) -> bool {
        self.step = 0;
        self.difference = None;
        true
    }

    fn choose(&mut self, enabled: &[A]) -> Option<usize> {
        let expected = self.list.get(self.step);
        let found = expected.and_then(|wanted| enabled.iter().position(|action| action == wanted));
        match found {
            Some(_) => self.step += 1,
            None => self.differ(enabled),
        }
        found
    }
}
