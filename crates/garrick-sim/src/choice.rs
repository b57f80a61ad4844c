//! The choices of a simulation as actions of a search.

use garrick_sched::Choice;

use crate::search::Action;

/// Marks the chains of choices that the simulation itself offers.
const OTHER: u64 = 1 << 63;

impl Action for Choice {
    fn changes(&self) -> Option<u64> {
        match *self {
            Self::Start { task } => Some(task.get()),
            Self::Deliver { to, .. } => Some(to.get()),
            Self::Other(_) => None,
        }
    }

    fn chain(&self) -> u64 {
        match *self {
            Self::Start { task } => task.get(),
            Self::Deliver { from, to } => from.get().rotate_left(32) ^ to.get(),
            Self::Other(number) => OTHER | u64::from(number),
        }
    }
}
