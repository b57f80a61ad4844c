//! Configuration and results of the pipeline.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use garrick_flow::{CapacityError, ChannelSample, Failure, StartError};

use super::Counts;

/// The method that the worker uses to handle a batch of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The worker reads and writes messages in place, in the ring buffers of its channels.
    ZeroCopy,
    /// The worker copies each batch of numbers from its input channel into a separate buffer. From
    /// this buffer, the worker reads the numbers, converts them, and writes the results into its
    /// output channel.
    DoubleBuffer,
}

/// The configuration of a pipeline run.
#[derive(Debug, Clone)]
pub struct Config<'a> {
    /// Time between two heartbeats, in milliseconds.
    pub rate_ms: u64,
    /// Maximum number of heartbeats. The run stops after the last one.
    pub beats: u64,
    /// The method that the worker uses to handle a batch of messages.
    pub mode: Mode,
    /// Number of slots of each channel except the channel of the heartbeats.
    pub capacity: usize,
    /// Time limit of the run in seconds. The run may stop earlier, after `beats` heartbeats. `None`
    /// if there is no time limit.
    pub seconds: Option<f64>,
    /// True if all stages share one thread.
    pub one_core: bool,
    /// Flag that stops the run when it becomes true. Numbers that were already generated are still
    /// handled.
    pub stop: &'a AtomicBool,
}

/// The message counts of a running pipeline at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Time since the start of the pipeline.
    pub elapsed: Duration,
    /// Count of numbers that the generator has sent.
    pub generated: u64,
    /// Count of heartbeats that the worker has received.
    pub heartbeats: u64,
    /// Counts of the FizzBuzz names that the logger has received, one count for each kind of name.
    pub counts: Counts,
}

/// The counts of a pipeline that has stopped. If no message was lost, `generated`, `values`,
/// `messages` and the total of `counts` are equal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Time from the start of the pipeline until its last stage has ended.
    pub elapsed: Duration,
    /// Count of numbers that the generator has sent.
    pub generated: u64,
    /// Count of heartbeats that the worker has received.
    pub heartbeats: u64,
    /// Count of numbers that the worker has taken.
    pub values: u64,
    /// Count of messages that the worker has sent.
    pub messages: u64,
    /// Counts of the FizzBuzz names that the logger has received, one count for each kind of name.
    pub counts: Counts,
}

impl Config<'_> {
    /// Returns the planned duration of the run.
    pub(super) fn duration(&self) -> Duration {
        let beats = Duration::from_millis(self.rate_ms.saturating_mul(self.beats));
        let seconds = self
            .seconds
            .map(|seconds| Duration::try_from_secs_f64(seconds.max(0.0)));
        // If the seconds are too many for a `Duration`, there is no limit.
        seconds
            .and_then(Result::ok)
            .map_or(beats, |seconds| beats.min(seconds))
    }

    /// Returns true if a stop was requested.
    pub(super) fn is_stopped(&self) -> bool {
        // Relaxed: no other data is read because of the flag.
        self.stop.load(Relaxed)
    }
}

impl Totals {
    /// Returns true if no message was lost: `generated`, `values`, `messages` and the total of
    /// `counts` are equal.
    pub fn agree(&self) -> bool {
        [self.values, self.messages, self.counts.total()] == [self.generated; 3]
    }

    /// Returns the number of messages per second that passed through the whole pipeline.
    pub fn rate(&self) -> f64 {
        self.counts.total() as f64 / self.elapsed.as_secs_f64()
    }
}

/// The total traffic of a channel during a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Traffic {
    /// Name of the channel.
    pub name: String,
    /// Short name of the type of the channel's messages.
    pub message: &'static str,
    /// Capacity of the channel, in messages.
    pub capacity: u64,
    /// Number of messages that were taken from the channel.
    pub total: u64,
    /// Average number of messages that were taken from the channel per second.
    pub rate: f64,
    /// Average share of the slots that held messages, from 0 to 1. `None` if the run was too short
    /// to measure it.
    pub fill: Option<f64>,
}

impl Traffic {
    pub(super) fn of(channel: &ChannelSample, elapsed: Duration, fill: Option<f64>) -> Self {
        let message = channel.message.rsplit("::").next();
        Self {
            name: channel.name.clone().unwrap_or_default(),
            message: message.unwrap_or(channel.message),
            capacity: channel.capacity,
            total: channel.taken,
            rate: channel.taken as f64 / elapsed.as_secs_f64(),
            fill,
        }
    }
}

/// The error returned when the pipeline cannot start, or when a stage fails.
#[derive(Debug)]
pub enum Error {
    /// The capacity of the channels is invalid.
    Capacity(CapacityError),
    /// The thread of a stage could not be started.
    Start(StartError),
    /// A stage failed.
    Stage(Failure),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capacity(error) => write!(f, "the channels cannot be created: {error}"),
            Self::Start(error) => write!(f, "the pipeline cannot start: {error}"),
            Self::Stage(failure) => {
                write!(
                    f,
                    "the stage \"{}\" failed: {}",
                    failure.stage, failure.message
                )
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Capacity(error) => Some(error),
            Self::Start(error) => Some(error),
            Self::Stage(_) => None,
        }
    }
}

impl From<CapacityError> for Error {
    fn from(error: CapacityError) -> Self {
        Self::Capacity(error)
    }
}

impl From<StartError> for Error {
    fn from(error: StartError) -> Self {
        Self::Start(error)
    }
}
