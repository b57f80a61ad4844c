//! Graphs of stages and channels: a program builds a graph, and then starts it.

mod ended;
mod sample;

mod report;

mod monitor;

mod straggler;

mod running;

mod planned;

mod shape;
mod team;

mod plan;

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use garrick_core::ring::CapacityError;

use crate::channel::{self, Line, Receiver, Receivers, Sender, Senders, Slots};
use crate::post::Post;
use crate::stage::Stage;
use crate::wires;
use crate::wiring::{Ends, Wiring};

pub use monitor::Monitor;
pub(crate) use plan::Opened;
pub(crate) use planned::AnyStage;
pub use report::{Failure, Report};
pub use running::{Running, Stopper, Unended};
pub use sample::{ChannelSample, Sample, StageSample, StageState};
pub use straggler::{Because, Straggler};
pub use team::Team;

use planned::Planned;
use team::Crew;

/// A pipeline of channels and stages that has not been started yet. [`start`](Self::start) starts
/// the pipeline.
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
///     if left == 0 || tx.is_closed() { Wait::done() } else { Wait::free(&tx, 10) }
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
    /// Minimum duration of a slow step, if slow steps are counted.
    slow: Option<Duration>,
    /// Time for which a loop may continue after the sources are stopped.
    grace: Duration,
    /// Name of a channel that was marked as feedback although it belongs to another graph, if there
    /// is one.
    foreign_feedback: Option<String>,
}

/// Default for the maximum time that a loop continues after its graph was told to stop. The time is
/// much longer than messages usually stay in a loop, but acceptable for a thread that waits for the
/// end of the graph.
const GRACE: Duration = Duration::from_secs(10);

/// The error returned by [`Graph::start`].
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// The thread of a stage or team could not be started.
    Thread {
        /// Name of the stage or team.
        name: String,
        /// Reason why the thread could not be started.
        reason: garrick_sched::StartError,
    },
    /// The node of the simulation on which the graph was to run has crashed.
    NoNode,
    /// Stages form a cycle, and none of the channels between them is marked as feedback.
    Cycle {
        /// Names of the stages in the order of the cycle. The first name is repeated at the end.
        stages: Vec<String>,
    },
    /// A stage has declared an end of a channel that another graph has created.
    OtherGraph {
        /// Name of the stage that has declared the end.
        stage: String,
        /// Name of the channel in quotes, or its number in the other graph if it has no name.
        channel: String,
    },
    /// A channel is marked as feedback, but it is not part of a loop of stages. Only the channel
    /// ends that the stages have declared are taken into account.
    Feedback {
        /// Name of the channel in quotes, or its number if it has no name.
        channel: String,
        /// English text that describes the missing declaration or the missing path.
        missing: String,
    },
}

impl Graph {
    /// Creates an empty graph.
    pub fn new() -> Self {
        Self {
            post: Arc::new(Post::new()),
            lines: Vec::new(),
            stages: Vec::new(),
            teams: Vec::new(),
            slow: None,
            grace: GRACE,
            foreign_feedback: None,
        }
    }

    /// Creates a channel with room for at least `slots` values. The capacity is rounded up to a
    /// power of two. To set a name or a batch size as well, pass a value of type [`Slots`].
    ///
    /// # Errors
    ///
    /// Returns [`CapacityError`] if the capacity is 0, or if the channel does not fit into memory.
    pub fn channel<T>(
        &mut self,
        slots: impl Into<Slots>,
    ) -> Result<(Sender<T>, Receiver<T>), CapacityError> {
        let id = u32::try_from(self.lines.len()).expect("a graph has at most 2^32 channels");
        let ends = channel::new(id, slots.into(), &self.post)?;
        self.lines.push(ends.line);
        Ok((ends.sender, ends.receiver))
    }

    /// Creates a bundle of `len` channels of one type. A stage that owns all sending ends or all
    /// receiving ends can access them by index. If `slots` has a name, the name of each channel is
    /// that name, followed by the channel's index.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`channel`](Self::channel).
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

    /// Marks the channels that `ends` belong to as feedback channels.
    ///
    /// A feedback channel leads back to a stage that its messages have already passed. If stages
    /// form a cycle and no channel in it is marked, [`start`](Self::start) returns an error. If a
    /// channel of the cycle is marked, the stages are called a loop.
    ///
    /// An open feedback channel does not keep its loop running. The stages of the loop continue
    /// until all other channels into the loop are closed and every message has left the loop. Then
    /// the graph closes the loop's feedback channels. [`Receiver::is_closed`] and
    /// [`Sender::is_closed`] then return true for these channels, and the stages end one after
    /// another. The graph also closes the feedback channels if all stages of the loop rest because
    /// their channels are full. In this case, messages can be lost. The report then contains the
    /// number of messages [left](ChannelSample::left) in each channel.
    ///
    /// Some messages might never leave their loop. So after [`Running::stop`], a loop may continue
    /// only for a limited time, the [grace](Self::grace) period. When this period is over, the
    /// graph closes the feedback channels, even if messages are left in them. A stage can check
    /// [`Cx::is_stopping`](crate::Cx::is_stopping), and send its messages out of the loop in time.
    /// [`Running::overrule`] closes the feedback channels immediately.
    ///
    /// A loop can become so full that no stage in it can continue. To prevent that, give the
    /// feedback channel enough slots for all messages that can be in the loop at the same time.
    /// Alternatively, let the stage that admits new messages limit the number of messages in the
    /// loop.
    ///
    /// The stages of the loop must declare their ends. The stages of the module
    /// [`stages`](crate::stages) and those created by [`with_ends`](crate::with_ends) declare their
    /// ends. The graph does not stop the loop while one of its stages is waiting for a timer, for a
    /// future, or for free slots in a channel that leads out of the loop. When the loop is stopped,
    /// a stage that waits for several messages with `wait_for` can receive fewer messages, and can
    /// no longer send messages back.
    ///
    /// # Examples
    ///
    /// In this loop, numbers are halved until they are below 10:
    ///
    /// ```
    /// use garrick_flow::{Graph, Wait, stages, with_ends};
    ///
    /// let mut graph = Graph::new();
    /// let (inputs, inputs_in) = graph.bundle::<u64>(2, 1024)?;
    /// let (all, all_in) = graph.channel(64)?;
    /// let (halves, halves_in) = graph.channel(64)?;
    /// let (small, small_in) = graph.channel(64)?;
    /// graph.feedback(&inputs[1]);
    ///
    /// let mut inputs = inputs.into_iter();
    /// let (numbers, again) = (inputs.next().unwrap(), inputs.next().unwrap());
    /// graph.source("numbers", stages::produce(numbers, 0..1000));
    /// graph.stage("gather", stages::merge(inputs_in, all));
    /// graph.stage("halve", stages::map(all_in, halves, |n| n / 2));
    /// graph.stage("sort", with_ends((halves_in, again, small), |(halves, again, small), _| {
    ///     while again.free() > 0 && small.free() > 0 && let Some(n) = halves.try_pop() {
    ///         let to = if n < 10 { &mut *small } else { &mut *again };
    ///         to.try_push(n).expect("both have room");
    ///     }
    ///     if halves.is_finished() || small.is_closed() {
    ///         return Wait::done();
    ///     }
    ///     Wait::readable(halves, 1).and(Wait::free(again, 1)).and(Wait::free(small, 1))
    /// }));
    /// graph.stage("read", stages::consume(small_in, |small| assert!(small.iter().all(|n| *n < 10))));
    ///
    /// let report = graph.start()?.join();
    /// assert!(report.failures().is_empty());
    /// assert_eq!(report.stage("read").unwrap().messages_in, 1000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn feedback(&mut self, ends: &impl Ends) {
        let mut wiring = Wiring::new(self.post.graph());
        wiring.has(ends);
        for (line, _) in wiring.ends {
            self.lines[line as usize].set_feedback();
        }
        self.foreign_feedback = self.foreign_feedback.take().or(wiring.foreign);
    }

    /// Sets how long [feedback](Self::feedback) loops may continue after all stages have agreed to
    /// stop. The default is 10 seconds.
    ///
    /// After this time, the graph closes the feedback channels, even if messages are left in them,
    /// and the stages end one after another. With [`Duration::MAX`], loops continue until all
    /// messages have left them.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use garrick_flow::{Graph, stages};
    ///
    /// let mut graph = Graph::new();
    /// let (mut there, there_in) = graph.channel::<u64>(64)?;
    /// let (back, back_in) = graph.channel::<u64>(64)?;
    /// graph.feedback(&back_in);
    /// graph.grace(Duration::from_millis(1));
    /// there.push_slice(&[1, 2, 3]);
    /// graph.stage("ping", stages::map(back_in, there, |n| n + 1));
    /// graph.stage("pong", stages::map(there_in, back, |n| n + 1));
    ///
    /// let running = graph.start()?;
    /// running.stop();
    /// // The three messages would go round forever.
    /// running.join();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn grace(&mut self, grace: Duration) {
        self.grace = grace;
    }

    /// Makes the graph count the slow steps of each stage. A step is slow if it takes at least the
    /// time `from`. [`StageSample::slow_steps`] contains the count.
    ///
    /// If slow steps are counted, each step reads the clock, which takes tens of nanoseconds.
    pub fn count_slow_steps(&mut self, from: Duration) {
        self.slow = Some(from);
    }

    /// Adds a stage with its own thread.
    pub fn stage(&mut self, name: impl Into<String>, stage: impl Stage) {
        let name = name.into();
        self.team(name.clone()).add(name, stage, false);
    }

    /// Adds a source with its own thread.
    ///
    /// A source is a stage that ends when the graph is stopped by [`Running::stop`] or
    /// [`Cx::stop`](crate::Cx::stop).
    pub fn source(&mut self, name: impl Into<String>, source: impl Stage) {
        let name = name.into();
        self.team(name.clone()).add(name, source, true);
    }

    /// Adds a thread that several stages share. Add these stages to the returned [`Team`]. The
    /// thread runs the steps of its stages one after another.
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
    /// Returns [`StartError`] in these cases:
    ///
    /// - Stages form a cycle, and no channel of the cycle is marked by
    ///   [`feedback`](Self::feedback).
    /// - A stage declares an end of a channel that another graph has created. An `AsyncSender` or
    ///   `AsyncReceiver` of another graph is allowed.
    /// - A channel is marked as feedback, but the ends that the stages declare do not show that the
    ///   channel leads back to an earlier stage.
    /// - A thread cannot be started: its core does not exist, its stack size is not allowed, or the
    ///   operating system returns an error.
    ///
    /// If `start` returns an error, no stage has run.
    ///
    /// # Examples
    ///
    /// ```
    /// use garrick_flow::{Graph, stages};
    ///
    /// let mut graph = Graph::new();
    /// let (there, there_in) = graph.channel::<u64>(64)?;
    /// let (back, back_in) = graph.channel::<u64>(64)?;
    /// graph.stage("ping", stages::map(back_in, there, |n| n + 1));
    /// graph.stage("pong", stages::map(there_in, back, |n| n + 1));
    /// let refused = graph.start().unwrap_err();
    /// assert!(refused.to_string().starts_with(r#"the stages "ping" -> "pong" -> "ping" form a cycle"#));
    /// # Ok::<(), garrick_flow::CapacityError>(())
    /// ```
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
        match self {
            Self::Thread { name, reason } => {
                write!(f, "cannot start the thread of \"{name}\": {reason}")?;
                if let garrick_sched::StartError::InSimulation = reason {
                    f.write_str(", and run a graph by `Node::run`")?;
                }
                Ok(())
            }
            Self::NoNode => f.write_str(
                "the node has crashed: run the graph on the node that the simulation has started \
                 again",
            ),
            Self::Cycle { stages } => f.write_str(&wires::refusal(stages)),
            Self::OtherGraph { stage, channel } => write!(
                f,
                "the stage \"{stage}\" has an end of channel {channel} of another graph: create the channel by \
                 the graph of the stage, or use an `AsyncSender` or `AsyncReceiver`"
            ),
            Self::Feedback { channel, missing } => {
                write!(f, "channel {channel} is marked as feedback, but {missing}")
            }
        }
    }
}

impl Error for StartError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Thread { reason, .. } => Some(reason),
            Self::NoNode | Self::Cycle { .. } | Self::OtherGraph { .. } | Self::Feedback { .. } => {
                None
            }
        }
    }
}
