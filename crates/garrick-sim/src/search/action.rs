//! The interface between a run and the strategy that chooses its steps.

use std::fmt::Debug;
use std::hash::Hash;

/// An event that can happen next in a run, for example the delivery of a message.
///
/// An action has the same value in every order of the steps. So a list of actions that was found in
/// one run can be followed in another run. Messages of one sender to one receiver are delivered in
/// order, so a single action stands for "the oldest message of this pair". This action occurs once
/// for each message.
pub trait Action: Copy + Eq + Ord + Hash + Debug + 'static {
    /// Returns a number that identifies the task changed by the action. Swapping two successive
    /// actions that change different tasks has no effect on the results. Returns `None` if the
    /// action may change everything, for example if it advances the clock.
    fn changes(&self) -> Option<u64>;

    /// Returns the number of the action's chain. A chain is a group of actions that happen in a
    /// fixed order, for example the messages of one sender to one receiver.
    fn chain(&self) -> u64;
}

/// Implemented by strategies, which choose the steps of runs.
pub trait Strategy<A: Action> {
    /// Begins a run. Returns false if all runs have been made.
    fn begin(&mut self) -> bool;

    /// Records that the latest step, or the setup before the first step, has caused `action`. So
    /// `action` is enabled now, or will be enabled when the actions before it in its chain
    /// ([`Action::chain`]) have happened. Called after the step and before the next call of
    /// `choose`, in the order in which the actions were caused.
    fn caused(&mut self, action: A) {
        let _ = action;
    }

    /// Chooses one of the enabled actions. At least one action is enabled. Returns the index of the
    /// chosen action, or `None` to end the run early, because the run could only repeat what other
    /// runs have shown.
    fn choose(&mut self, enabled: &[A]) -> Option<usize>;
}
