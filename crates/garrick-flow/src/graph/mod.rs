//! Graphs: built, then started.

mod ended;
mod sample;

mod report;

mod monitor;

mod straggler;

mod running;

mod plan;
mod team;

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use garrick_core::ring::CapacityError;

use crate::channel::{self, Line, Receiver, Receivers, Sender, Senders, Slots};
use crate::post::Post;
use crate::stage::Stage;

pub use monitor::Monitor;
pub(crate) use plan::{AnyStage, Opened};
pub use report::{Failure, Report};
pub use running::{Running, Stopper};
pub use sample::{ChannelSample, Sample, StageSample, StageState};
pub use straggler::{Because, Straggler, Unended};
pub use team::Team;

use plan::Planned;
use team::Crew;

/// A pipeline that is being built.
///
/// # Examples
///
/// ```
/// use garrick_flow::{Cx, Graph, Wait};
///
/// let mut graph = Graph::new();
/// let (mut tx, mut rx) = graph.channel::<u32>(64)?;
///
/// let mut left = 100;
/// graph.source("count down", move |_: &mut Cx<'_>| {
///     left -= tx.produce_batch(left.min(10), |index| index as u32);
///     if left == 0 { Wait::done() } else { Wait::free(&tx, 10) }
/// });
/// graph.stage("read", move |_: &mut Cx<'_>| {
///     rx.consume_batch(usize::MAX, |_| ());
///     if rx.is_finished() { Wait::done() } else { Wait::readable(&rx, 1) }
/// });
///
/// let report = graph.start()?.join();
/// assert_eq!((report.channels()[0].sent, report.channels()[0].taken), (100, 100));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Graph {
    post: Arc<Post>,
    lines: Vec<Arc<Line>>,
    stages: Vec<Planned>,
    teams: Vec<Crew>,
    /// From how long on a step is slow, if those are to be counted.
    slow: Option<Duration>,
}

/// Why a graph could not be started.
#[derive(Debug)]
pub struct StartError {
    /// The stage or team that got no thread.
    pub name: String,
    /// Why.
    pub reason: garrick_sched::StartError,
}

impl Graph {
    /// An empty graph.
    pub fn new() -> Self {
        Self {
            post: Arc::new(Post::new()),
            lines: Vec::new(),
            stages: Vec::new(),
            teams: Vec::new(),
            slow: None,
        }
    }

    /// Makes a channel of at least so many values, rounded up to a power of two. [`Slots`] says more than
    /// the number: a name, the size of the batches.
    ///
    /// # Errors
    ///
    /// [`CapacityError`] if the number is 0, or more than there can be memory for.
    pub fn channel<T>(
        &mut self,
        slots: impl Into<Slots>,
    ) -> Result<(Sender<T>, Receiver<T>), CapacityError> {
        let id = u32::try_from(self.lines.len()).expect("fewer channels than a u32 can count");
        let ends = channel::new(id, slots.into(), &self.post)?;
        self.lines.push(ends.line);
        Ok((ends.sender, ends.receiver))
    }

    /// Makes `len` channels of one kind, for a stage that reads or writes several, indexed. If `slots` names
    /// them, their numbers follow the name.
    ///
    /// # Errors
    ///
    /// As for [`channel`](Self::channel).
    ///
    /// # Examples
    ///
    /// ```
    /// use garrick_flow::{Graph, stages};
    ///
    /// let mut graph = Graph::new();
    /// let (numbers, numbers_in) = graph.channel(64)?;
    /// let (halves, halves_in) = graph.bundle::<u32>(2, 64)?;
    /// graph.source("numbers", stages::produce(numbers, 0..1000));
    /// graph.stage("part", stages::partition(numbers_in, halves, |number| number % 10));
    /// for (index, half) in halves_in.into_iter().enumerate() {
    ///     graph.stage(format!("read {index}"), stages::consume(half, |_| ()));
    /// }
    /// let report = graph.start()?.join();
    /// assert_eq!(report.channels()[1].taken + report.channels()[2].taken, 1000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bundle<T>(
        &mut self,
        len: usize,
        slots: impl Into<Slots>,
    ) -> Result<(Senders<T>, Receivers<T>), CapacityError> {
        let slots = slots.into();
        let ends = (0..len).map(|index| self.channel(slots.numbered(index)));
        let (senders, receivers) = ends.collect::<Result<(Vec<_>, Vec<_>), _>>()?;
        Ok((Senders::new(senders), Receivers::new(receivers)))
    }

    /// Counts the steps that take `from` or longer, in [`StageSample::slow_steps`]. Each step then reads the
    /// clock, which costs some tens of nanoseconds.
    pub fn count_slow_steps(&mut self, from: Duration) {
        self.slow = Some(from);
    }

    /// Adds a stage with a thread of its own.
    pub fn stage(&mut self, name: impl Into<String>, stage: impl Stage) {
        let name = name.into();
        self.team(name.clone()).add(name, stage, false);
    }

    /// Adds a stage with a thread of its own that ends when the graph is to stop, by
    /// [`Running::stop`] or [`Cx::stop`](crate::Cx::stop).
    pub fn source(&mut self, name: impl Into<String>, source: impl Stage) {
        let name = name.into();
        self.team(name.clone()).add(name, source, true);
    }

    /// Adds a thread for several stages, which take turns.
    ///
    /// # Examples
    ///
    /// ```
    /// use garrick_flow::{Graph, stages};
    ///
    /// let mut graph = Graph::new();
    /// let (tx, rx) = graph.channel::<u32>(64)?;
    /// graph
    ///     .team("all")
    ///     .source("numbers", stages::produce(tx, 0..1000))
    ///     .stage("read", stages::consume(rx, |_| ()));
    /// assert_eq!(graph.start()?.join().channels()[0].taken, 1000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn team(&mut self, name: impl Into<String>) -> Team<'_> {
        self.teams.push(Crew::new(name.into()));
        Team::last_of(self)
    }

    /// Starts all threads, then all stages.
    ///
    /// # Errors
    ///
    /// [`StartError`] if there is no thread for a stage, or not the core that it is to have. Nothing has run then.
    pub fn start(self) -> Result<Running, StartError> {
        plan::start(self)
    }

    pub(crate) fn post(&self) -> &Post {
        &self.post
    }

    pub(crate) fn lines(&self) -> &[Arc<Line>] {
        &self.lines
    }
}

impl Default for Graph {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.stages.iter().map(|stage| &stage.name).collect();
        f.debug_struct("Graph")
            .field("stages", &names)
            .field("channels", &self.lines)
            .finish()
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no thread for \"{}\": {}", self.name, self.reason)
    }
}

impl Error for StartError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.reason)
    }
}
