//! Stages that have not ended, and why.

use std::error::Error;
use std::fmt;

use super::Running;

/// Why a stage has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Because {
    /// It is against the end of the graph, for this reason.
    Vetoes(String),
    /// It waits for this.
    Waits(String),
    /// It has something to do.
    Works,
    /// It did not answer for a while: its step takes long, or never ends, or another stage's on the same thread.
    DoesNotAnswer,
}

/// A stage that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Straggler {
    /// Its name.
    pub stage: String,
    /// Why.
    pub because: Because,
}

/// The graph did not end in time; from [`Running::join_timeout`](crate::Running::join_timeout).
#[derive(Debug)]
pub struct Unended {
    /// The graph, which goes on.
    pub running: Box<Running>,
    /// Those that have not ended, in the order in which they were added to the graph.
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
