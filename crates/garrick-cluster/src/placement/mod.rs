//! Placements: records that all nodes of a cluster share.

mod table;

mod local;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use garrick_actor::Address;

pub use local::LocalPlacement;
#[cfg(feature = "nats")]
pub(crate) use table::Table;

/// Maximum length of a key in bytes.
pub const KEY_BYTES_MAX: usize = 255;

/// Maximum size of a value in bytes.
pub const VALUE_BYTES_MAX: usize = 64 << 10;

/// A record of a placement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Key: ASCII letters, digits, `-` and `_`, in parts that are separated by dots.
    pub key: Arc<str>,
    /// Revision of the latest change of the record.
    pub revision: u64,
    /// Content. `None` if the record was deleted.
    pub value: Option<Bytes>,
}

/// Result of a change of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The record was changed. Contains the new revision of the record.
    Changed(u64),
    /// The record did not have the expected revision. Nothing was changed.
    Refused,
    /// The change is invalid for all placements. Nothing was changed.
    Invalid(RecordError),
    /// The result is not known: the change may have been made, or may still be made later. Contains
    /// the reason.
    Unknown(Arc<str>),
}

/// A message from a placement to the actor that uses the placement.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum News {
    /// Answer to [`Placement::read`].
    Records {
        /// The records, with the oldest change first.
        records: Vec<Record>,
        /// Revision of the answer. All changes up to this revision are included, and no later
        /// changes.
        revision: u64,
        /// True if the answer includes all existing records. If so, a record that is not included
        /// was deleted.
        is_whole: bool,
    },
    /// Answer to [`Placement::change`].
    Outcome {
        /// Key of the record.
        key: Arc<str>,
        /// The number that the caller has passed in [`Change::ticket`].
        ticket: u64,
        /// Result of the change.
        outcome: Outcome,
    },
    /// A hint: it is possible that a record has changed.
    Hint,
}

/// A change of a record. The change is made only if the record has the expected revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Key of the record.
    pub key: Arc<str>,
    /// Revision that the record must have. 0 if it must not exist.
    pub expected: u64,
    /// New content. `None` deletes the record.
    pub value: Option<Bytes>,
    /// Number that the answer ([`News::Outcome`]) will contain.
    pub ticket: u64,
}

/// A request of a node, as a message to the actor of a placement.
pub(crate) enum Request {
    Read { since: u64, to: Address<News> },
    Change { change: Change, to: Address<News> },
    Watch(Address<News>),
}

/// Implemented by stores of records that all nodes of a cluster share. Each change contains the
/// revision that it expects. So if several nodes change a record at the same time, only one change
/// succeeds.
///
/// # Rules
/// - Each change has a revision, which is greater than the revisions of all earlier changes,
///   including those of other records. A revision is never 0.
/// - A change is made only if the record has the expected revision at that time. The result can be
///   [`Outcome::Unknown`]. It is also possible that no result ever arrives.
/// - [`Placement::read`] may answer with an older state, but each answer is a state that all
///   records have had at one time, and includes all changes up to its revision. An answer may never
///   come.
/// - Sooner or later, all reads include a change that was made. If a change was refused because of
///   another change, all reads sooner or later include that other change.
/// - No method blocks. Answers are messages, which can arrive in any order. A call in a turn takes
///   effect when the turn commits.
pub trait Placement: Send + Sync + 'static {
    /// Reads the records that were changed or deleted after the revision `since`. If `since` is 0,
    /// or if later deletions are no longer known, reads all records. The answer is
    /// [`News::Records`].
    fn read(&self, since: u64, to: &Address<News>);

    /// Changes a record. The answer is [`News::Outcome`].
    fn change(&self, change: Change, to: &Address<News>);

    /// Sends a [`News::Hint`] to `to` after changes of records, until `to` has stopped. A hint may
    /// be lost. One hint may announce many changes.
    fn watch(&self, to: &Address<News>);
}

/// Reason why a record cannot be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordError {
    /// The key does not have the form that [`Record::key`] describes.
    Key {
        /// The key, or its beginning if it is too long.
        key: String,
    },
    /// The value has more than [`VALUE_BYTES_MAX`] bytes.
    Value {
        /// Size of the value in bytes.
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
    /// Returns a [`RecordError`] if the key or the size of the value is not allowed.
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
