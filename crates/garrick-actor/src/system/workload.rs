//! What actors do, as far as it matters for their mailboxes.

/// What an actor does most of the time; chooses a mailbox by seed 001's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Workload {
    /// It waits for others: bounded at 10,000, and senders wait.
    IoBound,
    /// It computes: unbounded and chunked.
    CpuBound,
    /// Neither: unbounded, unless told otherwise.
    Mixed,
}
