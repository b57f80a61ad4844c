//! Errors of services and names.

use std::fmt;

use garrick_actor::NoReply;

use super::record::{CALLS_MAX, INSTANCES_MAX, NAMES_MAX, SERVICES_MAX};
use crate::name::NodeName;

/// Reason why an actor cannot be offered as a service, or a service cannot be found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServiceError {
    /// The name of the key is not allowed.
    Key {
        /// The name that is not allowed.
        name: String,
    },
    /// This node already uses the key with a different Rust type of messages. The two types have
    /// the same name in the wire format.
    Message {
        /// Name of the key.
        key: String,
    },
    /// This node already offers 1,024 actors under the key.
    Instances {
        /// Name of the key.
        key: String,
    },
    /// This node already offers actors under 1,024 keys.
    Keys,
    /// The node has left, its system is shutting down, or there was no answer in time.
    NoAnswer(NoReply),
}

impl From<NoReply> for ServiceError {
    fn from(none: NoReply) -> Self {
        Self::NoAnswer(none)
    }
}

impl fmt::Display for ServiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key { name } => write!(
                f,
                "{name:?} is not a valid name for a key: it must have 1 to 64 letters, digits, `-` or `_` of \
                 ASCII"
            ),
            Self::Message { key } => write!(
                f,
                "the key {key} is used with another type of messages on this node"
            ),
            Self::Instances { key } => write!(
                f,
                "this node serves {INSTANCES_MAX} actors under the key {key} already, which is the \
                 maximum"
            ),
            Self::Keys => write!(
                f,
                "this node serves under {SERVICES_MAX} keys already, which is the maximum"
            ),
            Self::NoAnswer(none) => write!(f, "the directory of the node did not answer: {none}"),
        }
    }
}

impl std::error::Error for ServiceError {}

/// Reason why an actor cannot be registered under a name, or a name cannot be looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NameError {
    /// The name is not allowed.
    Name {
        /// The name that is not allowed.
        name: String,
    },
    /// Another actor has the name.
    Taken {
        /// The name that is taken.
        name: String,
        /// The node of the actor that has the name.
        node: NodeName,
    },
    /// The actor has stopped, or was unregistered, before the name was assigned to it.
    Ended {
        /// The name that was requested for the actor.
        name: String,
    },
    /// This node has already registered 1,024 names.
    Names,
    /// Already 1,024 calls wait until the actor gets the name, because this node cannot reach the
    /// records of the names. The earlier calls continue to wait.
    Calls {
        /// The name that was requested for the actor.
        name: String,
    },
    /// No actor has the name.
    Unknown {
        /// The name that was looked up.
        name: String,
    },
    /// The actor that has the name receives another type of messages.
    Message {
        /// The name that was looked up.
        name: String,
        /// The node of the actor that has the name.
        node: NodeName,
    },
    /// The node has left, its system is shutting down, or there was no answer in time.
    NoAnswer(NoReply),
}

impl From<NoReply> for NameError {
    fn from(none: NoReply) -> Self {
        Self::NoAnswer(none)
    }
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name { name } => write!(
                f,
                "{name:?} is not a valid name for an actor: it must have 1 to 64 letters, digits, `-` or `_` \
                 of ASCII"
            ),
            Self::Taken { name, node } => {
                write!(f, "the name {name} belongs to an actor of the node {node}")
            }
            Self::Ended { name } => write!(
                f,
                "the actor has stopped, or has given the name {name} up, before it had it"
            ),
            Self::Names => write!(
                f,
                "this node has registered {NAMES_MAX} names already, which is the maximum"
            ),
            Self::Calls { name } => write!(
                f,
                "{CALLS_MAX} calls wait for the name {name} already, which is the maximum: the records of the \
                 names cannot be reached"
            ),
            Self::Unknown { name } => write!(f, "no actor has the name {name}"),
            Self::Message { name, node } => write!(
                f,
                "the actor {name} of the node {node} has another type of messages"
            ),
            Self::NoAnswer(none) => write!(f, "the directory of the node did not answer: {none}"),
        }
    }
}

impl std::error::Error for NameError {}
