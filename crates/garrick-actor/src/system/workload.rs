//! Workloads of actors, which determine their default mailboxes.

/// The typical workload of an actor. The workload determines the actor's default mailbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Workload {
    /// The actor mostly waits for other actors or for I/O. Its mailbox has a capacity of 10,000
    /// messages, and senders wait when it is full.
    IoBound,
    /// The actor mostly computes. Its mailbox is unbounded.
    CpuBound,
    /// The actor waits and computes. Its mailbox is unbounded.
    Mixed,
}
