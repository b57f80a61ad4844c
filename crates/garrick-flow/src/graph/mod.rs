//! Graphs: built, then started.

mod ended;
mod sample;

mod monitor;
mod report;

mod running;

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use garrick_core::ring::CapacityError;
use garrick_sched::{Address, Handle, Sponsor};

use crate::channel::{self, Line, Receiver, Receivers, Sender, Senders, Slots};
use crate::post::{Post, StageId, Wake};
use crate::stage::{Env, Stage, StageTask, Work};

pub use monitor::Monitor;
pub use report::{Failure, Report};
pub use running::{Running, Stopper};
pub use sample::{ChannelSample, Sample, StageSample, StageState};

use ended::Ended;
use monitor::Member;

/// Makes a stage's task on a sponsor, once.
type Launch = Box<dyn FnOnce(&Handle, Env) -> Address<Wake> + Send>;

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

/// A stage that is to be started.
struct Planned {
    name: String,
    is_source: bool,
    /// Its thread, as an index into `Graph::teams`.
    team: usize,
    launch: Launch,
}

/// A thread that is to be started.
struct Crew {
    name: String,
    core: Option<usize>,
    /// How many stages it has.
    size: usize,
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
        self.teams.push(Crew {
            name: name.into(),
            core: None,
            size: 0,
        });
        Team { graph: self }
    }

    /// Starts all threads, then all stages.
    ///
    /// # Errors
    ///
    /// [`StartError`] if there is no thread for a stage. Nothing has run then.
    pub fn start(self) -> Result<Running, StartError> {
        let sponsors = self
            .teams
            .iter()
            .map(Crew::start)
            .collect::<Result<Vec<_>, _>>()?;
        let handles: Vec<_> = sponsors.iter().map(Sponsor::handle).collect();
        let ended = Arc::new(Ended::new(self.stages.len()));
        let lines: Arc<[_]> = self.lines.into();
        let (mut members, mut addresses, mut sources) = (Vec::new(), Vec::new(), Vec::new());
        for (id, planned) in (0..).zip(self.stages) {
            let crew = &self.teams[planned.team];
            let env = Env {
                id,
                is_source: planned.is_source,
                lines: Arc::clone(&lines),
                post: Arc::clone(&self.post),
                work: Work::new(crew.size > 1, self.slow),
                on_end: Ended::listener(&ended, id),
            };
            if planned.is_source {
                sources.push(id);
            }
            members.push(Member {
                name: planned.name,
                team: crew.name.clone(),
                core: crew.core,
                work: env.work.reader(),
            });
            addresses.push((planned.launch)(&handles[planned.team], env));
        }
        self.post.open(addresses, sources);
        let monitor = Monitor::new(members, lines, ended);
        Ok(Running::new(sponsors, self.post, monitor))
    }

    pub(crate) fn post(&self) -> &Post {
        &self.post
    }

    pub(crate) fn lines(&self) -> &[Arc<Line>] {
        &self.lines
    }
}

impl Crew {
    fn start(&self) -> Result<Sponsor, StartError> {
        let builder = Sponsor::builder().name(self.name.clone()).pin_to(self.core);
        builder.start().map_err(|reason| StartError {
            name: self.name.clone(),
            reason,
        })
    }
}

/// A thread that several stages share; from [`Graph::team`].
#[derive(Debug)]
pub struct Team<'a> {
    /// The graph, whose last crew is this one.
    graph: &'a mut Graph,
}

impl Team<'_> {
    /// Adds a stage.
    pub fn stage(self, name: impl Into<String>, stage: impl Stage) -> Self {
        self.add(name.into(), stage, false)
    }

    /// Adds a stage that ends when the graph is to stop.
    pub fn source(self, name: impl Into<String>, source: impl Stage) -> Self {
        self.add(name.into(), source, true)
    }

    /// Pins the thread to a core, counted from 0. Where the system cannot pin, nothing happens.
    pub fn pin_to(self, core: usize) -> Self {
        if let Some(crew) = self.graph.teams.last_mut() {
            crew.core = Some(core);
        }
        self
    }

    fn add(self, name: String, stage: impl Stage, is_source: bool) -> Self {
        let launch: Launch = Box::new(|sponsor, env| {
            let spawned = sponsor.spawn(StageTask::new(stage, env));
            spawned.unwrap_or_else(|_| unreachable!("the sponsor has just been started"))
        });
        let team = self.graph.teams.len() - 1;
        self.graph.teams[team].size += 1;
        let fits = StageId::try_from(self.graph.stages.len()).is_ok();
        assert!(fits, "fewer stages than a u32 can count");
        self.graph.stages.push(Planned {
            name,
            is_source,
            team,
            launch,
        });
        self
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
