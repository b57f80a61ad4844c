//! The FizzBuzz pipeline: a generator, a worker, a heartbeat and a logger.
//!
//! ```text
//!   generator --- u64 ---> worker --- Message ---> logger
//!                            ^
//!   heartbeat --- beats -----+
//! ```
//!
//! The generator sends 0, 1, 2, ... as fast as there is room. The worker calls each number by its name
//! ([`Message`]) and the logger counts the names. The heartbeat sends a beat every `rate_ms`; after `beats`
//! of them it stops the graph: the generator ends, what is in flight drains, and the totals of all stages
//! are equal.
//!
//! Where this pipeline comes from, each beat lets the worker take about a full channel, twice half of it, so
//! that the beats both pace and end the run: 30,000 beats of 2 ms are one minute, with 9.65 thousand million
//! messages. Here the beats only measure the time, `beats * rate_ms` of it, and are counted: the worker works
//! whenever there is something to do, and so the figure is what the stages can do.
//!
//! [`hand_written`] does the same work in plain loops over the same rings, with the same functions and
//! batches: what is lost against it is the price of the stages.

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
