//! Garrick, an actor runtime: millions of tiny actors and zero-copy pipelines in one library.
//!
//! Depend on this crate. It re-exports the public items of the crates below it.
//!
//! # Hello
//! ```
//! use garrick::prelude::*;
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let system = System::new()?;
//!     let greeter = system.spawn(behavior(|name: String, _| {
//!         println!("Hello, {name}!");
//!     }))?;
//!     greeter.send("actor".to_owned())?;
//!     system.shutdown();
//!     Ok(())
//! }
//! ```
//!
//! An [`Actor`] handles one message at a time. Its effects during a turn go through its
//! [`Context`]. They take place when the turn ends well, or not at all. A [`System`] runs actors on
//! a pool of threads, a [`Local`] on the calling thread. The holder of an actor's [`Address`] can
//! send to it and ask it.
//!
//! # Overview
//!
//! | to | see |
//! | --- | --- |
//! | begin | [`prelude`], [`System`], [`Local`] for one thread and for tests |
//! | write an actor | [`Actor`], the attribute [`#[garrick::actor]`](macro@actor), [`Outcome`] for `?`, [`behavior()`] for closures that become |
//! | write an actor that awaits | [`AsyncActor`], an async function of an [`Incoming`], [`Context::pipe`] for futures beside an actor |
//! | spawn it | [`System::spawn`], [`Context::spawn`]; [`spawn`](mod@spawn) for names, mailboxes, stashes, timeouts and supervisors |
//! | send and ask | [`Address`], [`Reply`], [`Ask`], [`Call`], [`Context::ask`], [`Handle::ask_within`] for asks with a time limit |
//! | do something later | [`Context::send_after`], [`Context::send_every`] |
//! | bound the waiting messages | [`mailbox`] |
//! | survive failures | [`supervise`]; [`Context::watch`], [`Context::link`] |
//! | use ready-made actors | [`behaviors`]: race, fork, serializer, retry, breaker, limiter, .. |
//! | spread messages | [`route`]: routers and pools |
//! | find and notify other actors | [`naming`]: registry, receptionist, topics, event stream, dead letters |
//! | move very many small messages | [`flow`]: pipelines of stages over zero-copy channels |
//! | share work among plain threads | [`steal`]: a work-stealing channel |
//! | configure and observe a system | [`system`]; `telemetry`, with the feature of that name; a `tracing` span for each turn with `tracing` |
//! | use sockets, files and signals | `tokio`, with the feature of that name |
//! | talk to another program over an encrypted connection | `secure`, with the feature of that name |
//!
//! # Guides
//!
//! The guides are in the repository. `docs/tutorial.md` goes from hello to a supervised pipeline
//! with telemetry in ten steps, `README.md` lists all guides, and `examples/starter` is a project
//! to copy.
#![forbid(unsafe_code)]

pub mod prelude;

pub use garrick_actor::{
    Actor, ActorPath, Address, Ask, AsyncActor, AsyncContext, Behavior, BehaviorContext, Call,
    Context, Ended, Failure, Handle, Incoming, Local, Next, NoReply, Outcome, Reply, SendError,
    SpawnError, StartError, System, Timer, Watch, behavior, cyclic,
};

pub use garrick_actor::{
    ask, door, error, future, mailbox, naming, route, spawn, supervise, system,
};

pub use garrick_macros::actor;

/// Small standard actors: relays, races, serializers, retries and the like.
pub use garrick_actor::behaviors;

/// Pipelines of stages over zero-copy channels.
pub use garrick_flow as flow;

/// A work-stealing channel for plain threads.
pub use garrick_steal::steal;

/// Authenticated and encrypted frames over byte streams.
#[cfg(feature = "secure")]
pub use garrick_secure as secure;

/// Live view of the process.
#[cfg(feature = "telemetry")]
pub use garrick_telemetry as telemetry;

/// Actors that wait in tokio's driver, blocking work, and shutdown by signals.
#[cfg(feature = "tokio")]
pub use garrick_tokio as tokio;

/// The Rust code in the project's README, compiled and run with the documentation's examples.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;

/// Programs of the tutorial.
#[cfg(all(doctest, feature = "telemetry"))]
#[doc = include_str!("../../../docs/tutorial.md")]
pub struct Tutorial;

/// Rust code in the page on supervision.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/supervision.md")]
pub struct Supervision;

/// Examples of the guide to the small standard actors.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/behaviors.md")]
pub struct Behaviors;

/// Examples of [`actor`], which use the name of this crate.
#[cfg(doctest)]
#[doc = include_str!("../../garrick-macros/src/actor.md")]
pub struct ActorMacro;

/// Guide to mailboxes, whose examples run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/mailboxes.md")]
pub struct Mailboxes;

/// The Rust code in the guide to time and the stash.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/time-and-stash.md")]
pub struct TimeAndStash;
/// The guide to routers and pools.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/routing.md")]
pub struct Routing;

/// The guide to names, topics and dead letters.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/naming.md")]
pub struct Naming;

/// The Rust code in the guide to turns and sponsors.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/turns.md")]
pub struct Turns;

/// The guide to failures, ends and tests of pipelines.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/pipeline-life.md")]
pub struct PipelineLife;

/// The guide to the work-stealing channel.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/work-stealing.md")]
pub struct WorkStealing;

/// The Rust code in the guide to telemetry.
#[cfg(all(doctest, feature = "telemetry"))]
#[doc = include_str!("../../../docs/telemetry.md")]
pub struct TelemetryGuide;
/// The guide to pipelines.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/pipelines.md")]
pub struct Pipelines;
/// The Rust code in the guide to async actors.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/async.md")]
pub struct Async;
/// The Rust code in the guide to tokio.
#[cfg(all(doctest, feature = "tokio"))]
#[doc = include_str!("../../../docs/tokio.md")]
pub struct TokioGuide;
/// The Rust code in the guide to the secure socket.
#[cfg(all(doctest, feature = "secure"))]
#[doc = include_str!("../../../docs/secure-socket.md")]
pub struct SecureSocket;
/// The guide to the benchmarks of Savina.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/savina.md")]
pub struct Savina;
