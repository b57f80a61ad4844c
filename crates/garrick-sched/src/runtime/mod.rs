//! What runs cells: addresses, tasks and their turns, workers and sponsors.
//!
//! One room, because its parts know each other by nature: a worker runs tasks, their turns act on the
//! worker, and dropping an address anywhere may be the worker's business. Read them in this order:
//! `task` and `turn` are what a user of the crate writes against, `address` is how cells are reached,
//! `send` is where a worker's messages go, `bounded` is what a bound adds to that, with the `purse` in which a turn keeps its places,
//! `stage` is what a turn does before it commits, `run` is one activation, `worker` is the loop and
//! its order, `sponsor` is the threads, their rest and their end.

pub(crate) mod address;
pub(crate) mod bounded;
pub(crate) mod current;
pub(crate) mod door;
pub(crate) mod purse;
pub(crate) mod room;
pub(crate) mod run;
pub(crate) mod send;
pub(crate) mod shards;
pub(crate) mod sponsor;
pub(crate) mod stage;
pub(crate) mod task;
pub(crate) mod timer;
pub(crate) mod turn;
pub(crate) mod watch;
pub(crate) mod worker;

use crate::pool::{self, Audit};

/// Counts the blocks in use. Spare blocks of running threads other than the caller count as in use.
pub fn audit() -> Audit {
    current::flush_spare_blocks();
    pool::blocks_in_use()
}

/// Counts messages that nobody will handle, for the sponsor that runs the calling thread: in a turn, or in the destructor
/// of what keeps messages. Elsewhere nothing happens.
pub fn count_dead_letters(count: u64) {
    if let Some(worker) = current::worker() {
        worker.count_dead_letters(count);
    }
}
