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

/// What a graph has done, all in all; from [`Running::join`](crate::Running::join)
/// or [`Running::abort`](crate::Running::abort).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// What was done.
    pub(super) totals: Sample,
    /// What went wrong.
    pub(super) failures: Vec<Failure>,
    /// Who had to end in the midst of things.
    pub(super) cut_short: Vec<String>,
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

    /// The stages that ended in a panic, in the order in which they did.
    pub fn failures(&self) -> &[Failure] {
        &self.failures
    }

    /// The stages that were dropped before they had ended, by [`Running::abort`](crate::Running::abort).
    pub fn cut_short(&self) -> &[String] {
        &self.cut_short
    }
}
