//! Who runs what, when: cells, workers and sponsors.
//!
//! A [`Task`] is a sequential process with a mailbox. A [`Sponsor`] runs tasks on a pool of threads, a
//! [`Here`] on the caller's. An [`Address`] is the capability to send to one. A message between two
//! tasks of one worker uses no atomic read-modify-write; `cell/README.md` in the sources tells how.
//!
//! The layers above, `garrick-actor` and `garrick-flow`, are what users meet.
#![allow(unsafe_code)] // The cell protocol needs it; every block is answered.

#[cfg_attr(garrick_loom, allow(dead_code))] // The models drive part of it.
mod cell;

#[cfg(not(garrick_loom))]
mod pool;

#[cfg(not(garrick_loom))]
mod parcel;
#[cfg(not(garrick_loom))]
mod remote;
#[cfg(not(garrick_loom))]
mod run_queue;
#[cfg(not(garrick_loom))]
mod world;

#[cfg(not(garrick_loom))]
mod stage;
#[cfg(not(garrick_loom))]
mod timer;

#[cfg(not(garrick_loom))]
mod address;
#[cfg(not(garrick_loom))]
mod current;
#[cfg(not(garrick_loom))]
mod run;
#[cfg(not(garrick_loom))]
mod sponsor;
#[cfg(not(garrick_loom))]
mod task;
#[cfg(not(garrick_loom))]
mod turn;
#[cfg(not(garrick_loom))]
mod worker;

mod reply;

#[cfg(not(garrick_loom))]
pub use {
    address::{Address, SendError},
    pool::{Audit, audit},
    remote::WORKERS_MAX,
    reply::{Ask, NoReply, Reply},
    sponsor::{Builder, Failure, Handle, Here, SpawnError, Sponsor, StartError},
    task::{Flow, Task},
    turn::Turn,
    world::{Nanos, RealWorld, World},
};
