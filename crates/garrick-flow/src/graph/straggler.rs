//! Stages that have not ended, each with the reason.

use std::error::Error;
use std::fmt;

use super::Running;

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
    /// The stage did not answer within 200 milliseconds. A step of this stage, or of another stage
    /// on its thread, is taking a long time or never returns.
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

/// The error returned by [`Running::join_timeout`](crate::Running::join_timeout) when a graph has
/// not stopped in time.
#[derive(Debug)]
pub struct Unended {
    /// The graph, which is still running.
    pub running: Box<Running>,
    /// The stages that have not ended, in the order in which they were added to the graph.
    pub stragglers: Vec<Straggler>,
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

impl fmt::Display for Unended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the graph has not ended")?;
        for (index, straggler) in self.stragglers.iter().enumerate() {
            write!(f, "{} {straggler}", if index == 0 { ":" } else { ";" })?;
        }
        Ok(())
    }
}

impl Error for Unended {}
