//! The interface of logs, which store the events of many journals.

use std::sync::Arc;

use crate::error::JournalError;
#[cfg(doc)]
use crate::event::Event;
use crate::event::EventKind;
use crate::group::{Group, JournalId};

/// Size of a group in bytes at which [`Log::read`] stops adding events.
pub const READ_BYTES: usize = 256 << 10;

/// The saved state of an entity after an event of its journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Sequence number of the event.
    pub number: u64,
    /// Type and version of the state.
    pub kind: EventKind,
    /// The encoded state.
    pub payload: Vec<u8>,
}

/// The data with which reading a journal begins, as returned by [`Log::start`].
#[derive(Debug)]
pub struct Start {
    /// Number that identifies the journal in the open log.
    pub journal: JournalId,
    /// Sequence number of the newest event of the journal, or 0 if there is none.
    pub newest: u64,
    /// Sequence number of the oldest event that can be read. If no event can be read, the number of
    /// the next event.
    pub oldest: u64,
    /// Newest readable snapshot after which no event is missing. `oldest` is at most one more than
    /// the number of the snapshot. `None` if there is no such snapshot. In this case, `oldest` is
    /// 1, or the event with the number `oldest` contains the whole state.
    pub snapshot: Option<Snapshot>,
}

/// Events of a journal that a log has refused, because another writer has appended to the journal.
#[derive(Debug)]
pub struct Refused {
    /// The journal whose events were refused. None of its events in the group were appended.
    pub journal: JournalId,
    /// The error, which is usually a [`JournalError::Conflict`].
    pub error: JournalError,
}

/// Counters of a log since it was opened. A counter that does not apply to the log is 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogSample {
    /// Number of bytes that were written to the disk, including the bytes of snapshots, compactions
    /// and failed writes.
    pub written: u64,
    /// Number of syncs of files and of the folder.
    pub syncs: u64,
    /// Current number of files with events.
    pub files: usize,
    /// Current size of the files with events, in bytes.
    pub bytes: u64,
    /// Number of compactions that have removed files.
    pub compactions: u64,
    /// Number of bytes that compactions have copied. These bytes belong to events that were still
    /// needed.
    pub copied: u64,
    /// Number of snapshots that were saved.
    pub saved: u64,
    /// Number of notices (errors that lost no data) so far: see [`Log::take_notices`].
    pub notices: u64,
    /// Text of the newest notice, an error that lost no data.
    pub notice: Option<Arc<str>>,
    /// True if the log is broken, so that it must be opened again.
    pub is_broken: bool,
    /// Text of the error that has broken the log.
    pub cause: Option<Arc<str>>,
}

/// Implemented by stores of events, for example by [`SegmentLog`](crate::SegmentLog) in a mutex. A
/// [`Journal`](crate::Journal) can use any of these stores.
///
/// # Rules
/// - The events of a journal have the numbers 1, 2, 3 and so on, also after a restart and after
///   older events were removed. No two events of a journal ever have the same number.
/// - A journal exists once it has an event. [`Log::start`] returns the same [`JournalId`] for a
///   name as long as the log is open, except if the journal has no event and [`Log::forget`] was
///   called. After the log was opened again, the number may differ.
/// - When a method that stores something returns, the stored data are durable, and all later calls
///   see them.
/// - The oldest event that can be read is the newer of these two events: the newest whole event
///   ([`Event::is_whole`]), and the event after the older of the two newest snapshots. If neither
///   event exists, event 1 is the oldest event. Older events can never be read again, even after
///   the log was opened again.
/// - A call that returns an error changes nothing, except if the error is [`JournalError::Broken`].
///   A log returns `Broken` if it does not know what is durable, for example because a sync has
///   failed or a server has not answered. After that, all calls of [`Log::append`], [`Log::save`]
///   and [`Log::start`] return `Broken`, and [`Log::is_broken`] returns true. When the log is
///   opened again, each journal contains either all or none of its events in the group that was
///   being appended.
/// - If a call of the log panics, the [`Journal`](crate::Journal) undoes the turns whose events
///   were being appended, although some of these events may be in the log. So after a panic, the
///   log must be broken.
///
/// All methods may wait for the disk or for a server.
///
/// Only one thread at a time calls [`Log::append`], [`Log::save`] and [`Log::tend`]. Other threads
/// may call the other methods at the same time. A journal is never read while its events are being
/// appended.
///
/// The feature `conformance` has tests of these rules for any log.
pub trait Log: Send + Sync + 'static {
    /// Begins to read the journal with the given name. If the journal does not exist, assigns a
    /// number to it, so that events can be appended. Stores nothing.
    ///
    /// If `waits` is false, this method must not block for long: it returns `None` if another
    /// thread uses the log, if there is much to read, or if a server must be asked. The caller then
    /// calls this method again on another thread. If `waits` is true, this method never returns
    /// `None`.
    ///
    /// # Errors
    /// Returns these errors, and any I/O error:
    ///
    /// - [`JournalError::Name`] if the name is not accepted by [`check_name`](crate::check_name).
    /// - [`JournalError::Broken`] if the newest events may be unknown.
    /// - [`JournalError::Damaged`] or [`JournalError::DamagedRow`] if no snapshot can be read, the
    ///   events that the snapshots cover were removed, and the oldest event does not contain the
    ///   whole state.
    fn start(&self, name: &str, waits: bool) -> Result<Option<Start>, JournalError>;

    /// Adds the next events of a journal to `events`, oldest first. The first of these events has
    /// the number `from`, or a greater number if older events can no longer be read. Adds at least
    /// one event if there is one. Stops once [`Group::size`] of `events` is at least
    /// [`READ_BYTES`]. Adds nothing if there is no such event or no such journal.
    ///
    /// # Errors
    /// Returns [`JournalError::Damaged`] or [`JournalError::DamagedRow`] if an event differs from
    /// what was written, and any I/O error. After an error, `events` may contain the events before
    /// the event that could not be read.
    fn read(&self, journal: JournalId, from: u64, events: &mut Group) -> Result<(), JournalError>;

    /// Appends the events of a group, and makes them durable. After a crash, the log contains
    /// either all events of a journal in the group, or none of them. A group may have many events
    /// of one journal, in the order of their numbers. A whole event replaces all events before it,
    /// even earlier events of the group. A group without events changes nothing.
    ///
    /// Returns the refused journals, each once, in any order, with a [`JournalError::Conflict`]. A
    /// journal is refused if one of its events in the group does not have the next number, because
    /// another writer has appended to the journal. A journal is also refused if [`Log::start`] has
    /// not returned its [`JournalId`]. No event of a refused journal is appended, but the events of
    /// the other journals are appended.
    ///
    /// # Errors
    /// Returns [`JournalError::TooLarge`] if the payloads have more than 256 MiB,
    /// [`JournalError::Full`] if there is no space, and any I/O error. A log may count up to 32
    /// bytes more than the payload for each event: a [`SegmentLog`](crate::SegmentLog) counts 29.
    ///
    /// After an error other than [`JournalError::Broken`], no event of the group is in the log, and
    /// the next group can be appended.
    fn append(&self, group: &Group) -> Result<Vec<Refused>, JournalError>;

    /// Returns the size limit of the events of one journal in a group, in bytes. A pipelined entity
    /// takes no more messages in a turn when its events have half of this size. A log that passes
    /// its calls on to another log must pass on this call, too.
    fn journal_bytes_max(&self) -> usize {
        256 << 20
    }

    /// Saves `state`, which is the state of a journal after the event with the number `number`.
    /// Keeps the two newest snapshots, and removes the events that the older of them covers: all
    /// events up to the number of the older snapshot. If there is only one snapshot, all events
    /// stay. Does nothing if the journal does not exist.
    ///
    /// # Errors
    /// Returns [`JournalError::Conflict`] if there is no event with this number yet, or if there is
    /// a snapshot with this or a greater number. Also returns any I/O error. After an error, the
    /// earlier snapshots and all events are still there.
    fn save(
        &self,
        journal: JournalId,
        number: u64,
        kind: EventKind,
        state: &[u8],
    ) -> Result<(), JournalError>;

    /// Returns the newest snapshot of a journal that is older than the snapshot with the number
    /// `number`, if no event after it is missing. Called if the program cannot decode the newer
    /// one. Returns `None` if there is no such snapshot, or if the log cannot read older snapshots,
    /// which is the default. A log that passes its calls on to another log must pass on this call,
    /// too.
    ///
    /// # Errors
    /// Returns the errors of [`Log::start`] if the snapshot cannot be read.
    fn saved_before(
        &self,
        journal: JournalId,
        number: u64,
    ) -> Result<Option<Snapshot>, JournalError> {
        let _ = (journal, number);
        Ok(None)
    }

    /// Lets the log remove events that are no longer needed. The log decides when to do this.
    /// Changes nothing that can be read. Called after each group, and after a group that was not
    /// appended because of [`JournalError::Full`]. Errors become notices.
    fn tend(&self);

    /// Lets the log remove what it keeps in memory about a journal, if the journal has no event and
    /// has never had one. Called when the entity with this name has ended. The [`JournalId`] of the
    /// journal is then not used again: [`Log::start`] is called first. A log that has removed a
    /// journal gives its [`JournalId`] to no journal again.
    ///
    /// Returns false if another thread uses the log, so that this method must be called again. Must
    /// not wait for the disk or for a server, and must not use the [`Journal`](crate::Journal). The
    /// default does nothing and returns true. A log that passes its calls on to another log must
    /// pass on this call, too.
    fn forget(&self, name: &str) -> bool {
        let _ = name;
        true
    }

    /// Returns true if the log is broken, so that it must be opened again.
    fn is_broken(&self) -> bool;

    /// Returns the counters of the log. If another thread uses the log, a call with `waits` waits
    /// until the log is free, and a call without `waits` may return `None`.
    fn sample(&self, waits: bool) -> Option<LogSample>;

    /// Adds a notice: an error that has lost no data.
    fn notice(&self, error: JournalError);

    /// Removes and returns the notices, oldest first. A notice is an error that has lost no data,
    /// for example an error of a snapshot or of a compaction. At most 64 notices are kept.
    fn take_notices(&self) -> Vec<JournalError>;
}
