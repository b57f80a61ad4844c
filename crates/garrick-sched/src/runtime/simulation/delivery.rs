//! Delivery of the chosen message, and of the messages that are delivered together with it.

use super::Simulation;
use super::air::Taken;
use crate::cell::{CellPtr, Envelope};
use crate::runtime::worker::Worker;

impl Simulation {
    /// Runs the task of a choice (a possible step) that the simulation has taken: starts the task,
    /// or delivers a message to it. If `fails` is true, the turn fails when it commits. Returns
    /// true if it is not decided yet whether the turn commits.
    pub(super) fn run_taken(
        &mut self,
        taken: &Taken,
        cell: CellPtr,
        node: u32,
        fails: bool,
    ) -> bool {
        let more = self.air.take_more(taken);
        let worker = self.worker(node as usize);
        if fails {
            worker.expect_choice();
        }
        worker.run_alone(cell, taken.envelope, &more, taken.is_last);
        let is_undecided = worker.later.is_undecided(cell);
        let takes_more = worker.later.has_wanted_more();
        if !more.is_empty() {
            let left = worker.take_mailbox(cell);
            self.air.put_back(taken, &left);
        }
        if takes_more {
            self.air.note_taking(taken);
        }
        is_undecided
    }
}

impl Worker {
    /// Takes the messages that are left in the mailbox of a cell, oldest first.
    fn take_mailbox(&self, cell: CellPtr) -> Vec<*mut Envelope> {
        cell.check_home(self.home);
        let take = || (!cell.mailbox_tail().is_null()).then(|| cell.take_oldest());
        std::iter::from_fn(take).collect()
    }
}
