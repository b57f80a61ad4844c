//! Kinds of entities.

use std::fmt;
use std::marker::PhantomData;

use garrick_actor::mailbox::CapacityError;

use crate::name::NodeName;

/// Maximum length of the key of an entity, in bytes.
pub const ENTITY_KEY_BYTES_MAX: usize = 255;

/// A kind of entities, with the type of their messages. Usually a constant.
///
/// # Examples
/// ```
/// use garrick_cluster::{Kind, Wire};
///
/// #[derive(Wire)]
/// #[wire(name = "bank.Order")]
/// enum Order {
///     Deposit(u64),
/// }
///
/// const ACCOUNT: Kind<Order> = Kind::new("account");
/// assert_eq!(ACCOUNT.name(), "account");
/// ```
pub struct Kind<M> {
    name: &'static str,
    message: PhantomData<fn(M) -> M>,
}

impl<M> Kind<M> {
    /// Creates the kind with a name: 1 to 64 ASCII letters, digits, `-` and `_`. Other names are
    /// refused when the kind is used.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            message: PhantomData,
        }
    }

    /// Returns the name of the kind.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }
}

/// Checks the name of a kind.
pub(super) fn check_kind(name: &str) -> Result<(), EntityError> {
    if NodeName::is_allowed(name) {
        return Ok(());
    }
    Err(EntityError::Kind { name: name.into() })
}

/// Checks the key of an entity.
pub(super) fn check_key(key: &str) -> Result<(), EntityError> {
    let bytes = key.len();
    if (1..=ENTITY_KEY_BYTES_MAX).contains(&bytes) {
        return Ok(());
    }
    Err(EntityError::Key { bytes })
}

impl<M> Clone for Kind<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Kind<M> {}

impl<M> fmt::Debug for Kind<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kind({:?})", self.name)
    }
}

/// Reason why an entity or its kind cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EntityError {
    /// The name of the kind is not allowed.
    Kind {
        /// The name that is not allowed.
        name: String,
    },
    /// The key is empty or too long.
    Key {
        /// Length of the key in bytes.
        bytes: usize,
    },
    /// This node already uses the kind with another type of messages.
    Message {
        /// Name of the kind.
        kind: String,
    },
    /// This node already runs entities of the kind.
    Hosted {
        /// Name of the kind.
        kind: String,
    },
    /// The number of shards is 0 or more than 1,024.
    Shards {
        /// The number of shards that the program has specified.
        shards: u32,
    },
    /// The range of versions starts at 0, or does not contain the version that is written.
    Versions {
        /// Oldest version of the kind that the node can read.
        min: u32,
        /// Newest version of the kind that the node can read.
        max: u32,
        /// Version of the kind that the node writes.
        writes: u32,
    },
    /// The capacity of the entities' mailboxes is 0.
    Capacity,
    /// This node already uses 256 kinds.
    Kinds,
    /// The node has left, or its system is shutting down.
    Closed,
}

impl fmt::Display for EntityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind { name } => write!(
                f,
                "{name:?} is not a valid name for a kind: it must have 1 to 64 letters, digits, `-` or `_` \
                 of ASCII"
            ),
            Self::Key { bytes } => write!(
                f,
                "a key of {bytes} bytes: it must have 1 to {ENTITY_KEY_BYTES_MAX}"
            ),
            Self::Message { kind } => write!(
                f,
                "the kind {kind} is used with another type of messages on this node"
            ),
            Self::Hosted { kind } => {
                write!(f, "this node runs entities of the kind {kind} already")
            }
            Self::Shards { shards } => {
                write!(f, "{shards} shards: a kind must have 1 to 1024")
            }
            Self::Versions { min, max, writes } => write!(
                f,
                "the versions {min} to {max}, of which {writes} is written: it must be one of \
                 them, and the oldest one must be at least 1"
            ),
            Self::Capacity => CapacityError.fmt(f),
            Self::Kinds => f.write_str("this node uses 256 kinds already, which is the maximum"),
            Self::Closed => f.write_str("the node has left, or its system is shutting down"),
        }
    }
}

impl std::error::Error for EntityError {}
