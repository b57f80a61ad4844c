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
    /// How often it was started again after a panic; see [`restarting`](crate::restarting).
    pub restarts: u64,
    /// What the last panic said that it was started again after.
    pub last_panic: Option<String>,
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

impl ChannelTotals {
    /// Messages sent and not taken.
    pub fn left(&self) -> u64 {
        self.sent - self.taken
    }
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

/// What a graph has done, all in all; from [`Running::join`](crate::Running::join)
/// or [`Running::abort`](crate::Running::abort).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// What was done.
    pub(super) totals: Totals,
    /// What went wrong.
    pub(super) failures: Vec<Failure>,
    /// Who had to end in the midst of things.
    pub(super) cut_short: Vec<String>,
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

    /// The stages that ended in a panic, in the order in which they did.
    pub fn failures(&self) -> &[Failure] {
        &self.failures
    }

    /// The stages that were dropped before they had ended, by [`Running::abort`](crate::Running::abort).
    pub fn cut_short(&self) -> &[String] {
        &self.cut_short
    }
}
