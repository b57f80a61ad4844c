//! The runtime of cells: addresses, tasks and their turns, workers and sponsors.
//!
//! These modules depend on each other: a worker runs tasks, their turns act on the worker, and
//! dropping an address on any thread may give the worker something to do. Read them in this order:
//! - `task` and `turn` are the interface that a user of the crate implements;
//! - `address` is how cells are reached;
//! - `send` is where a worker's messages go;
//! - `bounded` adds bounded mailboxes to that, and `purse` keeps the places that a turn has taken;
//! - `stage` keeps what a turn does before it commits;
//! - `run` is one activation;
//! - `worker` is the main loop and its order;
//! - `sponsor` is the threads, their rest and their end.

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

/// Counts the blocks in use. Spare blocks of running threads other than the caller's count as in
/// use.
pub fn audit() -> Audit {
    current::flush_spare_blocks();
    pool::blocks_in_use()
}

/// Counts messages that will never be handled as dead letters of the sponsor that runs the calling
/// thread. Works in a turn, or in the destructor of a value that holds messages. Does nothing on
/// other threads.
pub fn count_dead_letters(count: u64) {
    if let Some(worker) = current::worker() {
        worker.count_dead_letters(count);
    }
}
