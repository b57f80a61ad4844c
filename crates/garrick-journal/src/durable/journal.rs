//! Journals, and the actor that writes them.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use garrick_actor::files::{Files, Folder};
use garrick_actor::{Actor, Address, Context, Handle, Internal};

use super::queue::Waiting;
use super::sample::JournalSample;
use super::shared::{Core, Work};
use crate::error::JournalError;
use crate::log::Log;
use crate::segments::{Opened, Options};

/// A request to write the events of the waiting turns to the log.
struct Write;

/// The actor that writes the events of the waiting turns to the log.
struct Writer {
    core: Arc<Core>,
    work: Work,
}

impl Actor for Writer {
    type Msg = Write;
    type Outcome = ();
    const STARTS: bool = false;

    // Not declared as blocking: if all threads for blocking turns wait for durable actors, the
    // writer blocks its worker, and does not wait for such a thread.
    fn receive(&mut self, _: Write, cx: &mut Context<'_, Write>) {
        let Self { core, work } = self;
        if cx.blocking(|| core.write_some(work)) {
            let me = cx.address();
            // This actor is alive.
            let _ = cx.send(&me, Write);
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // States that are not saved yet are left out: a graceful shutdown has waited for them, and
        // any other one must end soon. Their events are durable.
        self.core.close();
    }
}

/// The journals of durable actors, in one log. Clones are handles to the same log.
///
/// The events of all actors whose turns end while the disk is busy are written together, with one
/// sync. So if many turns share a sync, the sync adds little to the cost of each turn. A single
/// turn still waits for a whole sync.
///
/// The oldest files of the log are removed when their events are covered by saved states, or when
/// at most half of their events are still needed. The needed events are copied first.
///
/// The log is closed when all handles and all entities have been dropped. After the system on which
/// the log was opened has shut down, nothing more can be written.
///
/// A graceful shutdown of the system saves all states that are due:
/// [`SAVE_EVERY`](crate::DurableActor::SAVE_EVERY). After
/// [`System::shutdown_now`](garrick_actor::System::shutdown_now), or if the system is dropped, some
/// of these states may not be saved. Nothing is lost, because their events are in the log. An
/// entity whose state was not saved reads more events when it starts again, and its next turn with
/// an event saves the state.
///
/// # Examples
/// [`DurableActor`](crate::DurableActor) has an example.
#[derive(Clone)]
pub struct Journal {
    core: Arc<Core>,
    writer: Address<Write>,
}

impl Journal {
    /// Opens the log in a folder, or creates a log if the folder contains none. Creates the folder
    /// if it does not exist. `system` runs the actor that writes the log.
    ///
    /// # Errors
    /// Returns the errors of [`Journal::open_files`].
    pub fn open(system: &Handle, folder: impl AsRef<Path>) -> Result<(Self, Opened), JournalError> {
        let folder = folder.as_ref();
        let opened = Folder::create(folder);
        let files = opened.map_err(|error| {
            JournalError::disk("open the folder", &folder.display().to_string(), error)
        })?;
        Self::open_files(system, Arc::new(files))
    }

    /// Opens the log in `files`, for example on the disk of a simulation.
    ///
    /// # Errors
    /// Returns the errors of [`Options::open`], and [`JournalError::Closed`] if the system is
    /// shutting down.
    pub fn open_files(
        system: &Handle,
        files: Arc<dyn Files>,
    ) -> Result<(Self, Opened), JournalError> {
        let (log, opened) = Options::new().open(files)?;
        Ok((Self::new(system, Mutex::new(log))?, opened))
    }

    /// Creates a journal that uses the open log `log`. Pass a [`SegmentLog`](crate::SegmentLog) in
    /// a mutex.
    ///
    /// # Errors
    /// Returns [`JournalError::Closed`] if the system is shutting down.
    pub fn new(system: &Handle, log: impl Log) -> Result<Self, JournalError> {
        let core = Arc::new(Core::new(Box::new(log), system.clone()));
        core.tend();
        let writer = Writer {
            core: core.clone(),
            work: Work::default(),
        };
        let writer = system.spawn(Internal(writer));
        Ok(Self {
            core,
            writer: writer.map_err(|_| JournalError::Closed)?,
        })
    }

    /// Returns the counters of this journal. Does not wait for the disk.
    #[must_use]
    pub fn sample(&self) -> JournalSample {
        self.core.sample()
    }

    /// Removes and returns the notices, oldest first. A notice is an error that has lost no data: a
    /// saved state could not be encoded, written, read or removed, or a compaction has failed. At
    /// most 64 notices are kept. If a group is being written, this method may wait until the group
    /// is written.
    #[must_use]
    pub fn take_notices(&self) -> Vec<JournalError> {
        self.core.log().take_notices()
    }

    pub(super) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// Submits a turn to the writer. Undoes the turn if the writer has ended.
    pub(super) fn submit(&self, turn: Waiting) {
        if self.core.push(turn) {
            // The writer accepts requests while its system shuts down. When it ends, it undoes the
            // turns, also those that come later.
            let _ = self.writer.send_promised(Write);
        }
    }
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal").finish_non_exhaustive()
    }
}
