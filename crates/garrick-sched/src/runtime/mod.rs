//! The runtime of tasks: addresses, turns, workers and sponsors. Each task lies in a memory block,
//! its cell.
//!
//! A worker runs the turns of cells, a turn stages its effects at the worker, and the drop of an
//! address on any thread may create work for a worker. For this reason, the modules of the group
//! from `address` to `worker` below depend on each other. All other modules use only modules that
//! are declared above them. Read the modules in this order:
//! - `task` and `turn` are the interface for users of the crate, and `births` spawns tasks.
//! - `address` has the addresses of cells.
//! - `send` sends messages from a worker, and `pass` sends messages to doors.
//! - `bounded` adds bounded mailboxes, and `purse` keeps the places that a turn has taken.
//! - `stage` keeps the effects of a turn before it commits.
//! - `run` runs one activation.
//! - `worker` has the main loop and the order of the cells.
//! - `sponsor` has the threads, and the code by which the threads sleep and stop.

pub(crate) mod block;
pub(crate) mod look;
pub(crate) mod shards;
pub(crate) mod trail;
pub(crate) mod watch;

pub(crate) mod departure;

pub(crate) mod address;
pub(crate) mod current;
pub(crate) mod pass;
pub(crate) mod pending;
pub(crate) mod purse;
pub(crate) mod room;
pub(crate) mod sponsor;
pub(crate) mod stage;
pub(crate) mod timer;
pub(crate) mod worker;

pub(crate) mod send;
pub(crate) mod turn;

pub(crate) mod task;

pub(crate) mod run;

pub(crate) mod tables;

pub(crate) mod births;

pub(crate) mod several;

pub(crate) mod door;

pub(crate) mod bounded;

pub(crate) mod admission;
pub(crate) mod at_end;
pub(crate) mod batch;
pub(crate) mod block_on;
pub(crate) mod contramap;

#[cfg(feature = "sim")]
pub(crate) mod simulation;

use crate::letters::LetterReason;
use crate::pool::{self, Audit};

/// Returns the numbers of memory blocks that the whole process is using. The numbers include the
/// spare blocks of other running threads.
pub fn audit() -> Audit {
    current::flush_spare_blocks();
    pool::blocks_in_use()
}

/// Counts `count` dead letters at the sponsor whose task the calling thread is running. Dead
/// letters are messages that were accepted, but will never be handled. The dead letters are counted
/// under the name that the function `name` returns, usually the name of a type, and under `reason`.
///
/// Code that discards messages should call this function, either during a turn or in the destructor
/// of the value that contains the messages. Does nothing on a thread that is not running a task.
pub fn count_dead_letters(name: fn() -> &'static str, reason: LetterReason, count: u64) {
    if let Some(worker) = current::worker() {
        worker.count_dead_letters(name, reason, count);
    }
}

/// Counts `count` dead letters like [`count_dead_letters`]. The counted reason is the reason for
/// which the task that is being dropped has ended: the task has stopped, has failed, or ends with
/// its sponsor.
///
/// A task that keeps messages in its state should call this function in the destructor of this
/// state.
pub fn count_left_letters(name: fn() -> &'static str, count: u64) {
    if let Some(worker) = current::worker() {
        worker.count_dead_letters(name, worker.leave_reason(), count);
    }
}
