//! The FizzBuzz pipeline: a generator, a worker, a heartbeat and a logger.
//!
//! ```text
//!   generator --- u64 ---> worker --- Message ---> logger
//!                            ^
//!   heartbeat --- beats -----+
//! ```
//!
//! The generator sends 0, 1, 2, ... as fast as there is room. The worker gives each number its name
//! ([`Message`]) and the logger counts the names. The heartbeat sends a beat every `rate_ms` and
//! stops the graph after `beats` of them. Then the generator ends, the messages in flight drain,
//! and the totals of all stages are equal.
//!
//! In the original of this pipeline, each beat makes the worker take about a full channel, twice
//! half of it. So the beats both pace and end the run: 30,000 beats of 2 ms are one minute, with
//! 9.65 thousand million messages. Here the beats only measure the time, `beats * rate_ms` of it,
//! and are counted. The worker works whenever there are numbers, so the figure is the throughput of
//! the stages.
//!
//! [`hand_written`] does the same work in plain loops over the same rings, with the same functions
//! and batches. The difference between the two is the price of the stages.

mod fizz_buzz;

mod config;
mod hand_written;
mod stages;

mod run;

#[cfg(test)]
mod tests;

pub use config::{Config, Error, Mode, Snapshot, Totals, Traffic};
pub use fizz_buzz::{Counts, Message};
pub use hand_written::hand_written;
pub use run::{Outcome, run};
