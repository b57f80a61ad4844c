//! Stubs of the simulation hooks, for builds without the feature `sim`.

use crate::cell::{CellPtr, Chain, Home};

/// Returns false, because no thread runs a simulation.
pub(crate) fn simulates_here() -> bool {
    false
}

/// Stub of the simulation hooks of a sponsor (a group of workers).
#[derive(Clone, Copy)]
pub(crate) struct Hooks;

#[expect(clippy::unused_self, reason = "as with the feature `sim`")]
impl Hooks {
    /// Returns hooks that do nothing.
    pub(crate) fn none() -> Self {
        Self
    }

    /// Returns false, because the sponsor (the group of workers) is not simulated.
    #[inline(always)]
    pub(crate) fn are_active(self) -> bool {
        false
    }

    /// Returns true, because neither of the two sponsors (groups of workers) is in a simulation.
    #[inline(always)]
    pub(crate) fn are_beside(self, _: Self) -> bool {
        true
    }

    /// Returns `home`, the worker whose tasks get messages directly in their mailboxes. In a
    /// simulation, the result can be different.
    #[inline(always)]
    pub(crate) fn sends_from(self, home: Home) -> Home {
        home
    }

    /// Returns false: messages to tasks of the same worker need not take the path of messages to
    /// other workers. In a simulation, the result is true.
    #[inline(always)]
    pub(crate) fn send_out(self) -> bool {
        false
    }

    /// In a simulation, records that a task was created. In this stub, does nothing.
    #[inline(always)]
    pub(crate) fn born(self, _: CellPtr) {}

    /// In a simulation, records that a task has ended. In this stub, does nothing.
    #[inline(always)]
    pub(crate) fn gone(self, _: CellPtr) {}

    /// In a simulation, takes over a chain of messages that a commit delivers. In this stub,
    /// returns false: the caller must deliver the chain.
    #[inline(always)]
    pub(crate) fn takes(self, _: CellPtr, _: Chain) -> bool {
        false
    }

    /// Returns true: without a simulation, the sponsor (the group of workers) can have tasks at any
    /// time.
    #[inline(always)]
    pub(crate) fn may_have_tasks(self) -> bool {
        true
    }

    /// In a simulation, records that a turn is about to be undone. In this stub, does nothing.
    #[inline(always)]
    pub(crate) fn undone(self) {}

    /// In a simulation, cancels a failure that was chosen for the turn. In this stub, does nothing.
    #[inline(always)]
    pub(crate) fn spare(self) {}

    /// In a simulation, panics if a failure was chosen for the turn. In this stub, does nothing.
    #[inline(always)]
    pub(crate) fn fail_if_chosen(self) {}

    /// In a simulation, panics if the turn has caught a panic of the simulation. In this stub, does
    /// nothing.
    #[inline(always)]
    pub(crate) fn fail_if_broken_off(self) {}
}
