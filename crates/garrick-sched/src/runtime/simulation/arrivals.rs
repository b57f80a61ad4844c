//! Envelopes that arrive at the nodes of a simulation. Messages are kept until the caller chooses
//! to deliver them. Exceptions are messages to tasks that handle every message immediately.

use std::ptr;

use super::air::{Air, Sender};
use crate::cell::{CellPtr, Envelope};
use crate::names::TaskName;
use crate::runtime::worker::{Arrival, Worker};

/// Handles everything that has arrived at one node. Records the arrived messages in `air` as
/// undelivered messages.
pub(super) fn add_arrivals(
    worker: &Worker,
    node: u32,
    air: &mut Air,
    sender: Sender,
    strangers: &mut u32,
) {
    let mut prompts = Prompts::new(node);
    worker.take_arrivals(|cell, arrival| {
        let index = air.index_of(cell).unwrap_or_else(|| {
            // Another thread has created it.
            *strangers += 1;
            air.add(cell, cell.table(), TaskName::stranger(*strangers), node);
            air.index_of(cell).expect("it was added above")
        });
        prompts.add(worker, air, index, sender, arrival);
    });
    prompts.run(worker);
}

/// Cells of one node that must run after all arrivals at the node have been recorded.
pub(super) struct Prompts {
    node: u32,
    /// Cells of tasks that handle every message immediately, with the envelopes that they must
    /// handle.
    prompt: Vec<(CellPtr, *mut Envelope)>,
    /// Cells that were scheduled without a message, because their tasks have recovered or moved.
    idle: Vec<CellPtr>,
}

impl Prompts {
    pub(super) fn new(node: u32) -> Self {
        Self {
            node,
            prompt: Vec::new(),
            idle: Vec::new(),
        }
    }

    /// Records an arrival for the task with index `index`. An envelope becomes an undelivered
    /// message, unless the task handles each message at once. If there is no envelope, a new task
    /// can start as a later step. In all other cases, the cell runs after all arrivals have been
    /// recorded.
    pub(super) fn add(
        &mut self,
        worker: &Worker,
        air: &mut Air,
        index: u32,
        sender: Sender,
        arrival: Arrival,
    ) {
        let task = air.task(index);
        let cell = task.cell;
        match arrival {
            Arrival::Envelope(envelope) if task.is_prompt => {
                worker.keep(cell);
                self.prompt.push((cell, envelope));
            }
            Arrival::Envelope(envelope) => {
                if air.add_flight(index, sender, envelope) {
                    worker.keep(cell);
                }
            }
            Arrival::Scheduled => {
                air.settle_at(index, self.node);
                if cell.state().is_newborn() && cell.table().starts {
                    air.offer_start(index);
                } else {
                    self.idle.push(cell);
                }
            }
        }
    }

    pub(super) fn run(self, worker: &Worker) {
        for (cell, envelope) in self.prompt {
            worker.run_alone(cell, envelope, &[], true);
        }
        for cell in self.idle {
            worker.run_alone(cell, ptr::null_mut(), &[], false);
        }
    }
}
