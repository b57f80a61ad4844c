//! Delivery of the messages and notes (envelopes that make requests) that a turn has sent to cells
//! (tasks) of other workers.

use super::Worker;
use crate::cell::{CellPtr, Chain};
use crate::letters::LetterReason;
use crate::runtime::address::release_foreign;

impl Worker {
    /// Delivers a chain of envelopes, and drops the reference that has kept its receiver alive.
    pub(super) fn deliver_staged(&self, cell: CellPtr, chain: Chain) {
        if !self.shared.hooks.takes(cell, chain) {
            self.push_staged(cell, chain);
        }
    }

    /// Pushes a chain (a list of envelopes) to the inbox of its receiver, or passes it to a door (a
    /// function behind an address). Drops the reference that has kept the receiver alive.
    #[inline]
    pub(crate) fn push_staged(&self, cell: CellPtr, chain: Chain) {
        // SAFETY: the chain comes with a reference of its own.
        unsafe {
            if let Some(door) = cell.table().door {
                // Only timers send to a door here; they keep single envelopes.
                let refused = (door.pass_unread)(cell, chain.oldest);
                self.count_dead_letters(cell.table().name, LetterReason::Stopped, refused);
                self.pool.give_envelope(chain.oldest);
            } else if !self.deliver(cell, chain) {
                self.discard(cell, chain);
            }
            release_foreign(cell);
        }
    }

    /// Drops a chain (a list of envelopes) that will not be delivered, and the reference to its
    /// receiver. Returns the number of messages in the chain that count as dead letters.
    pub(crate) fn drop_staged(&self, cell: CellPtr, chain: Chain) -> u64 {
        let dropped = self.drop_chain(cell, chain);
        self.let_go(cell);
        dropped
    }
}
