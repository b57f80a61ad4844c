//! Errors of a log of events.

use std::error::Error;
use std::fmt::{self, Write as _};
use std::io;

/// Error of a log. An error never loses data that was appended successfully.
#[derive(Debug)]
#[non_exhaustive]
pub enum JournalError {
    /// An operation on a file has failed with an I/O error.
    Disk {
        /// Operation that has failed, for example `sync`.
        doing: &'static str,
        /// Name of the file, or of the folder.
        file: String,
        /// The I/O error.
        source: io::Error,
    },
    /// The disk is full.
    Full {
        /// Name of the file that could not be extended.
        file: String,
    },
    /// The number of an event does not follow the number of the newest event of the journal. The
    /// reason may be another writer, which has appended to the journal.
    Conflict {
        /// Name of the journal.
        journal: String,
        /// Number that the event must have.
        expected: u64,
        /// Number that the event has.
        found: u64,
    },
    /// The content of a file differs from what was written. The missing or wrong data may have been
    /// acknowledged.
    Damaged {
        /// Name of the file.
        file: String,
        /// Position of the damage in bytes.
        at: u64,
        /// Description of the damage.
        why: String,
    },
    /// The database of a log has returned an error.
    Engine {
        /// Operation that has failed, for example `begin a group in`.
        doing: &'static str,
        /// Name of the database, or of the stream on a NATS server.
        file: String,
        /// Error of the database.
        source: Box<dyn Error + Send + Sync>,
    },
    /// A file is not a log, or is a log of another version. Nothing was changed.
    Foreign {
        /// Name of the file.
        file: String,
        /// Description of what was found and what is expected.
        why: String,
    },
    /// The content of a row differs from what was written. The missing or wrong data may have been
    /// acknowledged.
    DamagedRow {
        /// Name of the database.
        file: String,
        /// Description of the row, for example `event 7 of the journal number 3`.
        row: String,
        /// Description of the damage.
        why: String,
    },
    /// An event, the events of a turn, a group, or a saved state is too large for the log.
    TooLarge {
        /// Words for the data that are too large, for example `an event` or `a group`.
        what: &'static str,
        /// Size in bytes.
        bytes: usize,
        /// Maximum size in bytes.
        limit: usize,
    },
    /// The name of a journal is not accepted.
    Name {
        /// The name that is not accepted.
        name: String,
        /// Rule that the name breaks.
        why: &'static str,
    },
    /// Another running entity has the same name.
    InUse {
        /// Name of the journal.
        journal: String,
    },
    /// An event or a saved state cannot be used, because the program does not know its kind, or
    /// because decoding or applying it fails. The later events are not applied.
    Event {
        /// Name of the journal with the event or the saved state.
        journal: String,
        /// Sequence number of the event, or of the event after which the state was saved.
        number: u64,
        /// Description of the error.
        why: String,
    },
    /// The state of an entity was not saved, because encoding it has panicked. The events are still
    /// in the log.
    Save {
        /// Name of the journal.
        journal: String,
        /// Sequence number of the event after which the state was to be saved.
        number: u64,
        /// Message of the panic.
        why: String,
    },
    /// [`DurableActor::due`](crate::DurableActor::due) has returned no message for an effect or a
    /// reminder.
    Due {
        /// Name of the journal.
        journal: String,
        /// Key of the effect or the reminder.
        key: String,
    },
    /// [`DurableActor::letter`](crate::DurableActor::letter) has returned no message for a letter,
    /// which is a message to another durable actor.
    Letter {
        /// Name of the journal.
        journal: String,
        /// Name of the receiver of the letter.
        to: String,
    },
    /// An event has a tag that only Garrick may use.
    Tag {
        /// Name of the journal.
        journal: String,
        /// The tag. Tags of users are less than 65,280.
        tag: u16,
    },
    /// The system that writes the log is shutting down.
    Closed,
    /// The log was opened for reading.
    ReadOnly,
    /// The log is broken: after an earlier error of the disk, it is unknown whether the events of a
    /// group are in the log. Open the log again.
    Broken,
}

impl JournalError {
    pub(crate) fn disk(doing: &'static str, file: &str, source: io::Error) -> Self {
        let file = file.to_owned();
        if source.kind() == io::ErrorKind::StorageFull {
            return Self::Full { file };
        }
        Self::Disk {
            doing,
            file,
            source,
        }
    }

    pub(crate) fn damaged(file: &str, at: u64, why: impl Into<String>) -> Self {
        Self::Damaged {
            file: file.to_owned(),
            at,
            why: why.into(),
        }
    }
}

/// Returns an error with its causes, as one line.
pub(crate) fn describe(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        // Writing to a string cannot fail.
        let _ = write!(text, ": {error}");
        cause = error.source();
    }
    text
}

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disk { doing, file, .. } => write!(f, "cannot {doing} {file:?}"),
            Self::Full { file } => write!(f, "no space is left on the disk to extend {file:?}"),
            Self::Conflict {
                journal,
                expected,
                found,
            } => write!(
                f,
                "the next event of the journal {journal:?} has the number {expected}, not {found}"
            ),
            Self::Damaged { file, at, why } => {
                write!(f, "{file:?} is damaged at byte {at}: {why}")
            }
            Self::Engine { doing, file, .. } => write!(f, "cannot {doing} {file:?}"),
            Self::Foreign { file, why } => write!(f, "cannot use {file:?} as a log: {why}"),
            Self::DamagedRow { file, row, why } => {
                write!(f, "{row} in {file:?} is damaged: {why}")
            }
            Self::TooLarge { what, bytes, limit } => {
                write!(f, "{what} may have at most {limit} bytes, not {bytes}")
            }
            Self::Name { name, why } => {
                write!(f, "{name:?} is not a valid name for a journal: {why}")
            }
            Self::InUse { journal } => {
                write!(f, "there is another entity with the name {journal:?}")
            }
            Self::Event {
                journal,
                number,
                why,
            } => write!(
                f,
                "event {number} of the journal {journal:?} cannot be applied: {why}"
            ),
            Self::Save {
                journal,
                number,
                why,
            } => write!(
                f,
                "the state after event {number} of the journal {journal:?} cannot be saved: {why}"
            ),
            Self::Due { journal, key } => write!(
                f,
                "the actor of the journal {journal:?} returns no message for the due key {key:?}"
            ),
            Self::Letter { journal, to } => write!(
                f,
                "the actor of the journal {journal:?} returns no message for a letter to {to:?}"
            ),
            Self::Tag { journal, tag } => write!(
                f,
                "an event of the journal {journal:?} has the tag {tag}: tags from 65280 on are \
                 reserved"
            ),
            Self::ReadOnly => write!(f, "the log was opened for reading"),
            Self::Closed => write!(f, "the system that writes the log is shutting down"),
            Self::Broken => write!(
                f,
                "the log is broken by an earlier error of the disk: open the log again"
            ),
        }
    }
}

impl Error for JournalError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Disk { source, .. } => Some(source),
            Self::Engine { source, .. } => Some(&**source),
            _ => None,
        }
    }
}
