//! Stages that have not ended, each with the reason.

use std::fmt;

/// The reason why a stage has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Because {
    /// The stage has vetoed stopping the graph. The text is the reason that the stage gave.
    Vetoes(String),
    /// The stage is waiting for a condition. The text describes the condition.
    Waits(String),
    /// The stage is still working: its next step is due.
    Works,
    /// The stage did not answer within 200 milliseconds, because a step of a stage on its thread
    /// takes a long time or never returns.
    DoesNotAnswer,
}

/// A stage that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Straggler {
    /// Name of the stage.
    pub stage: String,
    /// Reason why the stage has not ended.
    pub because: Because,
}

impl fmt::Display for Straggler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" ", self.stage)?;
        match &self.because {
            Because::Vetoes(reason) => write!(f, "vetoes: {reason}"),
            Because::Waits(what) => write!(f, "is waiting for {what}"),
            Because::Works => f.write_str("is still working"),
            Because::DoesNotAnswer => f.write_str("did not answer in time"),
        }
    }
}
