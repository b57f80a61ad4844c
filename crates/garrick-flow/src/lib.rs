//! Pipelines of stages that own the ends of zero-copy channels and are woken once per batch.
//!
//! Build a [`Graph`] of channels and stages, then start it. A [`Stage`] consists of a state and a
//! `step` function. A step checks the stage's channel ends, and does all work that is possible now.
//! Then it returns a [`Wait`], the condition for the next step. Each stage has its own thread, or
//! shares one with the other stages of its [`Team`].
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
//! No stage polls. Each channel has counters of the values sent and taken (`garrick_core::gate`). A
//! stage that has to wait registers with these counters how many values or free slots it needs.
//! Then the stage checks the channels again, and goes to sleep. The stage at the other end of a
//! channel compares its progress with the registered number once per batch. When a batch reaches
//! that number, the stage at the other end sends one wake-up message. If the two stages can run in
//! parallel, or share a thread, the message is sent immediately. If the waiting stage went to sleep
//! on another thread of the same core, the other stage first continues to work. Then the other
//! stage sends the message when it has nothing more to do, or has taken a few more steps.
//!
//! # Ending
//!
//! A stage that returns [`Wait::done`] is dropped together with its channel ends, which closes its
//! channels. A closed channel counts as ready: the receiving stage is woken, takes the remaining
//! values, and then ends as well. A sending stage checks [`Sender::is_closed`] to detect that its
//! receiver is gone. So the stages end one after another along the graph, and no message in flight
//! is lost.
//!
//! [`Running::stop`] asks all stages whether the graph may stop. A stage can refuse with
//! [`Cx::veto`]. When all stages agree, the [sources](Graph::source) end, and the other stages
//! follow. If a stage panics, it ends, and then the other stages end in order. If a [`restarting`]
//! stage panics, it is restarted instead.
//!
//! Stages in a cycle would wait for one another forever. So [`Graph::start`] returns an error if
//! stages form a cycle, unless one of the cycle's channels is marked by [`Graph::feedback`]. Stages
//! in a cycle that contains a marked channel are called a loop. A loop stops when it contains no
//! more messages.
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

mod note;

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
pub use note::note;
pub use restart::{Restarting, Restarts, restarting};
pub use stage::{Cx, Stage};
pub use wait::{CONDITIONS_MAX, Wait};
pub use wiring::{Ends, Wiring};

/// Names by which `garrick-sim` finds stages and the kinds of their messages.
#[cfg(feature = "sim")]
#[doc(hidden)]
pub mod simulated {
    pub use crate::stage::{SIMULATED_STAGE, STEP, WAKE};
}
