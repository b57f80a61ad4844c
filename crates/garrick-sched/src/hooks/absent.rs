//! Stubs of the simulation hooks, for builds without the feature `sim`.

use crate::cell::{CellPtr, Chain, Home};

/// Returns true if the calling thread runs a simulation.
pub(crate) fn simulates_here() -> bool {
    false
}

/// Stub of the simulation hooks of a sponsor.
#[derive(Clone, Copy)]
pub(crate) struct Hooks;

#[expect(clippy::unused_self, reason = "as with the feature `sim`")]
impl Hooks {
    /// Returns hooks that do nothing.
    pub(crate) fn none() -> Self {
        Self
    }

    /// Returns true if the sponsor is simulated.
    pub(crate) fn are_active(self) -> bool {
        false
    }

    /// Returns true if both sponsors are in the same simulation, or if neither is in a simulation.
    #[inline(always)]
    pub(crate) fn are_beside(self, _: Self) -> bool {
        true
    }

    /// Returns the worker (home) whose tasks get messages directly in their mailboxes. Without the
    /// simulation, this is always the given worker.
    #[inline(always)]
    pub(crate) fn sends_from(self, home: Home) -> Home {
        home
    }

    /// Returns true if even a message to a task of the same worker must leave the worker. Without
    /// the simulation, always returns false.
    #[inline(always)]
    pub(crate) fn send_out(self) -> bool {
        false
    }

    /// Records that a task was created.
    #[inline(always)]
    pub(crate) fn born(self, _: CellPtr) {}

    /// Records that a task has ended.
    #[inline(always)]
    pub(crate) fn gone(self, _: CellPtr) {}

    /// In a simulation, takes over a chain of messages that a commit delivers. Without the
    /// simulation, always returns false: the caller must deliver the chain.
    #[inline(always)]
    pub(crate) fn takes(self, _: CellPtr, _: Chain) -> bool {
        false
    }

    /// Returns true if the sponsor may have tasks.
    #[inline(always)]
    pub(crate) fn may_have_tasks(self) -> bool {
        true
    }

    /// Records that a turn is about to be undone.
    #[inline(always)]
    pub(crate) fn undone(self) {}

    /// In a simulation, cancels a failure that was chosen for the turn. In this stub, does nothing.
    #[inline(always)]
    pub(crate) fn spare(self) {}

    /// In a simulation, panics if a failure was chosen for the turn. In this stub, does nothing.
    #[inline(always)]
    pub(crate) fn fail_if_chosen(self) {}
}
