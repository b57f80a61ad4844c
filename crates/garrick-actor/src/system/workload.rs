//! Workloads of actors.

/// The typical workload of an actor. The workload determines the mailbox that
/// [`Mailbox::default`](crate::mailbox::Mailbox) or
/// [`Mailbox::for_workload`](crate::mailbox::Mailbox::for_workload) creates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Workload {
    /// The actor mostly waits for other actors or for I/O. The mailbox has a capacity of 10,000
    /// messages, and senders wait when it is full.
    IoBound,
    /// The actor mostly computes. The mailbox is unbounded.
    CpuBound,
    /// The actor waits and computes. The mailbox is unbounded.
    Mixed,
}
