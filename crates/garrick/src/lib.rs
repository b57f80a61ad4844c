//! Garrick, an actor runtime: millions of tiny actors and zero-copy pipelines in one library.
//!
//! Programs need to depend only on this crate, which re-exports the public items of the other
//! crates.
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
//! An [`Actor`] handles one message at a time. Handling a message is called a *turn*. During a
//! turn, the actor sends messages, spawns actors and starts timers through its [`Context`]. These
//! effects take place together when the turn commits. If the turn fails, none of them takes place.
//! A [`System`] runs actors on a pool of threads, and a [`Local`] runs them on the calling thread.
//! Code that holds an actor's [`Address`] can send messages to the actor and ask it questions.
//!
//! # Overview
//!
//! | to | see |
//! | --- | --- |
//! | start | [`prelude`], [`System`], [`Local`] for a single thread and for tests |
//! | write an actor | [`Actor`], the attribute [`#[garrick::actor]`](macro@actor), [`Outcome`] for `?`, [`behavior()`] for actors written as closures |
//! | write an actor that awaits | [`AsyncActor`], an async function that takes an [`Incoming`], [`Context::pipe`] to run a future for an actor |
//! | spawn an actor | [`System::spawn`], [`Context::spawn`]; [`spawn`](mod@spawn) for names, mailboxes, stashes, timeouts and supervisors |
//! | send and ask | [`Address`], [`Reply`], [`Ask`], [`Call`], [`Context::ask`], [`Handle::ask_within`] for asks with a time limit |
//! | send a message later | [`Context::send_after`], [`Context::send_every`] |
//! | limit the number of waiting messages | [`mailbox`] |
//! | recover from failures | [`supervise`]; [`Context::watch`], [`Context::link`] |
//! | use ready-made actors | [`behaviors`]: race, fork, serializer, retry, breaker, limiter and others |
//! | distribute messages | [`route`]: routers and pools |
//! | find and notify other actors | [`naming`]: registry, receptionist, topics, event stream, dead letters |
//! | process a large number of small messages | [`flow`]: pipelines of stages over zero-copy channels |
//! | share work between plain threads | [`steal`]: a work-stealing channel |
//! | configure and observe a system | [`system`]; the feature `telemetry`; the feature `tracing`, which adds a `tracing` span for each turn |
//! | use sockets, files and signals | the feature `tokio` |
//! | communicate with another program over an encrypted connection | the feature `secure` |
//!
//! # Guides
//!
//! The guides are in the repository. `docs/tutorial.md` is a tutorial in ten steps, from a first
//! actor to a supervised pipeline with telemetry. `README.md` lists all guides. `examples/starter`
//! is a project template to copy.
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

/// Small standard actors, such as relays, races, serializers and retries.
pub use garrick_actor::behaviors;

/// Pipelines of stages over zero-copy channels.
pub use garrick_flow as flow;

/// A work-stealing channel for plain threads.
pub use garrick_steal::steal;

/// Authenticated and encrypted frames over byte streams.
#[cfg(feature = "secure")]
pub use garrick_secure as secure;

/// A live view of a running process: its systems, actors and pipelines.
#[cfg(feature = "telemetry")]
pub use garrick_telemetry as telemetry;

/// Integration with tokio: actors that use tokio's I/O and timers, blocking work, and shutdown on
/// signals.
#[cfg(feature = "tokio")]
pub use garrick_tokio as tokio;

/// The Rust code in the project's README, which is compiled and run as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;

/// The programs in the tutorial.
#[cfg(all(doctest, feature = "telemetry"))]
#[doc = include_str!("../../../docs/tutorial.md")]
pub struct Tutorial;

/// The Rust code in the guide to supervision.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/supervision.md")]
pub struct Supervision;

/// The examples in the guide to the small standard actors.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/behaviors.md")]
pub struct Behaviors;

/// The examples in the documentation of the attribute [`actor`]. They are tested here because they
/// refer to this crate by its name.
#[cfg(doctest)]
#[doc = include_str!("../../garrick-macros/src/actor.md")]
pub struct ActorMacro;

/// The examples in the guide to mailboxes.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/mailboxes.md")]
pub struct Mailboxes;

/// The Rust code in the guide to time and the stash.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/time-and-stash.md")]
pub struct TimeAndStash;
/// The examples in the guide to routers and pools.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/routing.md")]
pub struct Routing;

/// The examples in the guide to names, topics and dead letters.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/naming.md")]
pub struct Naming;

/// The Rust code in the guide to turns and sponsors.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/turns.md")]
pub struct Turns;

/// The examples in the guide to failures, shutdown and testing of pipelines.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/pipeline-life.md")]
pub struct PipelineLife;

/// The examples in the guide to the work-stealing channel.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/work-stealing.md")]
pub struct WorkStealing;

/// The Rust code in the guide to telemetry.
#[cfg(all(doctest, feature = "telemetry"))]
#[doc = include_str!("../../../docs/telemetry.md")]
pub struct TelemetryGuide;
/// The examples in the guide to pipelines.
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
/// The examples in the guide to the Savina benchmarks.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/savina.md")]
pub struct Savina;
