//! Hooks without the feature `sim`.

use crate::cell::{CellPtr, Chain, Home};

/// Returns true if the calling thread runs a simulation.
pub(crate) fn simulates_here() -> bool {
    false
}

/// Hooks of a sponsor.
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

    /// Returns true if both sponsors are in the same simulation, or in none.
    #[inline(always)]
    pub(crate) fn are_beside(self, _: Self) -> bool {
        true
    }

    /// Returns the home to whose cells a worker sends through their mailboxes.
    #[inline(always)]
    pub(crate) fn sends_from(self, home: Home) -> Home {
        home
    }

    /// Returns true if a worker sends nothing directly to its own cells.
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

    /// Takes a chain that a commit delivers. Returns false if it was not taken.
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

    /// Cancels the failure of the turn, if the simulation has chosen one.
    #[inline(always)]
    pub(crate) fn spare(self) {}

    /// Panics if the simulation has chosen that the turn fails.
    #[inline(always)]
    pub(crate) fn fail_if_chosen(self) {}
}
