//! Actors whose addresses travel as names, so that nothing is exported or held for them.

use std::sync::Arc;

/// Receiver that an address leads to, if the address travels as a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Named {
    /// The entity with the given kind and key.
    Entity { kind: Arc<str>, key: Arc<str> },
    /// A service of a node.
    Service { node: Arc<str>, name: Arc<str> },
}

/// Origin of a door, if its addresses travel as names.
#[derive(Debug)]
pub(crate) struct Origin {
    /// Identity of the cluster. A node of another cluster does not know the name.
    pub(crate) cluster: u64,
    pub(crate) named: Named,
}

impl Named {
    /// Returns the number of bytes of the name.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Entity { kind, key } => kind.len() + key.len(),
            Self::Service { node, name } => node.len() + name.len(),
        }
    }
}
