//! Statistics of an exhaustive search.

/// The extent to which a search has explored a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// The search has not ended.
    Unfinished,
    /// All orders of the steps have been explored.
    Everything,
    /// The maximum number of steps has ended some runs, or the maximum number of runs has ended the
    /// search.
    Bounded,
    /// Two runs differ: equal choices did not lead to equal enabled actions. The search ended at
    /// the step with the contained index, counted from 0. So the system is not deterministic.
    Diverged(usize),
}

/// Statistics of an exhaustive search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// Number of runs that have begun.
    pub runs: u64,
    /// Number of runs that were ended early, because they could only repeat what other runs have
    /// shown.
    pub redundant: u64,
    /// Number of runs that were ended at the maximum number of steps.
    pub cut: u64,
    /// The extent to which the search has explored the system.
    pub coverage: Coverage,
}

impl Statistics {
    pub(super) fn new() -> Self {
        Self {
            runs: 0,
            redundant: 0,
            cut: 0,
            coverage: Coverage::Unfinished,
        }
    }
}
