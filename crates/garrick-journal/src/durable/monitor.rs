//! Monitors, through which people and programs watch a journal.

use std::fmt;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, Weak};

use garrick_actor::Handle;
use garrick_actor::files::Files;

use super::journal::Journal;
use super::sample::{Figures, JournalSample, lock};
use super::shared::Core;
use crate::error::{JournalError, describe};
use crate::segments::{Opened, Options, Progress};

/// The state of a journal, as shown by a [`Monitor`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum JournalState {
    /// The journal has not been opened yet.
    #[default]
    New,
    /// The log is being read.
    Opening(Progress),
    /// The journal is open.
    Open,
    /// The journal was closed: all its handles and entities were dropped, or its system has shut
    /// down.
    Closed,
    /// The journal could not be opened, for this reason.
    Failed(String),
}

/// A handle that reads the state of a journal, with a name that people can read. A monitor does not
/// keep the journal open, and never waits for the disk. Clones read the state of the same journal.
///
/// With the feature `telemetry`, a monitor is a source of telemetry: pass it to `Telemetry::watch`.
///
/// # Examples
/// ```
/// use garrick_actor::System;
/// use garrick_journal::{Journal, JournalState};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = std::env::temp_dir().join(format!("garrick-doc-m-{}", std::process::id()));
/// let system = System::new()?;
/// let (journal, _) = Journal::open(&system.handle(), &folder)?;
/// let monitor = journal.monitor("bank");
/// assert_eq!(monitor.state(), JournalState::Open);
/// drop(journal);
/// system.shutdown();
/// assert_eq!(monitor.state(), JournalState::Closed);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Monitor {
    name: Arc<str>,
    seen: Arc<Mutex<Seen>>,
    /// Number of journals that this monitor has shown.
    openings: Arc<AtomicU64>,
}

/// The state of the journal that a monitor shows.
#[derive(Default)]
enum Seen {
    #[default]
    New,
    Opening(Progress),
    Open(Arc<Figures>, Weak<Core>),
    Failed(String),
}

/// Guard that exists while a journal is opened. If the guard is dropped before the opening has
/// ended, the monitor shows that the opening has failed.
struct Opening<'m>(&'m Monitor);

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        if let seen @ Seen::Opening(_) = &mut *lock(&self.0.seen) {
            *seen = Seen::Failed("its opening has panicked".to_owned());
        }
    }
}

impl Journal {
    /// Returns a monitor of this journal. `name` is a name for people, such as `bank`.
    #[must_use]
    pub fn monitor(&self, name: impl Into<String>) -> Monitor {
        let monitor = Monitor::new(name);
        monitor.attach(self);
        monitor
    }
}

impl Monitor {
    /// Creates a monitor of a journal that is not open yet. [`Monitor::open`] opens the journal.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into().into(),
            seen: Arc::default(),
            openings: Arc::default(),
        }
    }

    /// Opens the journal in `files`. This takes a long time if the log is large. Meanwhile, the
    /// monitor shows the progress. Afterwards, the monitor shows the new journal, even if it has
    /// shown another journal before.
    ///
    /// # Errors
    /// Returns the errors of [`Options::open`], and [`JournalError::Closed`] if the system is
    /// shutting down. The monitor shows the error.
    pub fn open(
        &self,
        system: &Handle,
        options: &Options,
        files: Arc<dyn Files>,
    ) -> Result<(Journal, Opened), JournalError> {
        self.show(Seen::Opening(Progress::default()));
        let _opening = Opening(self);
        let (me, more) = (self.clone(), options.report.clone());
        let options = options.clone().progress(move |progress| {
            me.show(Seen::Opening(progress));
            if let Some(more) = &more {
                more.call(progress);
            }
        });
        let opened = options.open(files).and_then(|(log, opened)| {
            let journal = Journal::new(system, Mutex::new(log))?;
            Ok((journal, opened))
        });
        match &opened {
            Ok((journal, _)) => self.attach(journal),
            Err(error) => self.show(Seen::Failed(describe(error))),
        }
        opened
    }

    fn attach(&self, journal: &Journal) {
        let core = journal.core();
        self.openings.fetch_add(1, Relaxed);
        self.show(Seen::Open(Arc::clone(core.figures()), Arc::downgrade(core)));
    }

    /// Returns the number of times that a journal was attached to this monitor.
    #[cfg(feature = "telemetry")]
    pub(super) fn openings(&self) -> u64 {
        // Relaxed: a number that is a little old belongs to the numbers before it.
        self.openings.load(Relaxed)
    }

    fn show(&self, seen: Seen) {
        // The old value is dropped without the lock.
        let _old = mem::replace(&mut *lock(&self.seen), seen);
    }

    /// Returns the name of the monitor, which is meant for people.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the state of the journal.
    #[must_use]
    pub fn state(&self) -> JournalState {
        match &*lock(&self.seen) {
            Seen::New => JournalState::New,
            Seen::Opening(progress) => JournalState::Opening(*progress),
            Seen::Open(figures, core) if figures.is_closed() || core.strong_count() == 0 => {
                JournalState::Closed
            }
            Seen::Open(..) => JournalState::Open,
            Seen::Failed(why) => JournalState::Failed(why.clone()),
        }
    }

    fn figures(&self) -> Option<Arc<Figures>> {
        match &*lock(&self.seen) {
            Seen::Open(figures, _) => Some(Arc::clone(figures)),
            _ => None,
        }
    }

    /// Returns the counters of the journal. All counters are zero until the journal is open. After
    /// the journal has been closed, the counters no longer change.
    #[must_use]
    pub fn sample(&self) -> JournalSample {
        self.figures()
            .map_or_else(JournalSample::default, |figures| figures.sample())
    }

    /// Returns the text of the error if the latest group of events could not be written, or if the
    /// log is broken. Otherwise returns `None`.
    #[must_use]
    pub fn failure(&self) -> Option<Arc<str>> {
        self.figures()?.failure()
    }

    /// Returns the text of the newest notice, that is, of the newest error that lost no data: see
    /// [`Journal::take_notices`].
    #[must_use]
    pub fn notice(&self) -> Option<Arc<str>> {
        self.figures()?.notice()
    }
}

impl fmt::Debug for Monitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Monitor")
            .field("name", &self.name)
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}
