//! Stages that have not ended, each with the reason.

use std::error::Error;
use std::fmt;

use super::Running;

/// The reason why a stage has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Because {
    /// The stage vetoes that the graph stops, for this reason.
    Vetoes(String),
    /// The stage waits for this.
    Waits(String),
    /// The stage has something to do.
    Works,
    /// The stage did not answer in time. Its own step, or the step of another stage on its thread,
    /// takes long or never returns.
    DoesNotAnswer,
}

/// A stage that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Straggler {
    /// Name of the stage.
    pub stage: String,
    /// Reason why it has not ended.
    pub because: Because,
}

/// Error of a graph that did not stop in time. Returned by
/// [`Running::join_timeout`](crate::Running::join_timeout).
#[derive(Debug)]
pub struct Unended {
    /// The graph, which goes on.
    pub running: Box<Running>,
    /// Stages that have not ended, in the order in which they were added to the graph.
    pub stragglers: Vec<Straggler>,
}

impl fmt::Display for Straggler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" ", self.stage)?;
        match &self.because {
            Because::Vetoes(reason) => write!(f, "vetoes: {reason}"),
            Because::Waits(what) => write!(f, "waits for {what}"),
            Because::Works => f.write_str("works"),
            Because::DoesNotAnswer => f.write_str("does not answer"),
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
