//! A log that stores the events of many journals in segments. `src/README.md` describes the format.

mod counted;
mod header;
mod index;
mod progress;

mod scan;
mod segment;

mod cache;

mod append;

mod compact;
mod read;
mod sample;
mod snapshot;

mod known;
mod open;

mod again;
mod shared;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::Arc;

use garrick_actor::files::{Files, Lock};

use crate::error::JournalError;
use crate::group::JournalId;
#[cfg(doc)]
use crate::log::Log;
use crate::name::check_name;
use crate::notices::Notices;
use cache::Cache;
use counted::DiskCounts;
use index::Index;
use sample::{Ended, Tended};
use segment::Segment;

pub use compact::Compacted;
pub use open::{Opened, Torn};
pub use progress::Progress;
pub(crate) use progress::Report;
/// Default size in bytes at which a segment is full. No more groups of events are added to a full
/// segment.
const SEGMENT_BYTES: u64 = 64 << 20;

/// Maximum size of a segment in bytes. Positions in a segment have 32 bits.
const SEGMENT_BYTES_MAX: u64 = 1 << 30;

/// Options of a log.
#[derive(Debug, Clone)]
pub struct Options {
    segment_bytes: u64,
    /// Function that is called with the progress while the log is opened.
    pub(crate) report: Option<Report>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            segment_bytes: SEGMENT_BYTES,
            report: None,
        }
    }
}

impl Options {
    /// Returns the default options.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the size in bytes at which a segment is full. No more groups of events are added to a
    /// full segment. The default is 64 MiB.
    ///
    /// # Panics
    /// Panics if the size is zero or greater than 1 GiB.
    #[must_use]
    #[track_caller]
    pub fn segment_bytes(mut self, bytes: u64) -> Self {
        assert!(
            (1..=SEGMENT_BYTES_MAX).contains(&bytes),
            "a segment of {bytes} bytes: it must have from 1 to {SEGMENT_BYTES_MAX}"
        );
        self.segment_bytes = bytes;
        self
    }

    /// Sets a function that is called while the log is opened: at the beginning, after each further
    /// 1 MiB or more, and at the end. The function runs on the thread that opens the log. If the
    /// function panics, the log is not opened, and nothing has changed.
    ///
    /// # Examples
    /// ```
    /// use garrick_journal::Options;
    ///
    /// let options = Options::new().progress(|progress| {
    ///     eprintln!("{} of {} bytes were read", progress.read, progress.all);
    /// });
    /// # let _ = options;
    /// ```
    #[must_use]
    pub fn progress(mut self, report: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.report = Some(Report::new(report));
        self
    }

    /// Opens the log in a folder, or creates a log if the folder contains none. Reads all segments.
    ///
    /// # Errors
    /// Returns [`JournalError::Disk`] if another process has opened the log, or for any error of
    /// the disk. Returns [`JournalError::Damaged`] if a file is damaged before the last group.
    pub fn open(&self, files: Arc<dyn Files>) -> Result<(SegmentLog, Opened), JournalError> {
        open::open(files, self.clone())
    }

    /// Opens the log in a folder for reading, and changes nothing. A group that another process
    /// writes at this moment looks like a group that a crash has left incomplete
    /// ([`Opened::torn`]).
    ///
    /// # Errors
    /// Returns the errors of [`Options::open`], except that the log may be open in another process.
    pub fn inspect(&self, files: Arc<dyn Files>) -> Result<(SegmentLog, Opened), JournalError> {
        open::inspect(files, self.clone())
    }
}

/// The events of many journals on a disk. [`Options::open`] opens it.
///
/// Each method that changes the log returns when the change is durable.
///
/// # Examples
/// ```
/// use std::sync::Arc;
///
/// use garrick_journal::{Event, EventKind, Group, JournalError, Options};
/// use garrick_sim::testing::Kit;
///
/// # fn main() -> Result<(), JournalError> {
/// let mut kit = Kit::new();
/// let (mut log, _) = Options::new().open(Arc::new(kit.disk()))?;
/// let account = log.journal("account/42")?;
/// let mut group = Group::new();
/// group.add(account, Event {
///     number: log.newest(account) + 1,
///     kind: EventKind { tag: 1, version: 1 },
///     is_whole: false,
///     payload: b"10 EUR were paid in",
/// })?;
/// log.append(&group)?;
///
/// let mut events = Vec::new();
/// log.read(account, 1, |event| events.push(event.payload.to_vec()))?;
/// assert_eq!(events, [b"10 EUR were paid in"]);
/// # Ok(())
/// # }
/// ```
pub struct SegmentLog {
    files: Arc<dyn Files>,
    options: Options,
    /// Segments by number. The next group of events is added to the last segment.
    segments: BTreeMap<u32, Segment>,
    index: Index,
    /// Number of the oldest needed segment. Older segments are removed.
    oldest_needed: u32,
    /// Sequence number of the next group of events to append.
    next_group: u64,
    /// True if the last segment is complete, so that no more groups of events are written to it.
    is_closed: bool,
    /// Files of snapshots that are no longer valid, but could not be removed.
    left: Vec<(JournalId, u64)>,
    /// True if the log is broken, because an error could not be handled.
    is_broken: bool,
    /// Text of the error that has broken the log.
    cause: Option<Arc<str>>,
    /// Errors that have lost no data, for example errors of snapshots and of compactions.
    notices: Notices,
    /// Number of segments at which [`Log::tend`] compacts the log next.
    compact_at: usize,
    /// True if the disk was full when the latest group was appended.
    is_full: bool,
    /// Counters of compactions and of snapshots since the log was opened.
    tended: Tended,
    /// The most recently read parts of segments.
    cache: Cache,
    /// Encoded bytes of the next group of events.
    buffer: Vec<u8>,
    /// Counters of the disk since the log was opened.
    counts: Arc<DiskCounts>,
    /// Size of the segments before the last one.
    ended: Ended,
    /// Lock of the folder. `None` if the log was opened for reading.
    lock: Option<Box<dyn Lock>>,
}

impl SegmentLog {
    /// Returns the journal with the given name. A journal exists on the disk once it has an event.
    ///
    /// # Errors
    /// Returns [`JournalError::Name`] if the name is not accepted by
    /// [`check_name`](crate::check_name).
    pub fn journal(&mut self, name: &str) -> Result<JournalId, JournalError> {
        check_name(name)?;
        Ok(self.index.id_of(name))
    }

    /// Returns the journal with the given name, if it exists.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<JournalId> {
        self.index.find(name)
    }

    /// Returns the sequence number of the newest event of a journal, or 0 if the journal has no
    /// event.
    #[must_use]
    pub fn newest(&self, journal: JournalId) -> u64 {
        self.index.get(journal).map_or(0, |journal| journal.newest)
    }

    /// Returns the sequence number of the oldest readable event of a journal. If no event can be
    /// read, returns the number of the next event.
    #[must_use]
    pub fn oldest(&self, journal: JournalId) -> u64 {
        self.index.get(journal).map_or(1, index::Journal::oldest)
    }

    /// Returns the journals that have an event or had one, with their names, in the order of their
    /// creation.
    pub fn journals(&self) -> impl Iterator<Item = (JournalId, &str)> {
        let has_some = |journal: &index::Journal| journal.newest > 0;
        let journals = self.index.iter();
        let mut journals: Vec<_> = journals.filter(|(_, journal)| has_some(journal)).collect();
        journals.sort_unstable_by_key(|(id, _)| *id);
        journals
            .into_iter()
            .map(|(id, journal)| (id, &*journal.name))
    }

    /// Returns the size of all segments in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.segments.values().map(|segment| segment.length).sum()
    }

    /// Returns the number of segments.
    #[must_use]
    pub fn segments(&self) -> usize {
        self.segments.len()
    }

    /// Removes and returns the notices, oldest first. A notice is an error that has lost no data.
    /// For example, a snapshot could not be read or removed, or [`Log::tend`] could not compact the
    /// log. If a snapshot cannot be read, an older one is used. At most 64 notices are kept.
    pub fn take_notices(&mut self) -> Vec<JournalError> {
        self.notices.take()
    }

    fn notice(&mut self, error: JournalError) {
        self.notices.add(error);
    }

    /// Marks the log as broken: the end of the log is unknown.
    fn set_broken(&mut self) {
        self.is_broken = true;
        self.cause = Some("its writer has panicked".into());
    }

    /// Returns true if `error` says that a file does not exist, and the log was opened for reading,
    /// so that another process may have removed the file.
    fn is_gone(&self, error: &JournalError) -> bool {
        let JournalError::Disk { source, .. } = error else {
            return false;
        };
        self.lock.is_none() && source.kind() == io::ErrorKind::NotFound
    }

    /// Returns true if the log is broken, so that it must be opened again.
    fn is_broken(&self) -> bool {
        self.is_broken
    }

    fn check_usable(&self) -> Result<(), JournalError> {
        if self.lock.is_none() {
            return Err(JournalError::ReadOnly);
        }
        if self.is_broken {
            return Err(JournalError::Broken);
        }
        Ok(())
    }
}

impl fmt::Debug for SegmentLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SegmentLog")
            .field("files", &self.files)
            .field("segments", &self.segments())
            .field("bytes", &self.bytes())
            .field("next_group", &self.next_group)
            .finish_non_exhaustive()
    }
}
