//! The interface of logs, which store the events of many journals.

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

/// Numbers of a log. Those that a log does not have are 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogSample {
    /// Number of files in which the events are.
    pub files: usize,
    /// Size of these files in bytes.
    pub bytes: u64,
    /// Number of files that were removed because their events were not needed or were copied.
    pub removed: u64,
    /// Number of events that were copied for that.
    pub copied: u64,
    /// Number of snapshots that could not be read, written or removed.
    pub notices: u64,
    /// True if the log must be opened again.
    pub is_broken: bool,
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
    /// Events that are older than the state before this one may be removed.
    ///
    /// # Errors
    /// Returns any error of the disk. Earlier snapshots and all events remain.
    fn save(
        &self,
        journal: JournalId,
        number: u64,
        kind: EventKind,
        state: &[u8],
    ) -> Result<(), JournalError>;

    /// Removes events that are not needed any more, if it is time. Called after each group. Errors
    /// are counted as notices.
    fn tend(&self);

    /// Returns true if the log must be opened again.
    fn is_broken(&self) -> bool;

    /// Returns the numbers of the log.
    fn sample(&self) -> LogSample;
}
