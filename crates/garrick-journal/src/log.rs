//! The interface of logs, which store the events of many journals.

use std::sync::Arc;

use crate::error::JournalError;
use crate::event::EventKind;
use crate::group::{Group, JournalId};

/// Number of bytes of payloads from which on [`Log::read`] returns no more events.
pub const READ_BYTES: usize = 256 << 10;

/// The state of a journal after an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Number of the event.
    pub number: u64,
    /// Type and version of the state.
    pub kind: EventKind,
    /// The state.
    pub payload: Vec<u8>,
}

/// The beginning of the reading of a journal. [`Log::start`] returns it.
#[derive(Debug)]
pub struct Start {
    /// The journal.
    pub journal: JournalId,
    /// Number of the newest event, or 0 if there is none.
    pub newest: u64,
    /// Number of the oldest event that can be read. The number of the next event if there is none.
    pub oldest: u64,
    /// Newest snapshot that can be read.
    pub snapshot: Option<Snapshot>,
}

/// Events of a journal that a log has refused, because another writer has appended to the journal.
#[derive(Debug)]
pub struct Refused {
    /// The journal. None of its events in the group were appended.
    pub journal: JournalId,
    /// Usually a [`JournalError::Conflict`].
    pub error: JournalError,
}

/// Numbers of a log since it was opened. Those that a log does not have are 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogSample {
    /// Number of bytes that were written to the disk, also for snapshots and for compactions. Bytes
    /// of a write that has failed count as well.
    pub written: u64,
    /// Number of syncs of files and of the folder.
    pub syncs: u64,
    /// Number of files with events now.
    pub files: usize,
    /// Size of these files now, in bytes.
    pub bytes: u64,
    /// Number of compactions that have removed files.
    pub compactions: u64,
    /// Number of bytes that compactions have copied, because they were still needed.
    pub copied: u64,
    /// Number of snapshots that were saved.
    pub saved: u64,
    /// Number of notices so far: see [`Log::take_notices`].
    pub notices: u64,
    /// Text of the newest notice.
    pub notice: Option<Arc<str>>,
    /// True if the log must be opened again.
    pub is_broken: bool,
    /// Text of the error that has broken the log.
    pub cause: Option<Arc<str>>,
}

/// Implemented by stores of events, for example by [`SegmentLog`](crate::SegmentLog) in a mutex. A
/// [`Journal`](crate::Journal) uses any of them.
///
/// All methods may wait for the disk or for a server. A log must be as it was before a call that
/// returns an error, except after [`JournalError::Broken`]. If a call panics, the journal does not
/// know what was appended, and uses the log no more if [`Log::is_broken`] returns true.
///
/// One thread at a time calls [`Log::append`], [`Log::save`] and [`Log::tend`]. Other threads may
/// read meanwhile.
pub trait Log: Send + Sync + 'static {
    /// Begins to read the journal with a name. A journal that does not exist has no events.
    ///
    /// If `waits` is false, the caller must not be held up: returns `None` if another thread uses
    /// the log, if there is much to read, or if a server must be asked.
    ///
    /// # Errors
    /// Returns [`JournalError::Name`] if the name is not accepted by
    /// [`check_name`](crate::check_name), [`JournalError::Broken`] if the newest events may be
    /// unknown, [`JournalError::Damaged`] if no snapshot can be read and the events that they cover
    /// were removed, and any error of the disk.
    fn start(&self, name: &str, waits: bool) -> Result<Option<Start>, JournalError>;

    /// Adds the next events of a journal to `events`, from the event with the number `from` on.
    /// Adds at least one event if there is one, and none after [`READ_BYTES`].
    ///
    /// # Errors
    /// Returns [`JournalError::Damaged`] if an event is not as it was written, and any error of the
    /// disk.
    fn read(&self, journal: JournalId, from: u64, events: &mut Group) -> Result<(), JournalError>;

    /// Appends the events of a group, and makes them durable. After a crash, all events of a journal
    /// in the group are in the log or none.
    ///
    /// Returns the journals to which another writer has appended. Their events were not appended,
    /// and those of the other journals were.
    ///
    /// # Errors
    /// After an error, no event of the group is in the log, except after [`JournalError::Broken`].
    fn append(&self, group: &Group) -> Result<Vec<Refused>, JournalError>;

    /// Saves the state of a journal after the event with the number `number`, which is in the log.
    /// Events that are older than the state before this one may be removed. An error is a notice:
    /// earlier snapshots and all events remain.
    fn save(&self, journal: JournalId, number: u64, kind: EventKind, state: &[u8]);

    /// Removes events that are not needed any more, if it is time. Called after each group. Errors
    /// are notices.
    fn tend(&self);

    /// Returns true if the log must be opened again.
    fn is_broken(&self) -> bool;

    /// Returns the numbers of the log. If `waits` is false, returns `None` while another thread uses
    /// the log.
    fn sample(&self, waits: bool) -> Option<LogSample>;

    /// Takes the errors that have lost nothing, oldest first: snapshots that could not be read,
    /// written or removed, and compactions. Keeps at most 64 errors.
    fn take_notices(&self) -> Vec<JournalError>;
}
