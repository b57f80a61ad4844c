//! Results of a graph that has stopped.

use super::sample::{ChannelSample, Sample, StageSample};

/// A stage that ended in a panic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Name of the stage.
    pub stage: String,
    /// Message of the panic.
    pub message: String,
}

/// The results of a graph that has stopped. Returned by [`Running::join`](crate::Running::join) and
/// [`Running::abort`](crate::Running::abort).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Final state and counters of all stages and channels.
    pub(super) totals: Sample,
    /// Stages that panicked.
    pub(super) failures: Vec<Failure>,
    /// Stages that were dropped before they had ended.
    pub(super) cut_short: Vec<String>,
}

impl Report {
    /// Returns the stages in the order in which they were added.
    pub fn stages(&self) -> &[StageSample] {
        &self.totals.stages
    }

    /// Returns the first stage with the given name, if there is one.
    pub fn stage(&self, name: &str) -> Option<&StageSample> {
        self.totals.stages.iter().find(|stage| stage.name == name)
    }

    /// Returns the channels in the order in which they were created.
    pub fn channels(&self) -> &[ChannelSample] {
        &self.totals.channels
    }

    /// Returns the stages that ended in a panic, in the order of the panics.
    pub fn failures(&self) -> &[Failure] {
        &self.failures
    }

    /// Returns the names of the stages that [`Running::abort`](crate::Running::abort) dropped
    /// before they had ended.
    pub fn cut_short(&self) -> &[String] {
        &self.cut_short
    }
}
