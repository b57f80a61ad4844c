//! Configuration and results of the pipeline.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use garrick_flow::{CapacityError, ChannelSample, Failure, StartError};

use super::Counts;

/// The method by which the worker handles a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Reads and writes messages in place, in the rings of both channels.
    ZeroCopy,
    /// Copies each batch from the first ring into a buffer, and writes the converted messages from
    /// there into the next ring.
    DoubleBuffer,
}

/// The configuration of a pipeline run.
#[derive(Debug, Clone)]
pub struct Config<'a> {
    /// Time between beats, in milliseconds.
    pub rate_ms: u64,
    /// Number of beats after which the run stops.
    pub beats: u64,
    /// The method by which the worker handles a batch.
    pub mode: Mode,
    /// Number of slots of each channel.
    pub capacity: usize,
    /// Time limit of the run in seconds, if there is one in addition to `beats`.
    pub seconds: Option<f64>,
    /// True if all stages share one thread.
    pub one_core: bool,
    /// Flag that stops the run in order when it becomes true.
    pub stop: &'a AtomicBool,
}

/// The counts of a running pipeline.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Time since the start of the pipeline.
    pub elapsed: Duration,
    /// Count of numbers that the generator has sent.
    pub generated: u64,
    /// Count of beats that the worker has received.
    pub heartbeats: u64,
    /// Counts of the names that the logger has received, by kind.
    pub counts: Counts,
}

/// The counts of a pipeline that has stopped. If it stopped in order, all counts of messages are
/// equal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Time from the start until the last stage has ended.
    pub elapsed: Duration,
    /// Count of numbers that the generator has sent.
    pub generated: u64,
    /// Count of beats that the worker has received.
    pub heartbeats: u64,
    /// Count of numbers that the worker has taken.
    pub values: u64,
    /// Count of messages that the worker has sent.
    pub messages: u64,
    /// Counts of the names that the logger has received, by kind.
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
    /// Returns true if all stages counted the same number of messages.
    pub fn agree(&self) -> bool {
        [self.values, self.messages, self.counts.total()] == [self.generated; 3]
    }

    /// Returns the number of messages per second through the whole pipeline.
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
    /// Number of messages taken per second.
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
    /// The system could not start a thread for a stage.
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
