//! Passes snapshots from the sampler to their readers.
//!
//! ```text
//!   sampler --publish--> [ newest frame ] --watched by--> event streams
//!                                         --read by-----> requests, exports
//!                        [ transitions of 256 samples ] --read by--> event streams
//! ```
//!
//! A *frame* is a snapshot with its cached renderings. The hub keeps only the newest frame, and has
//! no queue. When a slow reader is ready, it receives the newest frame, and misses the frames
//! before it. Each frame is rendered once for all readers, and only if a reader requests it.
//!
//! The history, the failures and the supervision trees change less often than snapshots. Each of
//! them has its own cached rendering, which is used until there is a new version.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use serde::Serialize;
use tokio::sync::watch;

use crate::alert::Transition;
use crate::history::{History, HistoryReport};
use crate::render::dot;
use crate::render::prometheus::{self, Format};
use crate::snapshot::Snapshot;
use crate::trouble::SharedBook;

/// Maximum number of samples whose alert changes a [`Hub`] keeps, so that event streams can still
/// send them. Samples without an alert change do not count.
const SAMPLES_MAX: usize = 256;

/// Maximum number of alert changes that a [`Hub`] keeps. If the newest sample alone has more, all
/// of its changes are kept.
const TRANSITIONS_MAX: usize = 16_384;

/// Bytes that many streams can share.
pub(crate) type Bytes = axum::body::Bytes;

/// A snapshot with its cached renderings.
#[derive(Debug, Default)]
pub(crate) struct Frame {
    pub(crate) snapshot: Arc<Snapshot>,
    json: OnceLock<Bytes>,
    event: OnceLock<Bytes>,
    dot: OnceLock<Bytes>,
    metrics: OnceLock<Bytes>,
    open_metrics: OnceLock<Bytes>,
}

impl Frame {
    fn new(snapshot: Snapshot) -> Self {
        Self {
            snapshot: Arc::new(snapshot),
            ..Self::default()
        }
    }

    /// Returns the snapshot as JSON.
    pub(crate) fn json(&self) -> Bytes {
        let render = || to_json(&*self.snapshot);
        self.json.get_or_init(render).clone()
    }

    /// Returns the snapshot as a server-sent event. The event's id is the sequence number of the
    /// snapshot.
    pub(crate) fn event(&self) -> Bytes {
        let render = || {
            let mut event = format!("id: {}\ndata: ", self.snapshot.sequence).into_bytes();
            event.extend_from_slice(&self.json());
            event.extend_from_slice(b"\n\n");
            event.into()
        };
        self.event.get_or_init(render).clone()
    }

    /// Returns the graph of the snapshot in the language of Graphviz.
    pub(crate) fn dot(&self) -> Bytes {
        let render = || dot::render(&self.snapshot).into();
        self.dot.get_or_init(render).clone()
    }

    /// Returns the metrics of the snapshot in the given format.
    pub(crate) fn metrics(&self, format: Format) -> Bytes {
        let cached = match format {
            Format::Text => &self.metrics,
            Format::OpenMetrics => &self.open_metrics,
        };
        let render = || prometheus::render(&self.snapshot, format).into();
        cached.get_or_init(render).clone()
    }
}

/// A cached JSON rendering, with the version number of the rendered data.
#[derive(Debug, Default)]
struct Cached(Mutex<Option<(u64, Bytes)>>);

impl Cached {
    /// Returns the JSON rendering of the current version. `report` receives the version of the
    /// cached rendering. If the current version is different, `report` returns the current version
    /// with its report. Otherwise, `report` returns `None`.
    fn json<T: Serialize>(&self, report: impl FnOnce(Option<u64>) -> Option<(u64, T)>) -> Bytes {
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = cached.as_ref().map(|(version, _)| *version);
        // The lock of the report is free again when the report is rendered, so the sampler does not
        // wait for the rendering.
        if let Some((version, report)) = report(last) {
            *cached = Some((version, to_json(&report)));
        }
        let bytes = cached.as_ref().map(|(_, bytes)| bytes.clone());
        bytes.unwrap_or_default()
    }
}

/// Renders `value` as JSON, or as an empty object if it cannot be rendered. All values in this
/// crate can be rendered.
pub(crate) fn to_json(value: &impl Serialize) -> Bytes {
    serde_json::to_vec(value).map_or(Bytes::from_static(b"{}"), Bytes::from)
}

/// The latest alert changes. All changes are numbered from 0.
#[derive(Debug, Default)]
struct Log {
    /// Sequence number of the oldest alert change that is kept.
    first: u64,
    /// The latest alert changes, each as a server-sent event.
    kept: VecDeque<Bytes>,
    /// Numbers of kept alert changes of each sample that has some, the oldest sample first. The
    /// changes of a sample are kept or dropped together.
    samples: VecDeque<usize>,
}

/// Counters of a [`Hub`], for `/health` and tests. Only the server's thread writes them.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Number of open connections.
    pub(crate) connections: AtomicU64,
    /// Number of open event streams.
    pub(crate) streams: AtomicU64,
    /// Number of connections that were rejected.
    pub(crate) refused: AtomicU64,
}

/// Passes snapshots from the sampler to their readers.
#[derive(Debug)]
pub(crate) struct Hub {
    /// The newest snapshot, with its cached renderings. Written by the sampler.
    newest: watch::Sender<Arc<Frame>>,
    /// The latest alert changes. Written by the sampler, read by event streams.
    log: Mutex<Log>,
    history: Arc<Mutex<History>>,
    /// Recent failures and the supervision trees. Written by the sampler.
    book: SharedBook,
    history_json: Cached,
    failures_json: Cached,
    trees_json: Cached,
    pub(crate) counts: Counts,
}

impl Hub {
    /// Creates a hub, which passes snapshots to their readers. The newest snapshot is `snapshot`.
    pub(crate) fn new(snapshot: Snapshot, history: Arc<Mutex<History>>) -> Self {
        Self {
            newest: watch::Sender::new(Arc::new(Frame::new(snapshot))),
            log: Mutex::default(),
            history,
            book: SharedBook::default(),
            history_json: Cached::default(),
            failures_json: Cached::default(),
            trees_json: Cached::default(),
            counts: Counts::default(),
        }
    }

    /// Makes this hub use the failures and supervision trees of a sampler, and returns this hub.
    pub(crate) fn with_book(self, book: SharedBook) -> Self {
        Self { book, ..self }
    }

    /// Returns all failures that the sampler remembers, as JSON.
    pub(crate) fn failures_json(&self) -> Bytes {
        self.failures_json.json(|last| {
            let book = self.book.lock();
            let version = book.failure_changes();
            (last != Some(version)).then(|| (version, book.failures()))
        })
    }

    /// Returns all supervision trees, as JSON.
    pub(crate) fn trees_json(&self) -> Bytes {
        self.trees_json.json(|last| {
            let book = self.book.lock();
            let version = book.tree_changes();
            (last != Some(version)).then(|| (version, book.trees()))
        })
    }

    /// Replaces the newest snapshot with `snapshot`, and wakes all waiting readers.
    pub(crate) fn publish(&self, snapshot: Snapshot, transitions: &[Transition]) {
        self.log().add(transitions);
        self.newest.send_replace(Arc::new(Frame::new(snapshot)));
    }

    /// Returns the newest snapshot with its renderings.
    pub(crate) fn newest(&self) -> Arc<Frame> {
        Arc::clone(&self.newest.borrow())
    }

    /// Returns a receiver that waits for new snapshots.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Arc<Frame>> {
        self.newest.subscribe()
    }

    /// Returns the sequence number that the next alert change will get.
    pub(crate) fn transitions(&self) -> u64 {
        self.log().end()
    }

    /// Returns the alert changes that are still kept, beginning with the sequence number `first`,
    /// as server-sent events. Also returns the sequence number that the next change will get.
    pub(crate) fn transitions_since(&self, first: u64) -> (Vec<Bytes>, u64) {
        let log = self.log();
        let skip = usize::try_from(first.saturating_sub(log.first)).unwrap_or(usize::MAX);
        (log.kept.iter().skip(skip).cloned().collect(), log.end())
    }

    /// Returns the history of the last minutes.
    pub(crate) fn history(&self) -> HistoryReport {
        let history = self.history.lock();
        let copied = history.unwrap_or_else(PoisonError::into_inner).copied();
        copied.into_report()
    }

    /// Returns the history of the last minutes, as JSON.
    pub(crate) fn history_json(&self) -> Bytes {
        self.history_json.json(|last| {
            // Converts the copy after the unlock, because the sampler waits for this lock.
            let copied = {
                let history = self.history.lock();
                let history = history.unwrap_or_else(PoisonError::into_inner);
                let version = history.points();
                (last != Some(version)).then(|| (version, history.copied()))
            };
            copied.map(|(version, copied)| (version, copied.into_report()))
        })
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log {
    /// Adds the alert changes of a sample. Drops those of the oldest samples if there are too many.
    fn add(&mut self, transitions: &[Transition]) {
        if transitions.is_empty() {
            return;
        }
        self.samples.push_back(transitions.len());
        for transition in transitions {
            let mut event = b"event: alert\ndata: ".to_vec();
            event.extend_from_slice(&to_json(transition));
            event.extend_from_slice(b"\n\n");
            self.kept.push_back(event.into());
        }
        while self.samples.len() > SAMPLES_MAX
            || self.kept.len() > TRANSITIONS_MAX && self.samples.len() > 1
        {
            let oldest = self.samples.pop_front().unwrap_or_default();
            self.kept.drain(..oldest);
            self.first += oldest as u64;
        }
    }

    fn end(&self) -> u64 {
        self.first + self.kept.len() as u64
    }
}

/// Guard that increments a counter, and decrements it when dropped.
#[derive(Debug)]
pub(crate) struct Counted {
    hub: Arc<Hub>,
    count: fn(&Counts) -> &AtomicU64,
}

impl Counted {
    /// Increments the counter that `count` selects.
    pub(crate) fn new(hub: &Arc<Hub>, count: fn(&Counts) -> &AtomicU64) -> Self {
        count(&hub.counts).fetch_add(1, Relaxed);
        Self {
            hub: Arc::clone(hub),
            count,
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        (self.count)(&self.hub.counts).fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trouble::FailureReading;

    fn hub() -> Hub {
        Hub::new(Snapshot::default(), Arc::default())
    }

    #[test]
    fn who_is_slow_gets_the_newest() {
        let hub = hub();
        let mut slow = hub.subscribe();
        for sequence in 1..=5 {
            let snapshot = Snapshot {
                sequence,
                ..Snapshot::default()
            };
            hub.publish(snapshot, &[]);
        }
        assert_eq!(slow.borrow_and_update().snapshot.sequence, 5);
        assert!(!slow.has_changed().expect("the hub is there"));
        let event = hub.newest().event();
        assert!(event.starts_with(b"id: 5\ndata: {\"sequence\":5,"));
        assert!(event.ends_with(b"}\n\n"));
    }

    #[test]
    fn transitions_are_kept_in_number_and_order() {
        let hub = hub();
        let one = [Transition::default()];
        hub.publish(Snapshot::default(), &one);
        assert_eq!(hub.transitions(), 1);
        for _ in 0..1000 {
            hub.publish(Snapshot::default(), &one);
        }
        assert_eq!(hub.transitions_since(0).0.len(), SAMPLES_MAX);
        let (late, end) = hub.transitions_since(999);
        assert_eq!((late.len(), end), (2, 1001));
        assert!(hub.transitions_since(u64::MAX).0.is_empty());
    }

    #[test]
    fn many_transitions_of_one_sample_are_kept() {
        let hub = hub();
        let many = vec![Transition::default(); 1000];
        hub.publish(Snapshot::default(), &many);
        for _ in 0..10 {
            hub.publish(Snapshot::default(), &many[..1]);
            hub.publish(Snapshot::default(), &[]);
        }
        let (kept, end) = hub.transitions_since(0);
        assert_eq!((kept.len(), end), (1010, 1010));
        // Only whole samples are dropped, and never the newest one.
        for _ in 0..20 {
            hub.publish(Snapshot::default(), &many);
        }
        let (kept, end) = hub.transitions_since(0);
        assert_eq!((kept.len(), end), (16_000, 21_010));
        let most = vec![Transition::default(); TRANSITIONS_MAX + 1];
        hub.publish(Snapshot::default(), &most);
        let (kept, end) = hub.transitions_since(21_010);
        assert_eq!((kept.len(), end), (most.len(), 21_010 + most.len() as u64));
    }

    #[test]
    fn reports_are_rendered_again_after_each_change() {
        let history = Arc::new(Mutex::new(History::default()));
        let hub = Hub::new(Snapshot::default(), Arc::clone(&history));
        let renderings = || [hub.history_json(), hub.failures_json(), hub.trees_json()];
        let first = renderings();
        let mut history = history.lock().expect("nothing panics");
        history.take(&Snapshot::default(), 0);
        drop(history);
        let failures = [FailureReading::default()];
        hub.book.lock().add_failures(0, failures, 0, 0);
        hub.book.lock().set_trees(0, Vec::new(), 0);
        let second = renderings();
        assert!(first.iter().zip(&second).all(|(a, b)| a != b), "{second:?}");
        hub.book.lock().forget(0);
        assert_eq!(hub.failures_json(), first[1]);
        assert!(hub.trees_json().starts_with(b"{\"changes\":2,"));
    }
}
