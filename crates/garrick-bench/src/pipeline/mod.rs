//! The FizzBuzz pipeline: a generator, a worker, a heartbeat and a logger.
//!
//! ```text
//!   generator --- u64 ---> worker --- Message ---> logger
//!                            ^
//!   heartbeat --- beats -----+
//! ```
//!
//! The generator sends 0, 1, 2, ... whenever its channel has room. The worker converts each number
//! into its name ([`Message`]), and the logger counts the names. The heartbeat sends a beat every
//! `rate_ms` milliseconds, and stops the graph after `beats` beats. Then the generator ends, and
//! the messages in flight are handled. So the generator, the worker and the logger have handled the
//! same number of messages at the end.
//!
//! The original of this pipeline is a lesson of the crate `steady_state`. In the original, the
//! worker waits for each beat, and then takes about as many numbers as a full channel contains,
//! half of them at a time. So the beats determine the speed and the duration of the run. For
//! example, 30,000 beats at intervals of 2 ms take one minute, in which 9.65 billion messages pass.
//! In this version, the worker only counts the beats, and the beats limit only the duration, which
//! is `beats * rate_ms`. The worker works whenever there are numbers, so the result is the
//! throughput of the stages.
//!
//! [`hand_written`] performs the same work in plain loops over the same rings, with the same
//! functions and batches. The difference between the pipeline and these loops is the cost of the
//! stages.

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
