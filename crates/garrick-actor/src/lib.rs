//! The actor model: addresses, behaviors, turns that happen wholly or not at all, asks.
//!
//! An [`Actor`] is state with a mailbox: it handles one message at a time, and what it does meanwhile,
//! through its [`Context`], happens when the turn ends well or not at all. An [`Address`] is the capability
//! to send to one, and all that others know of it. A [`behavior`] is an actor written as a closure, whose
//! only state is what it becomes. A [`System`] runs actors on a pool of threads, a [`Local`] on the
//! caller's.
//!
//! # Examples
//! ```
//! use garrick_actor::{Actor, Context, Next, System};
//!
//! struct Hello;
//!
//! impl Actor for Hello {
//!     type Msg = &'static str;
//!
//!     fn receive(&mut self, name: &'static str, _: &mut Context<'_, Self::Msg>) -> Next {
//!         println!("Hello, {name}!");
//!         Next::Continue
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

mod fault;
#[cfg(test)]
mod nobody;
mod path;

mod failure;
mod shelf;
#[cfg(feature = "tracing")]
mod span;

mod pipes;

mod beside;

mod context;

mod batch;
mod timer;

mod actor;
mod fallible;
mod link;

mod letters;

mod behavior;
mod contramap;
mod receive_timeout;
mod stash;

mod handle;
mod named;
mod waits;
mod within;

mod pipe;
mod pipe_limit;

pub mod behaviors;

mod workload;

mod builder;

mod local;
mod system;

mod future;

mod front;
mod mailbox;
mod request;

pub mod naming;
pub mod route;

mod supervise;

pub use actor::{Actor, Next};
pub use batch::{BatchError, SendBatch};
pub use behavior::{Behavior, BehaviorContext, behavior};
pub use builder::Builder;
pub use context::Context;
pub use contramap::{Contramap, Contramapped};
pub use failure::Failure;
pub use fallible::{Fallible, TryActor};
pub use fault::Fault;
pub use future::{
    AsyncActor, AsyncContext, Attachment, Incoming, LocalAsyncActor, PipeError, Sleep, Streamed,
    Ticket,
};
pub use garrick_sched::{
    Address, Ask, AwaySample, BLOCKING_THREADS_MAX, Call, Circle, Door, Driver, Drivers, Ended,
    Ending, KindSample, MESSAGE_BYTES_MAX, Nanos, NoReply, Notice, RealWorld, Reply,
    STACK_BYTES_MAX, STACK_BYTES_MIN, Sample, SendError, SpawnError, StartError, TaskId,
    ThreadSpec, Timer, Watch, WorkerSample, World, door,
};
pub use handle::Handle;
pub use local::Local;
pub use mailbox::{
    CapacityError, Inlet, InletSink, Mailbox, OnFull, Outlet, SinkError, TrySendError,
};
pub use path::ActorPath;
pub use pipe::Pending;
pub use pipe_limit::{WithPipeLimit, with_pipe_limit};
pub use receive_timeout::{WithReceiveTimeout, with_receive_timeout};
pub use request::Request;
pub use stash::{StashError, Stashing, with_stash};
pub use supervise::{
    AsyncChild, Backoff, Child, ChildState, Decision, Restart, Shutdown, Snapshot, SnapshotOf,
    Strategy, SuperviseError, Supervisor, Tree,
};
pub use system::System;
pub use timer::SendEveryError;
pub use within::AskWithin;
pub use workload::Workload;
