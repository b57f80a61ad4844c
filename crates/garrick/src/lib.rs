//! Garrick, an actor runtime: millions of tiny actors and zero-copy pipelines in one library.
//!
//! This crate is the one to depend on; it only names what the crates below it do.
//!
//! An [`Actor`] handles one message at a time. What it does meanwhile, through its [`Context`], happens when
//! its turn ends well, or not at all. A [`System`] runs actors on a pool of threads, a [`Local`] on the
//! caller's.
//!
//! # Examples
//! ```
//! use garrick::prelude::*;
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let system = System::new()?;
//!     let greeter = system.spawn_behavior(|name: String, _| {
//!         println!("Hello, {name}!");
//!         Next::Continue
//!     })?;
//!     greeter.send("actor".to_owned())?;
//!     system.shutdown();
//!     Ok(())
//! }
//! ```
#![forbid(unsafe_code)]

pub mod prelude;

pub use garrick_actor::{
    Actor, Address, Ask, Backoff, Behavior, BehaviorContext, Builder, Child, ChildState, Context,
    Contramap, Contramapped, Decision, Ended, Failure, Fallible, Fault, Handle, Local, Nanos, Next,
    NoReply, RealWorld, Reply, Restart, SendError, Shutdown, Snapshot, SnapshotOf, SpawnError,
    StartError, Strategy, SuperviseError, Supervisor, System, Tree, TryActor, Watch, World,
    behavior,
};

pub use garrick_macros::actor;

/// Pipelines of stages over zero-copy channels.
pub use garrick_flow as flow;

/// The Rust code in the project's README, compiled and run with the documentation's examples.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;

/// The Rust code in the page on supervision.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/supervision.md")]
pub struct Supervision;

/// The examples of [`actor`], which name this crate.
#[cfg(doctest)]
#[doc = include_str!("../../garrick-macros/src/actor.md")]
pub struct ActorMacro;
