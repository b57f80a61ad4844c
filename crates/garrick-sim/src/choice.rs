//! Makes the choices of a simulation usable as actions of a search.

use garrick_sched::Choice;

use crate::search::Action;
use crate::stage;

/// Number that stands for all tasks in a run with a pipeline. The steps of stages count as steps of
/// one task, because they are not independent: stages may use the same channels.
const ALL: u64 = 0;

/// Bit that is set in the [`chain`](Action::chain) of a choice that the simulation itself offers,
/// such as a crash.
const OTHER: u64 = 1 << 63;

impl Action for Choice {
    fn changes(&self) -> Option<u64> {
        match *self {
            Self::Other(_) => None,
            _ if stage::are_any() => Some(ALL),
            Self::Start { task } => Some(task.get()),
            Self::Deliver { to, .. } => Some(to.get()),
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
