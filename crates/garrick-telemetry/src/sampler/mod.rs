//! The sampler, which creates snapshots from the readings of sources.
//!
//! ```text
//!   sources --read--> Reading --tracks--> Snapshot --rules--> Snapshot with alerts
//!                                                      \----> transitions
//! ```
//!
//! The sampler has no clock and no thread. Its owner calls the sampler and passes the time.
//! [`Telemetry`](crate::Telemetry) calls the sampler on a dedicated thread. Tests call it directly.

mod labels;
mod messages;
#[cfg(feature = "metrics")]
mod own;
mod settings;
mod track;

mod build;

mod cluster;
mod journals;
mod trouble;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use garrick_sched::nanos;

pub use settings::{Settings, SettingsError};

use crate::alert::{Rules, Transition};
use crate::bottleneck;
use crate::history::{History, HistoryReport};
use crate::process;
use crate::quiet::Foreign;
use crate::reading::{Reading, Source};
#[cfg(feature = "metrics")]
use crate::recorder::Recorder;
use crate::snapshot::Snapshot;
use crate::sources::IntoSource;
use crate::trouble::{FailureReport, SharedBook, TreeReport};
use crate::window::{At, Nanos, Pace};
use cluster::Clusters;
use journals::Journals;
use labels::Labels;
#[cfg(feature = "metrics")]
use own::Own;
use track::Tracks;

/// The identifier of a watched source. Returned by [`Sampler::watch`] and
/// [`Telemetry::watch`](crate::Telemetry::watch).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceId(pub(crate) u64);

/// The time of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moment {
    /// Time since the start of the telemetry. This time must not decrease from one snapshot to the
    /// next.
    pub uptime: Duration,
    /// Calendar time of the snapshot: milliseconds since 1970-01-01, UTC.
    pub unix_ms: u64,
}

/// The part of telemetry that creates snapshots. At each [`tick`](Self::tick), a sampler reads its
/// sources and creates a snapshot from their values.
///
/// A sampler has no clock and no thread: the caller passes the time.
/// [`Telemetry`](crate::Telemetry) runs a sampler on a dedicated thread. Tests can use a sampler
/// directly.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use garrick_telemetry::{ChannelReading, Moment, Reading, Sampler, Settings};
///
/// let mut sampler = Sampler::new(Settings::default())?;
/// let mut taken = 0;
/// sampler.watch(move |reading: &mut Reading| {
///     taken += 50;
///     reading.channels.push(ChannelReading { id: "c".to_owned(), taken, ..Default::default() });
/// });
///
/// let at = |ms| Moment { uptime: Duration::from_millis(ms), unix_ms: ms };
/// sampler.tick(at(0));
/// let snapshot = sampler.tick(at(100)).0;
/// assert_eq!((snapshot.edges[0].total, snapshot.edges[0].rate), (100, 500.0));
/// # Ok::<(), garrick_telemetry::SettingsError>(())
/// ```
pub struct Sampler {
    settings: Settings,
    pace: Pace,
    sources: Vec<Watched>,
    labels: Labels,
    /// Number of sources that have been watched so far.
    numbered: u64,
    /// Number of snapshots created so far.
    sequence: u64,
    process: process::Reader,
    rules: Rules,
    /// History, shared with readers that request it while a source is being read.
    history: Arc<Mutex<History>>,
    /// Failures and supervision trees, shared with readers that request them while a source is
    /// being read.
    book: SharedBook,
    /// Number of sources that panicked.
    failed: u64,
    /// Metrics that the program itself records.
    #[cfg(feature = "metrics")]
    own: Option<Own>,
}

/// A source, and its past counts.
struct Watched {
    id: SourceId,
    source: Foreign<Box<dyn Source>>,
    tracks: Tracks,
    /// Past counts of the journals of the source.
    journals: Journals,
    /// Past counts of the cluster links and the kinds of entities that the source reports.
    clusters: Clusters,
}

impl Sampler {
    /// Creates a sampler without sources.
    ///
    /// # Errors
    ///
    /// Returns an error if the interval or the window in `settings` is out of range.
    pub fn new(settings: Settings) -> Result<Self, SettingsError> {
        settings.check()?;
        Ok(Self {
            pace: Pace::new(nanos(settings.window)),
            sources: Vec::new(),
            labels: Labels::default(),
            numbered: 0,
            sequence: 0,
            process: process::Reader::new(settings.name.clone()),
            rules: Rules::new(settings.thresholds.clone()),
            history: Arc::default(),
            book: SharedBook::default(),
            failed: 0,
            #[cfg(feature = "metrics")]
            own: None,
            settings,
        })
    }

    /// Adds a source, which is read at the next tick and at each later one. Returns the identifier
    /// of the source.
    pub fn watch(&mut self, source: impl IntoSource) -> SourceId {
        let id = SourceId(self.numbered);
        self.watch_as(id, Foreign::new(Box::new(source.into_source())));
        id
    }

    /// Watches `source` under an identifier that the caller has assigned.
    pub(crate) fn watch_as(&mut self, id: SourceId, source: Foreign<Box<dyn Source>>) {
        self.numbered = self.numbered.max(id.0 + 1);
        self.sources.push(Watched {
            id,
            source,
            tracks: Tracks::default(),
            journals: Journals::default(),
            clusters: Clusters::default(),
        });
    }

    /// Adds the metrics of `recorder` to the snapshot of the next tick and to all later snapshots.
    /// Replaces the recorder of an earlier call.
    #[cfg(feature = "metrics")]
    pub fn watch_recorder(&mut self, recorder: &Recorder) {
        self.own = Some(Own::new(recorder.clone()));
    }

    /// Stops watching the source `id`. Does nothing if the source is not watched.
    pub fn forget(&mut self, id: SourceId) {
        self.sources.retain(|watched| watched.id != id);
        self.book.lock().forget(id.0);
    }

    /// Returns the number of watched sources.
    pub fn watched(&self) -> usize {
        self.sources.len()
    }

    /// Returns the number of sources that panicked and are no longer watched.
    pub fn failed(&self) -> u64 {
        self.failed
    }

    /// Reads all sources. Returns the snapshot for `moment`, and the alerts that have begun,
    /// changed or ended since the previous tick.
    pub fn tick(&mut self, moment: Moment) -> (Snapshot, Vec<Transition>) {
        let now = nanos(moment.uptime);
        let mut snapshot = Snapshot {
            sequence: self.sequence,
            unix_ms: moment.unix_ms,
            uptime: moment.uptime.as_secs_f64(),
            window: moment.uptime.min(self.settings.window).as_secs_f64(),
            process: self.process.read(self.pace, now),
            ..Snapshot::default()
        };
        self.sequence += 1;
        self.read_sources(&mut snapshot, now);
        bottleneck::find(&mut snapshot);
        build::rank(&mut snapshot.actors);
        let window = nanos(self.settings.window);
        trouble::write(&self.book, &mut snapshot, now, window);
        #[cfg(feature = "metrics")]
        if let Some(own) = &mut self.own {
            own.read(&mut snapshot, self.pace, now);
        }
        let transitions = self.rules.judge(&mut snapshot, now);
        lock(&self.history).take(&snapshot, now);
        (snapshot, transitions)
    }

    fn read_sources(&mut self, snapshot: &mut Snapshot, now: Nanos) {
        let mut reading = Reading::default();
        let (at, before) = (
            At {
                pace: self.pace,
                now,
            },
            self.sources.len(),
        );
        let labels = &mut self.labels;
        labels.begin();
        self.sources.retain_mut(|watched| {
            reading.clear();
            // A source is user code. If it panics, it is dropped, and its reading is discarded.
            let read = watched.source.call(|source| source.read(&mut reading));
            let whole = read.is_some();
            if whole {
                let prefix = watched.id.0;
                trouble::take(&self.book, snapshot, prefix, &mut reading, labels, now);
                let tracks = &mut watched.tracks;
                build::add(snapshot, prefix, &mut reading, tracks, labels, at);
                let (seen, past) = (&mut reading.journals, &mut watched.journals);
                journals::add(snapshot, prefix, seen, past, labels, at);
                let past = &mut watched.clusters;
                cluster::add(snapshot, prefix, &mut reading, past, labels, at);
            }
            if !whole {
                self.book.lock().forget(watched.id.0);
            }
            whole
        });
        labels.end();
        self.failed += (before - self.sources.len()) as u64;
    }

    /// Returns the history of the last ten minutes, with one point per second.
    pub fn history(&self) -> HistoryReport {
        let copied = lock(&self.history).copied();
        copied.into_report()
    }

    /// Returns a shared reference to the history of the last minutes.
    pub(crate) fn shared_history(&self) -> Arc<Mutex<History>> {
        Arc::clone(&self.history)
    }

    /// Returns a shared reference to the failures and supervision trees.
    pub(crate) fn shared_book(&self) -> SharedBook {
        self.book.clone()
    }

    /// Returns all failures that the sampler remembers: the content of `/failures.json`.
    pub fn failures(&self) -> FailureReport {
        self.book.lock().failures()
    }

    /// Returns all supervision trees: the content of `/tree.json`.
    pub fn trees(&self) -> TreeReport {
        self.book.lock().trees()
    }

    /// Returns true if there is no source and no recorder to read.
    pub(crate) fn is_idle(&self) -> bool {
        #[cfg(feature = "metrics")]
        let has_recorder = self.own.is_some();
        #[cfg(not(feature = "metrics"))]
        let has_recorder = false;
        self.sources.is_empty() && !has_recorder
    }

    /// Returns the configured time between two samples.
    pub(crate) fn interval(&self) -> Duration {
        self.settings.interval
    }
}

fn lock(history: &Mutex<History>) -> MutexGuard<'_, History> {
    history.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Sampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sampler")
            .field("settings", &self.settings)
            .field("watched", &self.sources.len())
            .field("sequence", &self.sequence)
            .finish_non_exhaustive()
    }
}
