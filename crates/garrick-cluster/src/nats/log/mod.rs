//! Journals on NATS: the events of many journals in streams of JetStream.

mod format;
mod subject;

mod journals;
mod store;

mod append;

mod read;

mod save;

mod open;

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use garrick_journal::{
    EventKind, Group, JournalError, JournalId, Log, LogSample, Notices, Refused, Snapshot, Start,
};
use hashbrown::HashMap;

use self::format::MessageOf;
use self::journals::Journals;
use self::store::Store;
use super::home::Home;
use crate::lock::lock;
pub use open::NatsLogOptions;

/// Additional time after the time limit of a call. If a call has not ended after its time limit
/// plus this time, the runtime counts as stuck.
const GRACE: Duration = Duration::from_secs(15);

/// Maximum number of journals in the list of those with messages to remove, beyond which forgotten
/// journals are not added.
const FORGOTTEN_MAX: usize = 1 << 16;

/// The events of the journals of a cluster in streams of NATS. Needs the feature `nats-journal`.
///
/// Several processes may open the same log. If several writers append to one journal, only one
/// succeeds: a writer that does not know the newest message of the journal is refused with
/// [`JournalError::Conflict`], and none of its events are stored in that journal. After a conflict,
/// the writer must call [`Log::start`] again.
///
/// Acknowledged events are stored by the server, or by a majority of the servers. The server
/// setting `sync_interval` determines when events are on the disk. `docs/cluster.md` has the
/// details.
///
/// Each call ends within the time limit, 20 s by default. If a message was not acknowledged, the
/// log appends a message without events in its place. The result shows whether the first message
/// was stored. If appending this message without events fails too, the log is broken
/// ([`JournalError::Broken`]). After this error, open the log again, and spawn the durable actors
/// again.
///
/// All events of a group for one journal, and each saved state, must fit into the server's
/// `max_payload`, which is 1 MiB by default. Larger groups and states are refused with
/// [`JournalError::TooLarge`].
///
/// # Examples
/// ```no_run
/// use garrick_actor::System;
/// use garrick_cluster::nats::{NatsLog, NatsNet};
/// use garrick_journal::Journal;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let system = System::new()?;
/// let log = NatsLog::open(NatsNet::builder("nats://localhost"), "bank", "bank-1")?;
/// let journal = Journal::new(&system.handle(), log)?;
/// # Ok(())
/// # }
/// ```
pub struct NatsLog {
    home: Home,
    store: Store,
    /// Random number that identifies this writer.
    writer: u64,
    /// Number that this writer has given to its latest message. Each group, fence and saved state
    /// gets the next number.
    group: AtomicU64,
    /// Maximum time for which a call waits for the server.
    answer_within: Duration,
    /// True if each start of a journal prevents further appends by other writers.
    fences: bool,
    journals: Mutex<Journals>,
    /// Locked while a group is under way to the server.
    appending: Mutex<()>,
    due: Due,
    /// True while a task removes messages from the server.
    purging: Arc<AtomicBool>,
    notes: Notes,
    written: AtomicU64,
    saved: AtomicU64,
    is_broken: AtomicBool,
    /// Text of the error that has broken the log.
    cause: Mutex<Option<Arc<str>>>,
}

/// List of errors that have not caused a loss of data. Clones share the list.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Notices>>);

impl Notes {
    fn add(&self, error: JournalError) {
        lock(&self.0).add(error);
    }
}

/// Journals whose old messages can be removed. Clones share the list.
#[derive(Clone, Default)]
struct Due(Arc<Mutex<HashMap<Arc<str>, u64>>>);

impl Due {
    /// Adds a journal, given by the last part of its subject. `sequence` is the sequence number of
    /// the last message to remove.
    fn add(&self, tokens: &Arc<str>, sequence: u64) {
        lock(&self.0).insert(Arc::clone(tokens), sequence);
    }

    /// Adds a journal that was forgotten, unless too many journals are in the list. The messages of
    /// a journal that is not added stay on the server.
    fn add_forgotten(&self, tokens: &Arc<str>, sequence: u64) {
        let mut due = lock(&self.0);
        if due.len() < FORGOTTEN_MAX {
            due.insert(Arc::clone(tokens), sequence);
        }
    }

    /// Removes and returns all journals of the list.
    fn take(&self) -> HashMap<Arc<str>, u64> {
        std::mem::take(&mut *lock(&self.0))
    }
}

/// The right to remove messages, which only one task has at a time. Dropping the value releases the
/// right.
struct Purging(Arc<AtomicBool>);

impl Drop for Purging {
    fn drop(&mut self) {
        // Relaxed: the flag publishes nothing.
        self.0.store(false, Relaxed);
    }
}

impl NatsLog {
    fn journals(&self) -> MutexGuard<'_, Journals> {
        lock(&self.journals)
    }

    fn notes(&self) -> Notes {
        self.notes.clone()
    }

    fn add_notice(&self, error: JournalError) {
        self.notes.add(error);
    }

    /// Returns the right to remove messages. Returns `None` while another task removes messages.
    fn purging(&self) -> Option<Purging> {
        let was = self.purging.swap(true, Relaxed);
        (!was).then(|| Purging(Arc::clone(&self.purging)))
    }

    /// Returns the identity of a new message: the identity of this writer, and the next number.
    fn next_message(&self) -> MessageOf {
        MessageOf {
            writer: self.writer,
            // Relaxed: the numbers order nothing.
            group: self.group.fetch_add(1, Relaxed) + 1,
        }
    }

    fn count_written(&self, bytes: usize) {
        self.written.fetch_add(bytes as u64, Relaxed);
    }

    fn count_saved(&self) {
        self.saved.fetch_add(1, Relaxed);
    }

    fn check_usable(&self) -> Result<(), JournalError> {
        if self.is_broken() {
            return Err(JournalError::Broken);
        }
        Ok(())
    }

    /// Marks the log as broken, because it is not known whether the server has stored the latest
    /// messages.
    fn break_down(&self, why: &str) -> JournalError {
        // Relaxed: a flag that publishes nothing.
        self.is_broken.store(true, Relaxed);
        lock(&self.cause).get_or_insert(why.into());
        JournalError::Broken
    }

    /// Runs a task on the thread of the connection.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let alive = self.home.alive();
        self.home.handle().spawn(async move {
            task.await;
            drop(alive);
        });
    }

    /// Runs a task on the thread of the connection, and waits for it.
    ///
    /// # Errors
    /// Returns the reason if the task panics, or if the runtime is not running.
    fn run<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, String> {
        let (tell, told) = sync_channel(1);
        self.spawn(async move {
            // The caller may have given up.
            let _ = tell.send(task.await);
        });
        let told = told.recv_timeout(self.answer_within + GRACE);
        told.map_err(|_| "the thread of the connection does not answer".to_owned())
    }
}

impl Log for NatsLog {
    fn start(&self, name: &str, waits: bool) -> Result<Option<Start>, JournalError> {
        self.begin(name, waits)
    }

    fn read(&self, journal: JournalId, from: u64, events: &mut Group) -> Result<(), JournalError> {
        self.read_events(journal, from, events)
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
        self.older_state(journal, number)
    }

    fn tend(&self) {
        self.purge_if_due();
    }

    fn forget(&self, name: &str) -> bool {
        // The first events of the journal may be under way to the server.
        let appending = self.appending.try_lock();
        if let Err(TryLockError::WouldBlock) = appending {
            return false;
        }
        let unused = self.journals().remove_unused(name);
        if let Some(known) = unused {
            self.remove_fences(&known);
        }
        true
    }

    fn journal_bytes_max(&self) -> usize {
        // The events of a journal in a group are one message.
        self.store.message_max()
    }

    fn is_broken(&self) -> bool {
        self.is_broken.load(Relaxed)
    }

    fn sample(&self, _: bool) -> Option<LogSample> {
        let notices = lock(&self.notes.0);
        Some(LogSample {
            written: self.written.load(Relaxed),
            saved: self.saved.load(Relaxed),
            notices: notices.count(),
            notice: notices.newest().cloned(),
            is_broken: self.is_broken(),
            cause: lock(&self.cause).clone(),
            ..LogSample::default()
        })
    }

    fn notice(&self, error: JournalError) {
        self.add_notice(error);
    }

    fn take_notices(&self) -> Vec<JournalError> {
        lock(&self.notes.0).take()
    }
}

impl fmt::Debug for NatsLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NatsLog")
            .field("is_broken", &self.is_broken())
            .finish_non_exhaustive()
    }
}
