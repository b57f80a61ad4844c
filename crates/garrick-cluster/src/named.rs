//! Names of addresses. A message contains the name instead of the address, so no node needs a table
//! entry for the address.

use std::sync::Arc;

/// Name of an address: identifies the entity or service to which the address leads. Messages
/// contain the name instead of the address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Named {
    /// The entity with the given kind and key.
    Entity { kind: Arc<str>, key: Arc<str> },
    /// A service of a node.
    Service { node: Arc<str>, name: Arc<str> },
}

/// Name of an address, and the cluster in which the name is valid. Messages contain this name
/// instead of the address.
#[derive(Debug)]
pub(crate) struct Origin {
    /// Hash of the name of the cluster. A node of another cluster cannot use the name of the
    /// address.
    pub(crate) cluster: u64,
    pub(crate) named: Named,
}
