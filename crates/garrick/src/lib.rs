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
//! turn, the actor sends messages, spawns actors and starts timers through its [`Context`]. The
//! effects of a turn take place together when the turn commits. If the turn fails, none of its
//! effects takes place. A [`System`] runs actors on a pool of threads, and a [`Local`] runs them on
//! the calling thread. Code that holds an actor's [`Address`] can send messages to the actor and
//! ask it questions.
//!
//! # Overview
//!
//! | to | see |
//! | --- | --- |
//! | start | [`prelude`], [`System`], [`Local`] for a single thread and for tests |
//! | write an actor | [`Actor`], the attribute [`#[garrick::actor]`](macro@actor), [`Outcome`] for `?`, [`behavior()`] for actors written as closures |
//! | write an actor that awaits | [`AsyncActor`], an async function that takes an [`Incoming`], [`Context::pipe`] to run a future for an actor |
//! | spawn an actor | [`System::spawn`], [`Context::spawn`]; [`spawn`](mod@spawn) for names, mailboxes, stashes, timeouts and supervisors |
//! | send and ask | [`Address`], [`Reply`], [`Ask`], [`Call`](ask::Call), [`Context::ask`], [`Handle::ask_within`] for asks with a time limit |
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
//! | keep the state of actors when the process restarts | the feature `journal`, with the attribute `#[garrick::durable]`; the feature `journal-sqlite`, which keeps the state in a database; the feature `journal-nats`, which keeps the state on a server |
//! | send to actors on other nodes | the feature `cluster`; the feature `cluster-nats` for nodes in other processes |
//! | communicate with another program over an encrypted connection | the feature `secure` |
//! | encode messages for other nodes and other versions of a program | the feature `wire` |
//! | find an order of events, or a fault, that makes a program fail | the feature `sim` |
//!
//! # Guides
//!
//! The guides are in the repository. `docs/tutorial.md` is a tutorial in eleven steps, from a first
//! actor to a supervised pipeline with telemetry. `docs/README.md` lists all guides in order.
//! `examples/starter` is a project template to copy. `cargo xtask site` makes a site with search
//! from the guides, the tutorial and this reference.
#![forbid(unsafe_code)]

pub mod prelude;
#[cfg(feature = "wire")]
pub mod wire;

pub use garrick_actor::{
    Actor, Address, Ask, AsyncActor, AsyncContext, Behavior, Context, Handle, Incoming, Local,
    Next, NoReply, Outcome, Reply, SendError, System, Timer, behavior,
};

pub use garrick_actor::{
    ask, door, error, files, future, inspect, mailbox, naming, route, spawn, supervise, system,
};

/// OpenTelemetry traces that are passed on with messages from actor to actor.
#[cfg(feature = "traces")]
pub use garrick_actor::trace;

pub use garrick_macros::actor;
#[cfg(feature = "journal")]
pub use garrick_macros::durable;

/// Small standard actors, such as relays, races, serializers and retries.
pub use garrick_actor::behaviors;

/// Pipelines: stages that exchange messages through zero-copy channels.
pub use garrick_flow as flow;

/// A work-stealing channel for plain threads.
pub use garrick_steal::steal;

/// Actors on many nodes. Addresses, replies and watches can lead to actors on other nodes.
#[cfg(feature = "cluster")]
pub use garrick_cluster as cluster;

/// Durable actors, whose state survives the end of the process. A turn of a durable actor commits
/// when its events are on disk.
#[cfg(feature = "journal")]
pub use garrick_journal as journal;

/// Authenticated and encrypted frames over byte streams.
#[cfg(feature = "secure")]
pub use garrick_secure as secure;

/// A live view of the systems, actors and pipelines of a running process: a web page, metrics and
/// events.
#[cfg(feature = "telemetry")]
pub use garrick_telemetry as telemetry;

/// Simulation, which searches for an order of events, or for a fault, that makes a program fail.
#[cfg(feature = "sim")]
pub use garrick_sim as sim;

/// The crate `metrics`, which programs use to record their own metrics. Telemetry shows these
/// metrics.
#[cfg(feature = "metrics")]
pub use ::metrics;

/// Integration with tokio: actors that use tokio's I/O and timers, blocking work, and shutdown on
/// signals.
#[cfg(feature = "tokio")]
pub use garrick_tokio as tokio;

/// Runs the Rust code in the project's README as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;

/// Runs the Rust code in the README of the package `garrick` as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct PackageReadme;

/// Runs the Rust code in the README of `garrick-cluster` as documentation tests.
#[cfg(all(doctest, feature = "cluster"))]
#[doc = include_str!("../../garrick-cluster/README.md")]
pub struct ClusterReadme;

/// Runs the Rust code in the README of `garrick-journal` as documentation tests.
#[cfg(all(doctest, feature = "journal"))]
#[doc = include_str!("../../garrick-journal/README.md")]
pub struct JournalReadme;

/// Runs the programs in the tutorial as documentation tests.
#[cfg(all(doctest, feature = "journal", feature = "telemetry"))]
#[doc = include_str!("../../../docs/tutorial.md")]
pub struct Tutorial;

/// Runs the examples in the guide to supervision as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/supervision.md")]
pub struct Supervision;

/// Runs the examples in the guide to the small standard actors as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/behaviors.md")]
pub struct Behaviors;

/// Runs the examples in the documentation of the attribute [`actor`] as tests. The tests are in the
/// crate `garrick`, because the examples use this crate.
#[cfg(doctest)]
#[doc = include_str!("../../garrick-macros/src/actor.md")]
pub struct ActorMacro;

/// Runs the examples in the documentation of the attribute [`durable`] as tests.
#[cfg(all(doctest, feature = "journal"))]
#[doc = include_str!("../../garrick-macros/src/durable.md")]
pub struct DurableMacro;

/// Runs the examples in the documentation of the derive macro [`Stored`](journal::Stored) as tests.
#[cfg(all(doctest, feature = "journal"))]
#[doc = include_str!("../../garrick-macros/src/stored.md")]
pub struct StoredMacro;

/// Runs the examples in the guide to clusters as documentation tests.
#[cfg(all(doctest, feature = "cluster"))]
#[doc = include_str!("../../../docs/cluster.md")]
pub struct Cluster;

/// Runs the examples in the guide to mailboxes as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/mailboxes.md")]
pub struct Mailboxes;

/// Runs the examples in the guide to timers and the stash as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/time-and-stash.md")]
pub struct TimeAndStash;
/// Runs the examples in the guide to routers and pools as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/routing.md")]
pub struct Routing;

/// Runs the examples in the guide to names, topics and dead letters as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/naming.md")]
pub struct Naming;

/// Runs the examples in the guide to turns and sponsors as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/turns.md")]
pub struct Turns;

/// Runs the examples in the guide to the life of a pipeline as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/pipeline-life.md")]
pub struct PipelineLife;

/// Runs the examples in the guide to the work-stealing channel as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/work-stealing.md")]
pub struct WorkStealing;

/// Runs the examples in the guide to telemetry as documentation tests.
#[cfg(all(doctest, feature = "telemetry"))]
#[doc = include_str!("../../../docs/telemetry.md")]
pub struct TelemetryGuide;
/// Runs the examples in the guide to operations as documentation tests.
#[cfg(all(doctest, feature = "telemetry"))]
#[doc = include_str!("../../../docs/operations.md")]
pub struct Operations;
/// Runs the examples in the guide to metrics as documentation tests.
#[cfg(all(doctest, feature = "metrics"))]
#[doc = include_str!("../../../docs/metrics.md")]
pub struct MetricsGuide;
/// Runs the examples in the guide to pipelines as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/pipelines.md")]
pub struct Pipelines;
/// Runs the examples in the guide to async actors as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/async.md")]
pub struct Async;
/// Runs the examples in the guide to tokio as documentation tests.
#[cfg(all(doctest, feature = "tokio"))]
#[doc = include_str!("../../../docs/tokio.md")]
pub struct TokioGuide;
/// Runs the examples in the guide to the secure socket as documentation tests.
#[cfg(all(doctest, feature = "secure"))]
#[doc = include_str!("../../../docs/secure-socket.md")]
pub struct SecureSocket;
/// Runs the examples in the guide to durable actors as documentation tests.
#[cfg(all(doctest, feature = "journal", feature = "sim", feature = "telemetry"))]
#[doc = include_str!("../../../docs/durable.md")]
pub struct DurableGuide;
/// Runs the examples in the documentation of the derive macro [`Wire`](macro@wire::Wire) as tests.
#[cfg(all(doctest, feature = "wire"))]
#[doc = include_str!("../../garrick-macros/src/wire.md")]
pub struct WireMacro;
/// Runs the examples in the guide to messages between nodes as documentation tests.
#[cfg(all(doctest, feature = "wire"))]
#[doc = include_str!("../../../docs/wire.md")]
pub struct WireGuide;
/// Runs the examples in the guide to simulation as documentation tests.
#[cfg(all(doctest, feature = "sim"))]
#[doc = include_str!("../../../docs/simulation.md")]
pub struct SimulationGuide;
/// Runs the examples in the guide to the Savina benchmarks as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/savina.md")]
pub struct Savina;
/// Runs the examples on the page of common questions as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/faq.md")]
pub struct Faq;
/// Runs the programs in the guide to patterns as documentation tests.
#[cfg(all(doctest, feature = "sim"))]
#[doc = include_str!("../../../docs/patterns.md")]
pub struct Patterns;
/// Runs the examples in the guide to testing as documentation tests.
#[cfg(all(doctest, feature = "sim"))]
#[doc = include_str!("../../../docs/testing.md")]
pub struct Testing;
/// Runs the program in the guide for people who know Akka or Pekko as a documentation test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/from-pekko.md")]
pub struct FromPekko;
/// Runs the program in the guide for people who know Erlang as a documentation test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/from-erlang.md")]
pub struct FromErlang;
/// Runs the program in the guide for people who know Orleans as a documentation test.
#[cfg(all(doctest, feature = "cluster"))]
#[doc = include_str!("../../../docs/from-orleans.md")]
pub struct FromOrleans;
