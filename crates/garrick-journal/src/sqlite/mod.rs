//! A log in an SQLite database. `src/README.md` describes the rules.

mod fault;
mod names;

mod row;

mod open;
mod read;

mod write;

mod inspect;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use garrick_actor::Handle;
use garrick_actor::files::LockedFile;
use rusqlite::Connection;

use crate::durable::Journal;
use crate::error::JournalError;
use crate::event::EventKind;
use crate::group::{Group, JournalId};
use crate::log::{Log, LogSample, READ_BYTES, Refused, Snapshot, Start};
use crate::notices::Notices;
pub use inspect::Listed;
use names::Names;
use open::{Opened, Place, keep_at_close};
use write::Writer;

/// The events of many journals in an SQLite database, which people can query at any time. Needs the
/// feature `sqlite`.
///
/// Each group is one transaction and one sync. Reading does not wait for the sync. The tables are
/// `journals`, `events` and `snapshots`. While the log is open, other programs may read these
/// tables, but must not change them.
///
/// The files next to the database with the suffixes `-wal` and `-shm` belong to the database. The
/// file with the suffix `-lock` contains the id of the process that has opened the log.
///
/// # Examples
/// ```
/// use garrick_journal::{Event, EventKind, Group, JournalError, Log, SqliteLog};
///
/// # fn main() -> Result<(), JournalError> {
/// # let folder = std::env::temp_dir().join(format!("garrick-sqlite-{}", std::process::id()));
/// # let path = folder.join("journal.sqlite");
/// let log = SqliteLog::open(&path)?;
/// let account = log.start("account/42", true)?.expect("it waits");
/// let mut group = Group::new();
/// group.add(account.journal, Event {
///     number: account.newest + 1,
///     kind: EventKind { tag: 1, version: 1 },
///     is_whole: false,
///     payload: b"10 EUR were paid in",
/// })?;
/// assert!(log.append(&group)?.is_empty());
/// # drop(log);
/// # std::fs::remove_dir_all(folder).unwrap();
/// # Ok(())
/// # }
/// ```
pub struct SqliteLog {
    place: Place,
    /// Connection for reading. Closed before the writer, so that the writer leaves no write-ahead
    /// log.
    reader: Mutex<Connection>,
    /// Connection for writing. `None` if the log was opened for reading.
    writer: Option<Mutex<Writer>>,
    names: Mutex<Names>,
    /// True after an error that leaves the content of the log unknown. Written by the writer, and
    /// read by all threads.
    is_broken: AtomicBool,
    /// Text of the error that has broken the log.
    cause: Mutex<Option<Arc<str>>>,
    notices: Mutex<Notices>,
    /// Lock of the database. Dropped last, so that the connections are closed before the lock is
    /// released.
    _lock: Option<LockedFile>,
}

impl SqliteLog {
    /// Opens the log in a database, or creates the database and its folder if they do not exist.
    ///
    /// # Errors
    /// Returns [`JournalError::Disk`] if another process has opened the log, or for any error of
    /// the disk. Returns [`JournalError::Foreign`] if the file is not a log, and
    /// [`JournalError::Engine`] for any error of SQLite.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, JournalError> {
        let place = Place::new(path.as_ref());
        let Opened {
            writer,
            reader,
            names,
            lock,
        } = open::open(&place)?;
        let writer = Writer {
            connection: writer,
            pages: 0,
        };
        Ok(Self::new(place, Some(writer), (reader, names), Some(lock)))
    }

    /// Opens the log in a database for reading, and changes nothing. Another process may have the
    /// log open. Journals that the other process creates later are not visible.
    ///
    /// Needs the permission to create files in the folder of the database, except while no process
    /// has the log open.
    ///
    /// # Errors
    /// Returns the errors of [`SqliteLog::open`]. A database that does not exist is an error.
    pub fn inspect(path: impl AsRef<Path>) -> Result<Self, JournalError> {
        let place = Place::new(path.as_ref());
        let read = open::inspect(&place)?;
        Ok(Self::new(place, None, read, None))
    }

    fn new(
        place: Place,
        writer: Option<Writer>,
        (reader, names): (Connection, Names),
        lock: Option<LockedFile>,
    ) -> Self {
        Self {
            place,
            reader: Mutex::new(reader),
            writer: writer.map(Mutex::new),
            names: Mutex::new(names),
            is_broken: AtomicBool::new(false),
            cause: Mutex::default(),
            notices: Mutex::default(),
            _lock: lock,
        }
    }

    /// Locks the connection that writes. If a thread has panicked while it wrote, marks the log as
    /// broken, because it is not known what was written.
    fn writer(&self) -> Result<MutexGuard<'_, Writer>, JournalError> {
        let writer = self.writer.as_ref().ok_or(JournalError::ReadOnly)?;
        Ok(writer.lock().unwrap_or_else(|poisoned| {
            let guard = poisoned.into_inner();
            self.set_broken(&guard.connection, "its writer has panicked".into());
            guard
        }))
    }

    /// Locks the connection that reads. If `waits` is false, returns `None` while another thread
    /// uses the connection.
    fn reader(&self, waits: bool) -> Option<MutexGuard<'_, Connection>> {
        // A panic while reading ends the transaction, and changes nothing.
        if waits {
            return Some(self.reader.lock().unwrap_or_else(PoisonError::into_inner));
        }
        match self.reader.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn names(&self) -> MutexGuard<'_, Names> {
        // Names are added and removed at once.
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check_usable(&self) -> Result<(), JournalError> {
        match &self.writer {
            None => Err(JournalError::ReadOnly),
            Some(_) if self.is_log_broken() => Err(JournalError::Broken),
            Some(_) => Ok(()),
        }
    }

    fn is_log_broken(&self) -> bool {
        // Relaxed: a flag that publishes nothing. The thread that appends has set it itself.
        self.is_broken.load(Relaxed)
    }

    /// Marks the log as broken, because its content is unknown. From now on, nothing is written,
    /// not even when the database is closed.
    fn set_broken(&self, writer: &Connection, cause: Arc<str>) {
        self.is_broken.store(true, Relaxed);
        self.cause().get_or_insert(cause);
        // It fails only if SQLite is older than this option.
        let _ = keep_at_close(writer);
    }

    fn cause(&self) -> MutexGuard<'_, Option<Arc<str>>> {
        // Set at once.
        self.cause.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn notices(&self) -> MutexGuard<'_, Notices> {
        // No foreign code is called while they are locked.
        self.notices.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log for SqliteLog {
    fn start(&self, name: &str, waits: bool) -> Result<Option<Start>, JournalError> {
        self.begin(name, waits)
    }

    fn read(&self, journal: JournalId, from: u64, events: &mut Group) -> Result<(), JournalError> {
        let mut added = Ok(());
        self.read_while(journal, from, |event| {
            added = events.add(journal, event);
            added.is_ok() && events.size() < READ_BYTES
        })?;
        added
    }

    fn append(&self, group: &Group) -> Result<Vec<Refused>, JournalError> {
        self.append_group(group)
    }

    fn save(
        &self,
        journal: JournalId,
        number: u64,
        kind: EventKind,
        state: &[u8],
    ) -> Result<(), JournalError> {
        self.save_state(journal, number, kind, state)
    }

    fn saved_before(
        &self,
        journal: JournalId,
        number: u64,
    ) -> Result<Option<Snapshot>, JournalError> {
        self.older_snapshot(journal, number)
    }

    fn tend(&self) {
        self.checkpoint_if_due();
    }

    fn forget(&self, name: &str) -> bool {
        // The first events of a journal may be under way to the database.
        let writer = self.writer.as_ref().map(Mutex::try_lock);
        if let Some(Err(TryLockError::WouldBlock)) = writer {
            return false;
        }
        self.names().remove_unused(name);
        true
    }

    fn is_broken(&self) -> bool {
        self.is_log_broken() || self.writer.as_ref().is_some_and(Mutex::is_poisoned)
    }

    fn sample(&self, _: bool) -> Option<LogSample> {
        let sizes = self.place.sizes();
        let is_broken = Log::is_broken(self);
        let notices = self.notices();
        Some(LogSample {
            files: sizes.iter().flatten().count(),
            bytes: sizes.iter().flatten().sum(),
            notices: notices.count(),
            notice: notices.newest().cloned(),
            is_broken,
            cause: self.cause().clone(),
            ..LogSample::default()
        })
    }

    fn notice(&self, error: JournalError) {
        self.notices().add(error);
    }

    fn take_notices(&self) -> Vec<JournalError> {
        self.notices().take()
    }
}

impl fmt::Debug for SqliteLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteLog")
            .field("path", &self.place.path)
            .field("is_broken", &self.is_log_broken())
            .finish_non_exhaustive()
    }
}

impl Journal {
    /// Opens the log in an SQLite database, or creates the database and its folder if they do not
    /// exist. `system` runs the actor that writes the log. Needs the feature `sqlite`.
    ///
    /// # Errors
    /// Returns the errors of [`SqliteLog::open`], and [`JournalError::Closed`] if the system is
    /// shutting down.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::System;
    /// use garrick_journal::Journal;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = std::env::temp_dir().join(format!("garrick-one-line-{}", std::process::id()));
    /// let system = System::new()?;
    /// let journal = Journal::open_sqlite(&system.handle(), folder.join("journal.sqlite"))?;
    /// # drop(journal);
    /// # system.shutdown();
    /// # std::fs::remove_dir_all(folder)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn open_sqlite(system: &Handle, path: impl AsRef<Path>) -> Result<Self, JournalError> {
        Self::new(system, SqliteLog::open(path)?)
    }
}
