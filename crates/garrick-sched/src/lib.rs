//! The scheduler of Garrick: tasks in cells, workers that run them, and sponsors that own the
//! workers.
//!
//! A [`Task`] is a sequential process with a mailbox. A [`Sponsor`] runs tasks on a pool of
//! threads. A [`Here`] runs tasks on the calling thread. An [`Address`] is the capability to send
//! messages to one task. A message between two tasks of the same worker uses no atomic
//! read-modify-write. The file `cell/README.md` in the sources explains the protocol.
//!
//! Most users use the layers above this crate: `garrick-actor` and `garrick-flow`.
#![allow(unsafe_code)] // The cell protocol needs it; every block is answered.

pub(crate) use garrick_core::quiet;

mod names;

mod cell;

mod world;

mod driver;

mod waker;

mod pool;

mod parcel;

mod gate;

mod regular;

mod remote;

mod run_queue;

mod letters;

mod hooks;

mod probe;

mod runtime;

mod note;

mod orders;

mod reply;

#[cfg(all(test, garrick_loom))]
mod loom_tests;

pub use {
    cell::TaskId,
    driver::{Driver, Drivers},
    letters::{LetterReason, LetterSample},
    parcel::MESSAGE_BYTES_MAX,
    probe::{AwaySample, Durations, KindSample, MessageSample, Sample, TaskSample, WorkerSample},
    remote::WORKERS_MAX,
    reply::{Ask, Call, Circle, NoReply, Reply},
    runtime::address::{Address, SendError},
    runtime::batch::BatchError,
    runtime::door::{Door, Relay, door},
    runtime::several::TrySendError,
    runtime::sponsor::{
        BLOCKING_THREADS_MAX, Builder, Ending, Failure, Handle, Here, SpawnError, Sponsor,
        StartError,
    },
    runtime::task::{Bound, Flow, Task},
    runtime::timer::Timer,
    runtime::turn::Turn,
    runtime::watch::{Ended, Notice, Watch},
    world::{Nanos, RealWorld, STACK_BYTES_MAX, STACK_BYTES_MIN, ThreadSpec, World},
};

/// Items for the crates that are built on this crate, and for tests. They are not part of the
/// public API.
#[doc(hidden)]
pub use {
    note::note,
    orders::Orders,
    pool::Audit,
    runtime::at_end::AtEnd,
    runtime::bounded::Spawns,
    runtime::current::{TurnMark, in_turn, outside_of_turns, turn_mark},
    runtime::door::Gauged,
    runtime::look::{Asking, Look, Looking, Seen, Standing},
    runtime::pending::{Due, Pending},
    runtime::room::{Place, Room, WhenFull},
    runtime::several::{Several, Waits},
    runtime::timer::cancel_timers_of,
    runtime::trail::{Trail, trails_from_outside},
    runtime::{audit, count_dead_letters, count_left_letters},
    world::nanos,
};

/// Sponsors (groups of workers) in a simulation, for `garrick-sim`.
#[cfg(feature = "sim")]
#[doc(hidden)]
pub use {
    hooks::{CHOSEN_FAILURE, break_turn_off},
    names::TaskName,
    note::{Note, observe},
    runtime::simulation::{Birth, Choice, Circumstances, Fate, Sent, Simulation, Stepped},
};
