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

mod system;

mod time;

mod ask;

pub mod behaviors;

mod future;

mod mailbox;

pub mod naming;
pub mod route;

mod supervise;

pub use ask::pipe::Pending;
pub use ask::request::Request;
pub use ask::within::AskWithin;
pub use extras::pipe_limit::{WithPipeLimit, with_pipe_limit};
pub use extras::stash::{StashError, Stashing, with_stash};
pub use failure::Failure;
pub use failure::fault::Fault;
pub use failure::path::ActorPath;
pub use future::{
    AsyncActor, AsyncContext, Attachment, Incoming, PipeError, Sleep, Streamed, Ticket,
};
pub use garrick_sched::{
    Address, Ask, AwaySample, BLOCKING_THREADS_MAX, Call, Circle, Door, Driver, Drivers, Ended,
    Ending, KindSample, MESSAGE_BYTES_MAX, Nanos, NoReply, Notice, RealWorld, Reply,
    STACK_BYTES_MAX, STACK_BYTES_MIN, Sample, SendError, SpawnError, StartError, TaskId,
    ThreadSpec, Timer, Watch, WorkerSample, World, door,
};
pub use mailbox::{
    CapacityError, Inlet, InletSink, Mailbox, OnFull, Outlet, SinkError, TrySendError,
};
pub use model::actor::Actor;
pub use model::batch::{BatchError, SendBatch};
pub use model::behavior::{Behavior, BehaviorContext, behavior};
pub use model::context::Context;
pub use model::contramap::{Contramap, Contramapped};
pub use model::next::Next;
pub use model::outcome::Outcome;
pub use supervise::{
    AsyncChild, Backoff, Child, ChildState, Decision, Restart, Shutdown, Snapshot, SnapshotOf,
    Strategy, SuperviseError, Supervisor, Tree,
};
pub use system::builder::Builder;
pub use system::handle::Handle;
pub use system::local::Local;
pub use system::pool::System;
pub use system::workload::Workload;
pub use time::receive_timeout::{WithReceiveTimeout, with_receive_timeout};
pub use time::timer::SendEveryError;
