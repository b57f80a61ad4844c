//! Placements: the records that all nodes of a cluster share, and agree about.

mod local;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use garrick_actor::Address;

pub use local::LocalPlacement;

/// Maximum length of a key in bytes.
pub const KEY_BYTES_MAX: usize = 255;

/// Maximum size of a value in bytes.
pub const VALUE_BYTES_MAX: usize = 64 << 10;

/// A record of a placement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Key: letters, digits, `-` and `_` of ASCII, in parts that are separated by dots.
    pub key: Arc<str>,
    /// Number of the change that has made the record as it is.
    pub revision: u64,
    /// Content. `None` if the record was deleted.
    pub value: Option<Bytes>,
}

/// Result of a change of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The record was changed. Contains the revision that it has now.
    Changed(u64),
    /// The record did not have the expected revision. Nothing was changed.
    Refused,
    /// No placement accepts the change. Nothing was changed.
    Invalid(RecordError),
    /// The change may have taken place or not, or may take place later. Contains the reason.
    Unknown(Arc<str>),
}

/// A message of a placement to the actor that uses it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum News {
    /// Answer to [`Placement::read`].
    Records {
        /// The records, with the oldest change first.
        records: Vec<Record>,
        /// All changes up to this revision are included, and no later ones.
        revision: u64,
        /// True if all records are included that exist. Others were deleted.
        is_whole: bool,
    },
    /// Answer to [`Placement::change`].
    Outcome {
        /// Key of the record.
        key: Arc<str>,
        /// The number that the caller has given.
        ticket: u64,
        /// The result.
        outcome: Outcome,
    },
    /// Some record was perhaps changed.
    Hint,
}

/// A change of a record, which takes place only if the record is as expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Key of the record.
    pub key: Arc<str>,
    /// Revision that the record must have. 0 if it must not exist.
    pub expected: u64,
    /// New content. `None` deletes the record.
    pub value: Option<Bytes>,
    /// Number that the answer contains.
    pub ticket: u64,
}

/// A request of a node, as a message to the actor of a placement.
pub(crate) enum Request {
    Read { since: u64, to: Address<News> },
    Change { change: Change, to: Address<News> },
    Watch(Address<News>),
}

/// Implemented by stores of records that all nodes of a cluster share. A record is changed by
/// comparison of its revision, so of several nodes that want to change it, one succeeds.
///
/// # Rules
/// - A change has a revision, which is greater than those of all changes before it, also of other
///   records. A revision is not 0.
/// - A change takes place only if the record has the expected revision then. Its result may be
///   [`Outcome::Unknown`], or may never come.
/// - [`Placement::read`] may answer with an older state, but each answer is a state that all
///   records have had at one time, and includes all changes up to its revision. An answer may never
///   come.
/// - A change that was refused or that has taken place is seen by all reads, sooner or later.
/// - No method waits. Answers are messages, and so they come in any order. A call in a turn takes
///   place when the turn commits.
pub trait Placement: Send + Sync + 'static {
    /// Reads the records that were changed after the revision `since`, with those that were
    /// deleted. If `since` is 0, or if deletions after it are not known any more, reads all
    /// records. The answer is [`News::Records`].
    fn read(&self, since: u64, to: &Address<News>);

    /// Changes a record. The answer is [`News::Outcome`].
    fn change(&self, change: Change, to: &Address<News>);

    /// Sends a [`News::Hint`] after changes, as long as `to` has not stopped. A hint may be lost,
    /// and may stand for many changes.
    fn watch(&self, to: &Address<News>);
}

/// Reason why a record cannot be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordError {
    /// The key is not one that is described at [`Record::key`].
    Key {
        /// The key, or its beginning if it is too long.
        key: String,
    },
    /// The value has more than [`VALUE_BYTES_MAX`] bytes.
    Value {
        /// Number of bytes.
        bytes: usize,
    },
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key { key } => write!(
                f,
                "{key:?} is not a valid key for a record: it must have 1 to {KEY_BYTES_MAX} letters, \
                 digits, `-`, `_` or `.` of ASCII, and no empty part between dots"
            ),
            Self::Value { bytes } => write!(
                f,
                "a record of {bytes} bytes: it can have at most {VALUE_BYTES_MAX}"
            ),
        }
    }
}

impl std::error::Error for RecordError {}

impl Change {
    /// Checks the key and the size of the value.
    ///
    /// # Errors
    /// Returns [`RecordError`] if no placement accepts the change.
    pub fn check(&self) -> Result<(), RecordError> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        let is_part = |part: &str| !part.is_empty() && part.bytes().all(is_allowed);
        if self.key.len() > KEY_BYTES_MAX || !self.key.split('.').all(is_part) {
            return Err(RecordError::Key {
                key: self.key.chars().take(KEY_BYTES_MAX).collect(),
            });
        }
        let bytes = self.value.as_ref().map_or(0, Bytes::len);
        if bytes > VALUE_BYTES_MAX {
            return Err(RecordError::Value { bytes });
        }
        Ok(())
    }
}
