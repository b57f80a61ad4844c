//! The actor model: addresses, behaviors, transactional turns, asks.
//!
//! An [`Actor`] is state with a mailbox. It handles one message at a time. The effects that it
//! requests through its [`Context`] take place when the turn ends well, or not at all. An
//! [`Address`] is the capability to send to an actor, and all that other actors know of it. A
//! [`behavior`] is an actor written as a closure. Its only state is the behavior that it becomes. A
//! [`System`] runs actors on a pool of threads, a [`Local`] on the caller's thread.
//!
//! # Examples
//! ```
//! use garrick_actor::{Actor, Context, System};
//!
//! struct Hello;
//!
//! impl Actor for Hello {
//!     type Msg = &'static str;
//!     type Outcome = ();
//!
//!     fn receive(&mut self, name: &'static str, _: &mut Context<'_, Self::Msg>) {
//!         println!("Hello, {name}!");
//!     }
//! }
//!
//! let system = System::new()?;
//! system.spawn(Hello)?.send("world")?;
//! system.shutdown();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod quiet;
mod roll;

mod failure;
#[cfg(feature = "tracing")]
mod span;

mod beside;

mod model;

mod extras;

pub mod system;

mod timer;

pub mod ask;

pub mod future;

pub mod mailbox;

pub mod supervise;

pub mod spawn;

pub mod behaviors;

pub mod naming;
pub mod route;

pub use failure::Failure;
pub use failure::path::ActorPath;
pub use future::{AsyncActor, AsyncContext, Incoming};
pub use garrick_sched::{
    Address, Ask, Call, Ended, NoReply, Reply, SendError, SpawnError, StartError, Timer, Watch,
};
pub use model::actor::Actor;
pub use model::behavior::{Behavior, BehaviorContext, behavior};
pub use model::context::Context;
pub use model::cyclic::cyclic;
pub use model::next::Next;
pub use model::outcome::Outcome;
pub use system::handle::Handle;
pub use system::local::Local;
pub use system::pool::System;

/// Receivers that every sender runs itself.
pub mod door {
    pub use garrick_sched::{Door, Notice, door};
}

/// Errors of operations on actors, other than sending and spawning.
pub mod error {
    pub use crate::extras::receive_timeout::NoReceiveTimeout;
    pub use crate::extras::stash::StashError;
    pub use crate::timer::SendEveryError;
    pub use garrick_sched::BatchError;
}
