//! Errors of a node.

use std::error::Error;
use std::fmt;

/// Reason why a node has not joined a cluster, or a service cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum JoinError {
    /// [`NodeName::new`](crate::NodeName::new) does not accept the name.
    Name {
        /// The name, or its beginning if it is too long.
        name: String,
    },
    /// The name of the service is too long.
    ServiceName {
        /// Length of the name in bytes.
        bytes: usize,
        /// Maximum length of the name of a service, in bytes.
        bytes_max: usize,
    },
    /// Another node has the name.
    Taken {
        /// The name that is taken.
        name: String,
    },
    /// The system of the node is shutting down.
    Closed,
    /// The node already uses entities: [`Entities::start`](crate::Entities::start) was called
    /// before, and the node has not left since.
    Started,
    /// The node tried to join in a turn of an actor or in a task, but this transport must block the
    /// thread to join.
    InTurn,
    /// The transport has failed.
    Transport {
        /// Description of the failure.
        why: String,
    },
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name { name } => write!(
                f,
                "{name:?} is not a valid name for a node: it must have 1 to 64 letters, digits, `-` or `_` \
                 of ASCII"
            ),
            Self::ServiceName { bytes, bytes_max } => write!(
                f,
                "the name of the service has {bytes} bytes: at most {bytes_max} are allowed"
            ),
            Self::Taken { name } => write!(f, "the name {name:?} belongs to another node"),
            Self::Closed => f.write_str("the system of the node is shutting down"),
            Self::Started => f.write_str(
                "the node uses entities already: start them once, and pass clones of `Entities` on",
            ),
            Self::InTurn => f.write_str(
                "the transport waits until the node has joined, and a turn of an actor or task \
                 must not wait: call it on another thread",
            ),
            Self::Transport { why } => f.write_str(why),
        }
    }
}

impl Error for JoinError {}
