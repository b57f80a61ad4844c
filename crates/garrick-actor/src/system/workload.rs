//! The typical work of actors, as far as it matters for their mailboxes.

/// The typical work of an actor. Chooses the default mailbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Workload {
    /// The actor waits for others. Its mailbox is bounded at 10,000, and senders wait.
    IoBound,
    /// The actor computes. Its mailbox is unbounded and chunked.
    CpuBound,
    /// Neither. The mailbox is unbounded by default.
    Mixed,
}
