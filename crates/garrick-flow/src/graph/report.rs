//! What a graph has done.

/// What a stage has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageTotals {
    /// Its name.
    pub name: String,
    /// Steps that it took.
    pub steps: u64,
    /// How often it went to rest, to be woken.
    pub rests: u64,
    /// Messages that it took, over all channels.
    pub messages_in: u64,
    /// Messages that it sent, over all channels.
    pub messages_out: u64,
}

/// What went through a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChannelTotals {
    /// The number of its slots.
    pub capacity: u64,
    /// Messages sent.
    pub sent: u64,
    /// Messages taken; never more than `sent`.
    pub taken: u64,
    /// The stage that sends, as an index into [`Totals::stages`], once it has done so.
    pub from: Option<usize>,
    /// The stage that takes, likewise.
    pub to: Option<usize>,
}

/// What a graph has done so far; from [`Running::totals`](crate::Running::totals).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Totals {
    /// The stages in the order in which they were added.
    pub stages: Vec<StageTotals>,
    /// The channels in the order in which they were made.
    pub channels: Vec<ChannelTotals>,
}

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
    pub(super) totals: Totals,
    /// What went wrong.
    pub(super) failures: Vec<Failure>,
}

impl Report {
    /// The stages in the order in which they were added.
    pub fn stages(&self) -> &[StageTotals] {
        &self.totals.stages
    }

    /// The first stage of that name.
    pub fn stage(&self, name: &str) -> Option<&StageTotals> {
        self.totals.stages.iter().find(|stage| stage.name == name)
    }

    /// The channels in the order in which they were made.
    pub fn channels(&self) -> &[ChannelTotals] {
        &self.totals.channels
    }

    /// The stages that panicked, in the order in which they did.
    pub fn failures(&self) -> &[Failure] {
        &self.failures
    }
}
