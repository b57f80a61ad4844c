//! Pipelines: stages that own the ends of zero-copy channels and are woken once a batch.
//!
//! A [`Graph`] is built of channels and stages, then started. A [`Stage`] is a state with a `step`: it looks
//! at its channel ends, does what can be done, and returns a [`Wait`] that says when the next step pays.
//! Each stage has a thread of its own, or shares one with the others of its [`Team`].
//!
//! ```text
//!    source              stage                    stage
//!   +--------+  channel +------------+  channel  +--------+
//!   | Sender |==========| Receiver   |           |        |
//!   +--------+          |     Sender |===========|Receiver|
//!                       +------------+           +--------+
//!     step: write a      step: map a batch         step: read a batch in place
//!     batch in place     from ring to ring
//!     Wait::free         Wait::readable            Wait::readable
//!                          .and(Wait::free)
//! ```
//!
//! # Waking
//!
//! Nothing polls. A stage that cannot go on tells the gates of its channels (`garrick_core::gate`) which count
//! it waits for, looks once more, and rests. The other end compares its count with that once a batch, and
//! the one batch that reaches it sends one message: at once if the two can run side by side, and when it has
//! nothing more to do, or some steps later, if the stage to be woken rested on the same core.
//!
//! # The end
//!
//! A stage that returns [`Wait::done`] is dropped, and its channel ends with it. A closed channel counts as
//! ready: its consumer is woken, takes what is left, and ends in turn; a producer whose consumer is gone
//! sees [`Sender::is_closed`]. So the end runs down the graph, and nothing in flight is lost.
//! [`Running::stop`] asks all stages whether the graph may end ([`Cx::veto`] says no); when all agree, the sources
//! end. A panic in a stage ends that stage, and the others in order, unless it is one that begins anew
//! ([`restarting`]).
//!
//! Stages in a cycle would wait for one another's end, so [`Graph::start`] refuses a cycle, unless one of its channels is
//! marked by [`Graph::feedback`]: then the loop ends when nothing goes round in it any more.
//!
//! # Examples
//!
//! ```
//! use garrick_flow::{Graph, stages};
//!
//! let mut graph = Graph::new();
//! let (numbers, numbers_in) = graph.channel::<u64>(1024)?;
//! let (squares, squares_in) = graph.channel::<u64>(1024)?;
//!
//! let (total, total_out) = std::sync::mpsc::channel();
//! let mut sum = 0;
//! graph.source("numbers", stages::produce(numbers, 0..1_000));
//! graph.stage("square", stages::map(numbers_in, squares, |n| n * n));
//! graph.stage("sum", stages::consume(squares_in, move |batch: &[u64]| {
//!     sum += batch.iter().sum::<u64>();
//!     let _ = total.send(sum);
//! }));
//!
//! let report = graph.start()?.join();
//! assert!(report.failures().is_empty());
//! assert_eq!(total_out.iter().last(), Some(332_833_500));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod quiet;

mod cache;
mod place;

mod vote;

mod wires;

mod post;

mod channel;

mod wiring;

mod wait;

mod timer;

mod roll_call;

mod feedback;

mod stage;

mod ends;

mod restart;

pub mod stages;

mod graph;

pub mod testing;

pub use channel::{
    AsyncReceiver, AsyncSender, Buffer, Peek, Poke, Receiver, Receivers, SendError, Sender,
    Senders, Slots, map_batch, map_batch_owned,
};
pub use ends::{WithEnds, with_ends};
pub use garrick_core::{backoff::Backoff, ring::CapacityError};
pub use graph::{
    Because, ChannelSample, Failure, Graph, Monitor, Report, Running, Sample, StageSample,
    StageState, StartError, Stopper, Straggler, Team, Unended,
};
pub use restart::{Restarting, Restarts, restarting};
pub use stage::{Cx, Stage};
pub use wait::{CONDITIONS_MAX, Wait};
pub use wiring::{Ends, Wiring};
