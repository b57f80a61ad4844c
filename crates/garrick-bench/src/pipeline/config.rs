//! What the pipeline is told, and what it tells.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use garrick_flow::{CapacityError, ChannelSample, Failure, StartError};

use super::Counts;

/// How the worker handles a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// From ring to ring, in place on both sides.
    ZeroCopy,
    /// Out of the ring into a buffer of its own, and from there into the next ring.
    DoubleBuffer,
}

/// What the pipeline is to do.
#[derive(Debug, Clone)]
pub(crate) struct Config<'a> {
    /// The time from beat to beat, in milliseconds.
    pub(crate) rate_ms: u64,
    /// How many beats it lasts.
    pub(crate) beats: u64,
    /// How the worker works.
    pub(crate) mode: Mode,
    /// The slots of each channel.
    pub(crate) capacity: usize,
    /// Ends it after so many seconds, if that comes before the last beat.
    pub(crate) seconds: Option<f64>,
    /// Whether all stages share one thread.
    pub(crate) one_core: bool,
    /// Ends it in order when it becomes true.
    pub(crate) stop: &'a AtomicBool,
}

/// What the pipeline has done so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Snapshot {
    /// Since it began.
    pub(crate) elapsed: Duration,
    /// Numbers that the generator sent.
    pub(crate) generated: u64,
    /// Beats that the worker saw.
    pub(crate) heartbeats: u64,
    /// What the logger counted.
    pub(crate) counts: Counts,
}

/// What the pipeline has done, all in all. In a run that ends in order, all counts of messages are equal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// From the start to the end of the last stage.
    pub(crate) elapsed: Duration,
    /// Numbers that the generator sent.
    pub(crate) generated: u64,
    /// Beats that the worker saw.
    pub(crate) heartbeats: u64,
    /// Numbers that the worker took.
    pub(crate) values: u64,
    /// Messages that the worker sent.
    pub(crate) messages: u64,
    /// What the logger counted.
    pub(crate) counts: Counts,
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
    /// Whether each stage counted the same.
    pub(crate) fn agree(&self) -> bool {
        [self.values, self.messages, self.counts.total()] == [self.generated; 3]
    }

    /// Messages through the whole pipeline, a second.
    pub(crate) fn rate(&self) -> f64 {
        self.counts.total() as f64 / self.elapsed.as_secs_f64()
    }
}

/// What went through a channel, all in all.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Traffic {
    /// What the channel is called.
    pub(crate) name: String,
    /// The short name of the type of its messages.
    pub(crate) message: &'static str,
    /// How many messages it holds.
    pub(crate) capacity: u64,
    /// How many were taken.
    pub(crate) total: u64,
    /// How many a second.
    pub(crate) rate: f64,
    /// The share of it that was full, 0 to 1, on the average, if the run was long enough to say so.
    pub(crate) fill: Option<f64>,
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
pub(crate) enum Error {
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
