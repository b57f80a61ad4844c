//! The actor model: addresses, behaviors, transactional turns, asks.
//!
//! An [`Actor`] is state with a mailbox. An actor handles one message at a time. The handling of
//! one message is called a *turn*. The effects that an actor requests through its [`Context`], such
//! as messages to send, take place together when the turn commits. If the turn fails, none of the
//! effects takes place. Other actors can reach an actor only through its [`Address`], to which they
//! send messages. A [`behavior`] is an actor written as a closure. Such an actor can replace its
//! closure for the next messages. A [`System`] runs actors on a pool of threads, and a [`Local`]
//! runs them on the caller's thread.
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
#[cfg(feature = "traces")]
pub mod trace;

#[cfg(feature = "tracing")]
mod span;

mod beside;

mod note;

pub mod files;

mod model;

mod extras;

pub mod system;

mod timer;

pub mod ask;

pub mod future;

pub mod mailbox;

pub mod supervise;

pub mod spawn;

pub mod inspect;

pub mod behaviors;

pub mod naming;
pub mod route;

pub use failure::path::ActorPath;
#[doc(hidden)]
pub use failure::short::short_type_name;
pub use failure::{Consequence, Failure, FailureRecord};
pub use future::{AsyncActor, AsyncContext, Incoming};
pub use garrick_sched::{
    Address, Ask, Call, Ended, NoReply, Reply, SendError, SpawnError, StartError, Timer, Watch,
};
#[doc(hidden)]
pub use garrick_sched::{Due, Pending, TaskId};
pub use model::actor::Actor;
pub use model::behavior::{Behavior, BehaviorContext, behavior};
pub use model::context::Context;
pub use model::cyclic::cyclic;
pub use model::next::Next;
pub use model::outcome::Outcome;
#[cfg(feature = "sim")]
#[doc(hidden)]
pub use note::{Note, Observing};
#[doc(hidden)]
pub use spawn::internal::{Internal, InternalFunction};
pub use system::handle::Handle;
pub use system::local::Local;
pub use system::pool::System;

/// Addresses that lead to a function instead of an actor. Each sender runs the function itself.
pub mod door {
    pub use garrick_sched::{Door, Notice, door};
}

/// Errors of operations on actors. The error of ordinary sends, [`SendError`], is in the root of
/// this crate.
pub mod error {
    pub use crate::extras::receive_timeout::NoReceiveTimeout;
    pub use crate::extras::stash::StashError;
    pub use crate::timer::SendEveryError;
    pub use garrick_sched::{BatchError, SpawnError, StartError};
}
