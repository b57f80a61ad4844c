//! Who runs what, when: cells, workers and sponsors.
//!
//! A [`Task`] is a sequential process with a mailbox. A [`Sponsor`] runs tasks on a pool of threads, a
//! [`Here`] on the caller's. An [`Address`] is the capability to send to one. A message between two
//! tasks of one worker uses no atomic read-modify-write; `cell/README.md` in the sources tells how.
//!
//! The layers above, `garrick-actor` and `garrick-flow`, are what users meet.
#![allow(unsafe_code)] // The cell protocol needs it; every block is answered.

#[cfg_attr(garrick_loom, allow(dead_code, unused_imports))] // The models drive part of it.
mod cell;

#[cfg(not(garrick_loom))]
mod quiet;

#[cfg(not(garrick_loom))]
mod world;

#[cfg(not(garrick_loom))]
mod driver;

#[cfg(not(garrick_loom))]
mod room;

#[cfg(not(garrick_loom))]
mod pool;

#[cfg(not(garrick_loom))]
mod parcel;

#[cfg(not(garrick_loom))]
mod remote;

#[cfg(not(garrick_loom))]
mod run_queue;

#[cfg(not(garrick_loom))]
mod probe;

#[cfg(not(garrick_loom))]
mod runtime;

mod reply;

#[cfg(not(garrick_loom))]
pub use {
    driver::{Driver, Drivers},
    pool::Audit,
    probe::{KindSample, Sample, WorkerSample},
    remote::WORKERS_MAX,
    reply::{Ask, Circle, NoReply, Reply},
    room::{Place, Room},
    runtime::address::{Address, SendError, TaskId},
    runtime::current::in_turn,
    runtime::door::{Door, Notice, door},
    runtime::sponsor::{Builder, Failure, Handle, Here, SpawnError, Sponsor, StartError},
    runtime::task::{Flow, Task},
    runtime::turn::Turn,
    runtime::watch::{Ended, Watch},
    runtime::{audit, count_dead_letters},
    world::{Nanos, RealWorld, World},
};
