//! Telemetry at work: a thread that samples, and one that serves.
//!
//! ```text
//!   user --watch, forget--> orders --> [ garrick-sample ] --publish--> hub --> [ garrick-serve ] --> clients
//!                                        rests between two looks                rests until somebody asks
//! ```
//!
//! The sampling thread sleeps from one look to the next, and for long when nothing is watched. Nothing else wakes
//! by itself.

mod bind;
mod builder;
mod error;
mod orders;

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

/// Telemetry at work. Dropping it ends it: streams are closed, the port is free again.
///
/// # Examples
///
/// ```
/// use garrick_telemetry::{Reading, StageReading, Telemetry};
///
/// // Port 0 is any that is free.
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
    address: SocketAddr,
    orders: Arc<Orders>,
    /// Numbers given to sources so far. Written by those who watch.
    numbered: AtomicU64,
    /// Turns true when the server is to end.
    ending: watch::Sender<bool>,
    /// The threads; none once they have ended.
    threads: Vec<JoinHandle<()>>,
}

/// Sees what telemetry sees, for as long as you like; from [`Telemetry::view`].
#[derive(Debug, Clone)]
pub struct View {
    hub: Arc<Hub>,
}

impl View {
    /// The newest snapshot.
    pub fn latest(&self) -> Arc<Snapshot> {
        Arc::clone(&self.hub.newest().snapshot)
    }

    /// The last minutes, a point a second.
    pub fn history(&self) -> HistoryReport {
        self.hub.history()
    }
}

impl Telemetry {
    /// Says how it is to be.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Starts with what is usual: at 127.0.0.1:9900, or the next port that is free.
    ///
    /// # Errors
    ///
    /// When none of the ports that are tried is free, or the system has no means for it.
    pub fn start() -> Result<Self, StartError> {
        Self::builder().start()
    }

    /// Where it serves.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of its page.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Watches `source`, from now on: a pipeline's monitor, the handle of a system of actors, or a
    /// [`Source`](crate::Source) of your own.
    pub fn watch(&self, source: impl IntoSource) -> SourceId {
        let id = SourceId(self.numbered.fetch_add(1, Relaxed));
        let source = Foreign::new(Box::new(source.into_source()) as Box<dyn Source>);
        self.orders.give(Order::Watch(id, source));
        id
    }

    /// Watches the source no longer. What it was is no longer shown.
    pub fn forget(&self, id: SourceId) {
        self.orders.give(Order::Forget(id));
    }

    /// Takes a snapshot now, and waits until it is there.
    ///
    /// A source or an observer must not call this: it would wait for itself.
    pub fn look(&self) {
        self.orders.look();
    }

    /// The newest snapshot.
    pub fn latest(&self) -> Arc<Snapshot> {
        self.view.latest()
    }

    /// The last minutes, a point a second.
    pub fn history(&self) -> HistoryReport {
        self.view.history()
    }

    /// Something to read snapshots from elsewhere.
    pub fn view(&self) -> View {
        self.view.clone()
    }
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        self.orders.stop();
        self.ending.send_replace(true);
        for thread in self.threads.drain(..) {
            // A thread that panicked has ended as well.
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
