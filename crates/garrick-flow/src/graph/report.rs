//! What a graph has done.

use super::sample::{ChannelSample, Sample, StageSample};

/// A stage that ended in a panic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Its name.
    pub stage: String,
    /// What it said.
    pub message: String,
}

/// What a graph has done, all in all; from [`Running::join`](crate::Running::join).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// What was done.
    pub(super) totals: Sample,
    /// What went wrong.
    pub(super) failures: Vec<Failure>,
}

impl Report {
    /// The stages in the order in which they were added.
    pub fn stages(&self) -> &[StageSample] {
        &self.totals.stages
    }

    /// The first stage of that name.
    pub fn stage(&self, name: &str) -> Option<&StageSample> {
        self.totals.stages.iter().find(|stage| stage.name == name)
    }

    /// The channels in the order in which they were made.
    pub fn channels(&self) -> &[ChannelSample] {
        &self.totals.channels
    }

    /// The stages that panicked, in the order in which they did.
    pub fn failures(&self) -> &[Failure] {
        &self.failures
    }
}
