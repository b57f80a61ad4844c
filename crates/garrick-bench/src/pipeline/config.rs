//! What the pipeline is told, and what it tells.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use garrick_flow::{CapacityError, ChannelSample, Failure, StartError};

use super::Counts;

/// How the worker handles a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// From ring to ring, in place on both sides.
    ZeroCopy,
    /// Out of the ring into a buffer of its own, and from there into the next ring.
    DoubleBuffer,
}

/// A run that is asked for.
#[derive(Debug, Clone)]
pub struct Config<'a> {
    /// The time from beat to beat, in milliseconds.
    pub rate_ms: u64,
    /// How many beats it lasts.
    pub beats: u64,
    /// How the worker works.
    pub mode: Mode,
    /// The slots of each channel.
    pub capacity: usize,
    /// Ends it after so many seconds, if that comes before the last beat.
    pub seconds: Option<f64>,
    /// All stages share one thread.
    pub one_core: bool,
    /// Ends it in order when it becomes true.
    pub stop: &'a AtomicBool,
}

/// Counts of a run that is under way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Since it began.
    pub elapsed: Duration,
    /// Numbers that the generator sent.
    pub generated: u64,
    /// Beats that the worker saw.
    pub heartbeats: u64,
    /// Counts of the logger.
    pub counts: Counts,
}

/// Counts of a run that has ended. In a run that ends in order, all counts of messages are equal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// From the start to the end of the last stage.
    pub elapsed: Duration,
    /// Numbers that the generator sent.
    pub generated: u64,
    /// Beats that the worker saw.
    pub heartbeats: u64,
    /// Numbers that the worker took.
    pub values: u64,
    /// Messages that the worker sent.
    pub messages: u64,
    /// Counts of the logger.
    pub counts: Counts,
}

impl Config<'_> {
    /// How long it is to last.
    pub(super) fn duration(&self) -> Duration {
        let beats = Duration::from_millis(self.rate_ms.saturating_mul(self.beats));
        let seconds = self
            .seconds
            .map(|seconds| Duration::try_from_secs_f64(seconds.max(0.0)));
        // More seconds than there are in a duration are as good as none.
        seconds
            .and_then(Result::ok)
            .map_or(beats, |seconds| beats.min(seconds))
    }

    /// Whether it was told to stop.
    pub(super) fn is_stopped(&self) -> bool {
        // Relaxed: nothing else is read on the strength of it.
        self.stop.load(Relaxed)
    }
}

impl Totals {
    /// Tells whether each stage counted the same.
    pub fn agree(&self) -> bool {
        [self.values, self.messages, self.counts.total()] == [self.generated; 3]
    }

    /// Returns messages through the whole pipeline, a second.
    pub fn rate(&self) -> f64 {
        self.counts.total() as f64 / self.elapsed.as_secs_f64()
    }
}

/// Traffic of a channel, all in all.
#[derive(Debug, Clone, PartialEq)]
pub struct Traffic {
    /// The channel's name.
    pub name: String,
    /// The short name of the type of its messages.
    pub message: &'static str,
    /// How many messages it holds.
    pub capacity: u64,
    /// How many were taken.
    pub total: u64,
    /// How many a second.
    pub rate: f64,
    /// The share of it that was full, 0 to 1, on the average, if the run was long enough to say so.
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

/// Why the pipeline did not run to its end.
#[derive(Debug)]
pub enum Error {
    /// The capacity is impossible.
    Capacity(CapacityError),
    /// There was no thread for a stage.
    Start(StartError),
    /// A stage failed.
    Stage(Failure),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capacity(error) => write!(f, "the channels cannot be made: {error}"),
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
