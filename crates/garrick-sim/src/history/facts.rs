//! The facts that form the history of the calls in a simulation.

/// A fact: a client has called an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Called<Op> {
    /// Number that identifies the client.
    pub client: u64,
    /// The operation that the client has called.
    pub op: Op,
}

/// A fact: the latest call of a client has returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Returned<Ret> {
    /// Number that identifies the client.
    pub client: u64,
    /// The result that the operation has returned.
    pub ret: Ret,
}
