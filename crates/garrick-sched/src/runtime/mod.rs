//! The runtime of cells: addresses, tasks and their turns, workers and sponsors.
//!
//! These modules depend on each other. A worker runs tasks, turns of tasks use the worker, and
//! dropping an address on any thread may create work for the worker. Read the modules in this
//! order:
//! - `task` and `turn` are the interface for users of the crate.
//! - `address` has the addresses of cells.
//! - `send` has the sends of a worker.
//! - `bounded` adds bounded mailboxes, and `purse` keeps the places that a turn has taken.
//! - `stage` keeps the effects of a turn before it commits.
//! - `run` runs one activation.
//! - `worker` has the main loop and the order of the cells.
//! - `sponsor` has the threads, and how they rest and stop.

pub(crate) mod shards;
pub(crate) mod watch;

pub(crate) mod address;
pub(crate) mod bounded;
pub(crate) mod current;
pub(crate) mod door;
pub(crate) mod purse;
pub(crate) mod room;
pub(crate) mod run;
pub(crate) mod sponsor;
pub(crate) mod stage;
pub(crate) mod task;
pub(crate) mod timer;
pub(crate) mod turn;
pub(crate) mod worker;

pub(crate) mod admission;
pub(crate) mod at_end;
pub(crate) mod batch;
pub(crate) mod contramap;
pub(crate) mod send;

use crate::pool::{self, Audit};

/// Returns the number of blocks in use, including the spare blocks of other running threads.
pub fn audit() -> Audit {
    current::flush_spare_blocks();
    pool::blocks_in_use()
}

/// Adds `count` to the number of dead letters of the sponsor that is running the calling thread.
///
/// Call this function for messages that will never be handled, during a turn or in the destructor
/// of a value that contains messages. Does nothing on other threads.
pub fn count_dead_letters(count: u64) {
    if let Some(worker) = current::worker() {
        worker.count_dead_letters(count);
    }
}
