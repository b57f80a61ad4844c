//! Running telemetry: a sampling thread and a serving thread.
//!
//! ```text
//!   user --watch, forget--> orders --> [ garrick-sample ] --publish--> hub --> [ garrick-serve ] --> clients
//!                                        sleeps between two samples             sleeps until a request arrives
//! ```
//!
//! The sampling thread sleeps between two samples, and sleeps longer when nothing is watched. The
//! serving thread sleeps while no client sends a request or waits for events.

mod error;

mod bind;
mod orders;

mod builder;

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;

use tokio::sync::watch;

pub use builder::{Builder, Observer};
pub use error::StartError;

use crate::history::HistoryReport;
use crate::hub::Hub;
use crate::quiet::Foreign;
use crate::reading::Source;
use crate::sampler::SourceId;
use crate::snapshot::Snapshot;
use crate::sources::IntoSource;
use orders::{Order, Orders};

/// A handle to running telemetry. Dropping the handle stops the telemetry, closes all streams and
/// frees the port.
///
/// # Examples
///
/// ```
/// use garrick_telemetry::{Reading, StageReading, Telemetry};
///
/// // Port 0 selects any free port.
/// let telemetry = Telemetry::builder().address(([127, 0, 0, 1], 0).into()).start()?;
/// println!("see {}", telemetry.url());
///
/// let id = telemetry.watch(|reading: &mut Reading| {
///     reading.stages.push(StageReading { id: "s".to_owned(), messages: 5, ..Default::default() });
/// });
/// telemetry.look();
/// assert_eq!(telemetry.latest().nodes[0].messages, 5);
///
/// telemetry.forget(id);
/// telemetry.look();
/// assert!(telemetry.latest().nodes.is_empty());
/// # Ok::<(), garrick_telemetry::StartError>(())
/// ```
pub struct Telemetry {
    view: View,
    /// Address of the server, if there is one.
    address: Option<SocketAddr>,
    orders: Arc<Orders>,
    /// Number of identifiers that have been assigned to sources. Written by the callers of `watch`.
    numbered: AtomicU64,
    /// True if the server must stop.
    ending: watch::Sender<bool>,
    /// The threads of the telemetry. Empty after they have been joined.
    threads: Vec<JoinHandle<()>>,
}

/// A view of the newest snapshot and the history. Returned by [`Telemetry::view`]. A view can still
/// be used after the telemetry has stopped.
#[derive(Debug, Clone)]
pub struct View {
    hub: Arc<Hub>,
}

impl View {
    /// Returns the newest snapshot.
    pub fn latest(&self) -> Arc<Snapshot> {
        Arc::clone(&self.hub.newest().snapshot)
    }

    /// Returns the history of the last ten minutes, with one point per second.
    pub fn history(&self) -> HistoryReport {
        self.hub.history()
    }
}

impl Telemetry {
    /// Returns a builder with the default settings.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Starts telemetry with the default settings, on 127.0.0.1:9900 or the next free port.
    ///
    /// # Errors
    ///
    /// Returns an error if none of the tried ports is free, or if the system cannot provide a
    /// resource.
    pub fn start() -> Result<Self, StartError> {
        Self::builder().start()
    }

    /// Returns the address that the server listens on.
    ///
    /// # Panics
    ///
    /// Panics if the telemetry was started [`without_server`](Builder::without_server).
    #[track_caller]
    pub fn address(&self) -> SocketAddr {
        let address = self.address;
        address.expect("telemetry that was started `without_server` has no address")
    }

    /// Returns the URL of the dashboard.
    ///
    /// # Panics
    ///
    /// Panics if the telemetry was started [`without_server`](Builder::without_server).
    #[track_caller]
    pub fn url(&self) -> String {
        format!("http://{}/", self.address())
    }

    /// Adds a source, and returns its identifier. The source is read for the next snapshot and for
    /// each later one. A source is a pipeline's monitor, the handle of a system of actors, or any
    /// other [`Source`](crate::Source).
    pub fn watch(&self, source: impl IntoSource) -> SourceId {
        let id = SourceId(self.numbered.fetch_add(1, Relaxed));
        let source = Foreign::new(Box::new(source.into_source()) as Box<dyn Source>);
        self.orders.give(Order::Watch(id, source));
        id
    }

    /// Stops watching the source with the identifier `id`. The next snapshot no longer contains the
    /// values of the source. Does nothing if the source is not watched.
    pub fn forget(&self, id: SourceId) {
        self.orders.give(Order::Forget(id));
    }

    /// Takes a snapshot now, and waits until it is published.
    ///
    /// A source or an observer must not call this method: the sampling thread would wait for itself
    /// forever.
    pub fn look(&self) {
        self.orders.look();
    }

    /// Returns the newest snapshot.
    pub fn latest(&self) -> Arc<Snapshot> {
        self.view.latest()
    }

    /// Returns the history of the last ten minutes, with one point per second.
    pub fn history(&self) -> HistoryReport {
        self.view.history()
    }

    /// Returns a view of the newest snapshot and the history. The view can still be used after this
    /// handle is dropped.
    pub fn view(&self) -> View {
        self.view.clone()
    }
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        self.orders.stop();
        self.ending.send_replace(true);
        for thread in self.threads.drain(..) {
            // Ignores a panic of the thread: the thread has ended in this case, too.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telemetry")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}
