//! The results of a pipeline that has stopped.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::{fmt, io};

use super::sample::{ChannelSample, Sample, StageSample};

/// A stage that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Name of the stage.
    pub stage: String,
    /// Message of the panic, or the reason why the graph ended the stage.
    pub message: String,
}

/// The results of a graph that has stopped. Returned by [`Running::join`](crate::Running::join) and
/// [`Running::abort`](crate::Running::abort).
///
/// If a stage has failed, and the report is dropped before [`Report::failures`] was called, the
/// failures are printed on standard error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Final state and counters of all stages and channels.
    pub(super) totals: Sample,
    /// Stages that failed.
    pub(super) failures: Failures,
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

    /// Returns the stages that failed, in the order of their failures.
    pub fn failures(&self) -> &[Failure] {
        // Relaxed: only the thread that drops the report reads the flag after this.
        self.failures.are_seen.store(true, Relaxed);
        &self.failures.all
    }

    /// Returns the names of the stages that had not ended when
    /// [`Running::abort`](crate::Running::abort) dropped them.
    pub fn cut_short(&self) -> &[String] {
        &self.cut_short
    }
}

/// The failures of a graph. `Drop` prints the failures, unless the program has read them.
#[derive(Default)]
pub(super) struct Failures {
    all: Vec<Failure>,
    /// True if the program has read the failures.
    are_seen: AtomicBool,
}

impl Failures {
    pub(super) fn new(all: Vec<Failure>) -> Self {
        Self {
            all,
            are_seen: AtomicBool::new(false),
        }
    }

    /// Returns a line for each failure, or nothing if the program has read the failures.
    fn unseen(&self) -> String {
        if self.are_seen.load(Relaxed) {
            return String::new();
        }
        let line = |Failure { stage, message }: &Failure| {
            format!("garrick: the stage {stage:?} of a pipeline failed: {message}\n")
        };
        self.all.iter().map(line).collect()
    }
}

impl Drop for Failures {
    fn drop(&mut self) {
        let _ = io::stderr().write_all(self.unseen().as_bytes());
    }
}

impl Clone for Failures {
    /// Copies the failures. From now on, only the new copy prints the failures, and only if the
    /// program does not read the failures from this copy.
    fn clone(&self) -> Self {
        let are_seen = self.are_seen.swap(true, Relaxed);
        Self {
            all: self.all.clone(),
            are_seen: AtomicBool::new(are_seen),
        }
    }
}

impl PartialEq for Failures {
    fn eq(&self, other: &Self) -> bool {
        self.all == other.all
    }
}

impl Eq for Failures {}

impl fmt::Debug for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.all.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let failure = Failure {
            stage: "square".to_owned(),
            message: "too large".to_owned(),
        };
        Report {
            totals: Sample {
                stages: Vec::new(),
                channels: Vec::new(),
            },
            failures: Failures::new(vec![failure]),
            cut_short: Vec::new(),
        }
    }

    #[test]
    fn failures_are_printed_unless_they_were_looked_at() {
        let report = report();
        let line = "garrick: the stage \"square\" of a pipeline failed: too large\n";
        assert_eq!(report.failures.unseen(), line);
        assert_eq!(report.failures().len(), 1);
        assert_eq!(report.failures.unseen(), "");
        assert_eq!(Failures::default().unseen(), "");
    }

    #[test]
    fn only_one_of_two_copies_is_printed() {
        let first = report();
        let second = first.clone();
        assert_eq!(first, second);
        assert_eq!(first.failures.unseen(), "");
        assert_ne!(second.failures.unseen(), "");
        assert_eq!(second.failures().len(), 1);
        assert_eq!(second.failures.unseen(), "");
    }
}
