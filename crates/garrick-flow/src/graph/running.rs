//! A graph that runs.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use garrick_sched::Sponsor;

use super::monitor::Monitor;
use super::report::{Failure, Report};
use super::sample::Sample;
use crate::post::Post;

/// A graph that runs; from [`Graph::start`](crate::Graph::start). Dropping it ends it at once: each stage is
/// dropped after the step under way, and what is in the channels with it.
pub struct Running {
    /// The threads. Dropped first: what they use is below.
    sponsors: Vec<Sponsor>,
    post: Arc<Post>,
    /// Sees the stages and channels.
    monitor: Monitor,
}

/// Stops a graph, from anywhere; from [`Running::stopper`].
#[derive(Debug, Clone)]
pub struct Stopper {
    post: Arc<Post>,
}

impl Stopper {
    /// Ends the sources, and so the graph, in order.
    pub fn stop(&self) {
        self.post.stop();
    }
}

impl Running {
    pub(super) fn new(sponsors: Vec<Sponsor>, post: Arc<Post>, monitor: Monitor) -> Self {
        Self {
            sponsors,
            post,
            monitor,
        }
    }

    /// Ends the sources after the step under way, and so the graph: what is in flight is handled first.
    ///
    /// # Examples
    ///
    /// ```
    /// use garrick_flow::{Graph, stages};
    ///
    /// let mut graph = Graph::new();
    /// let (tx, rx) = graph.channel(1024)?;
    /// graph.source("endless", stages::produce(tx, 0u64..));
    /// graph.stage("read", stages::consume(rx, |_| ()));
    ///
    /// let running = graph.start()?;
    /// while running.totals().channels[0].taken < 10_000 {
    ///     std::thread::yield_now();
    /// }
    /// running.stop();
    /// let report = running.join();
    /// assert_eq!(report.channels()[0].sent, report.channels()[0].taken);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stop(&self) {
        self.post.stop();
    }

    /// Makes something that stops the graph from elsewhere.
    pub fn stopper(&self) -> Stopper {
        Stopper {
            post: Arc::clone(&self.post),
        }
    }

    /// Waits until all stages have ended, and says what was done.
    pub fn join(mut self) -> Report {
        self.monitor.ended().wait();
        // The stages have ended, so their threads have nothing left to do.
        self.sponsors.drain(..).for_each(Sponsor::shutdown);
        Report {
            totals: self.totals(),
            failures: self.failures(),
        }
    }

    /// Waits until all stages have ended, but `timeout` at most, and says whether they have.
    pub fn wait_timeout(&self, timeout: Duration) -> bool {
        self.monitor.ended().wait_timeout(timeout)
    }

    /// Makes something that sees what the graph does, from elsewhere, and also when it has ended.
    pub fn monitor(&self) -> Monitor {
        self.monitor.clone()
    }

    /// What was done so far, as [`Monitor::sample`] has it.
    pub fn totals(&self) -> Sample {
        self.monitor.sample()
    }

    fn failures(&self) -> Vec<Failure> {
        let failure = |(stage, message)| Failure {
            stage: self.monitor.name_of(stage).to_owned(),
            message,
        };
        let panics = self.monitor.ended().panics();
        panics.into_iter().map(failure).collect()
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running")
            .field("totals", &self.totals())
            .finish_non_exhaustive()
    }
}
