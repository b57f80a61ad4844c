//! A graph that has been started.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use garrick_sched::Sponsor;

use super::monitor::Monitor;
use super::report::Report;
use super::sample::Sample;
use super::straggler::{Because, Straggler};
use crate::feedback::Loops;
use crate::post::{Post, StageId, Wake};
use crate::roll_call::{Answer, RollCall};
use crate::vote::Vote;

/// A running graph. Created by [`Graph::start`](crate::Graph::start). Dropping a `Running` stops
/// its graph immediately, like [`abort`](Self::abort).
pub struct Running {
    /// The threads of the stages. Dropped before the other fields, because the threads use the
    /// contents of the other fields.
    sponsors: Vec<Sponsor>,
    /// The addresses of the stages, and their votes on stopping the graph.
    post: Arc<Post>,
    /// Object that asks the stages what they are waiting for.
    roll_call: Arc<RollCall>,
    /// The loops of the graph.
    loops: Loops,
    /// Monitor that reads the state of the stages and channels.
    monitor: Monitor,
}

/// The error returned by [`Running::join_timeout`](crate::Running::join_timeout) when a graph has
/// not stopped in time.
#[derive(Debug)]
pub struct Unended {
    /// The graph, which is still running.
    pub running: Box<Running>,
    /// The stages that have not ended, in the order in which they were added to the graph.
    pub stragglers: Vec<Straggler>,
}

/// A handle that stops a graph from any thread. Created by [`Running::stopper`].
#[derive(Debug, Clone)]
pub struct Stopper {
    post: Arc<Post>,
}

impl Stopper {
    pub(crate) fn new(post: &Arc<Post>) -> Self {
        Self {
            post: Arc::clone(post),
        }
    }

    /// Asks all stages whether the graph may stop. When all stages have agreed, the sources end,
    /// and then the other stages. For details, see [`Running::stop`].
    pub fn stop(&self) {
        self.post.stop();
    }
}

impl Running {
    pub(super) fn new(
        sponsors: Vec<Sponsor>,
        post: Arc<Post>,
        roll_call: Arc<RollCall>,
        loops: Loops,
        monitor: Monitor,
    ) -> Self {
        Self {
            sponsors,
            post,
            roll_call,
            loops,
            monitor,
        }
    }

    /// Asks all stages whether the graph may stop. When all have agreed, the sources end. The other
    /// stages end after they have handled the messages in flight.
    ///
    /// Each stage is woken and takes a step, which is its vote. If the step calls
    /// [`Cx::veto`](crate::Cx::veto), the stage vetoes. Otherwise the stage agrees. Each later step
    /// of the stage is a new vote, which replaces the previous one. While a stage vetoes, all
    /// stages continue, including the sources.
    ///
    /// A loop stops when there are no more messages in it, or when its [grace](crate::Graph::grace)
    /// period is over. For details, see [`Graph::feedback`](crate::Graph::feedback).
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

    /// Stops the sources without asking the stages, even if a stage vetoes.
    ///
    /// The other stages end after they have handled the messages in flight. Loops are an exception:
    /// their [feedback](crate::Graph::feedback) channels are closed immediately. So a stage of a
    /// loop may end before it has handled all messages.
    pub fn overrule(&self) {
        let lines = self.monitor.lines();
        for each in self.loops.iter() {
            each.cut(lines, &self.post);
        }
        self.post.overrule();
    }

    /// Stops the graph immediately. When the current step of a stage returns, the stage is dropped,
    /// together with the messages in its channels. The report lists the stages that were [cut
    /// short](Report::cut_short), and counts the messages [left](crate::ChannelSample::left) in
    /// each channel.
    ///
    /// A step cannot be interrupted. If a step never returns, neither does this method.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use garrick_flow::{Cx, Graph, Wait};
    ///
    /// let mut graph = Graph::new();
    /// let (mut tx, rx) = graph.channel(16)?;
    /// tx.push_slice(&[1, 2, 3]);
    /// graph.stage("idle", move |_: &mut Cx<'_>| {
    ///     let _both = (&tx, &rx);
    ///     Wait::timer(Duration::from_hours(1))
    /// });
    ///
    /// let report = graph.start()?.abort();
    /// assert_eq!(report.cut_short(), ["idle"]);
    /// assert_eq!(report.channels()[0].left(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn abort(mut self) -> Report {
        self.sponsors.drain(..).for_each(Sponsor::shutdown_now);
        self.monitor.report()
    }

    /// Creates a handle that stops the graph from another thread.
    pub fn stopper(&self) -> Stopper {
        Stopper::new(&self.post)
    }

    /// Waits until all stages have ended, and returns the report.
    pub fn join(mut self) -> Report {
        self.monitor.ended().wait();
        // The stages have ended, so their threads have nothing left to do.
        self.sponsors.drain(..).for_each(Sponsor::shutdown);
        self.monitor.report()
    }

    /// Waits until all stages have ended, but for at most `timeout`, and returns the report.
    ///
    /// # Errors
    ///
    /// Returns [`Unended`] if a stage has not ended within `timeout`. The error contains the
    /// running graph. It also lists the stages that have not ended, each with a reason, such as a
    /// veto or a channel that the stage is waiting for.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use garrick_flow::{Cx, Graph, Wait};
    ///
    /// let mut graph = Graph::new();
    /// graph.source("orders", |cx: &mut Cx<'_>| {
    ///     cx.veto("3 orders open");
    ///     Wait::timer(Duration::from_hours(1))
    /// });
    /// let running = graph.start()?;
    /// running.stop();
    /// let late = running.join_timeout(Duration::from_millis(20)).unwrap_err();
    /// assert_eq!(late.to_string(), "the graph has not ended: \"orders\" vetoes: 3 orders open");
    ///
    /// late.running.overrule();
    /// late.running.join();
    /// # Ok::<(), garrick_flow::StartError>(())
    /// ```
    pub fn join_timeout(self, timeout: Duration) -> Result<Report, Unended> {
        if self.wait_timeout(timeout) {
            return Ok(self.join());
        }
        let stragglers = self.stragglers();
        if stragglers.is_empty() {
            // The last stages have ended during the call.
            return Ok(self.join());
        }
        Err(Unended {
            running: Box::new(self),
            stragglers,
        })
    }

    /// Waits until all stages have ended, but for at most `timeout`. Returns true if all stages
    /// have ended.
    pub fn wait_timeout(&self, timeout: Duration) -> bool {
        self.monitor.ended().wait_timeout(timeout)
    }

    /// Returns the stages that have not ended, each with the reason why it has not ended.
    ///
    /// The call waits until the current steps of these stages have returned, but for at most 200
    /// milliseconds.
    pub fn stragglers(&self) -> Vec<Straggler> {
        let stages = self.monitor.stages();
        let answers = self
            .roll_call
            .call(stages, |stage| self.post.tell(stage, Wake::Tell));
        let has_ended = |stage: StageId| self.monitor.ended().has_ended(stage as usize);
        let left = (0..).zip(answers).filter(|(stage, _)| !has_ended(*stage));
        left.map(|(stage, answer)| self.straggler(stage, answer))
            .collect()
    }

    fn straggler(&self, stage: StageId, answer: Option<Answer>) -> Straggler {
        let name_of = |stage| self.monitor.name_of(stage as usize).to_owned();
        let because = match (self.post.vote(stage), answer) {
            (Vote::No(reason), _) if !self.post.is_ending() => Because::Vetoes(reason),
            (_, None) => Because::DoesNotAnswer,
            (_, Some(Answer::Goes)) => Because::Works,
            (_, Some(Answer::Rests(wait))) => {
                Because::Waits(wait.describe(self.monitor.lines(), &name_of))
            }
        };
        Straggler {
            stage: name_of(stage),
            because,
        }
    }

    /// Creates a monitor, which can read the graph's state from any thread, even after the graph
    /// has stopped.
    pub fn monitor(&self) -> Monitor {
        self.monitor.clone()
    }

    /// Returns the state of all stages and channels, like [`Monitor::sample`].
    pub fn totals(&self) -> Sample {
        self.monitor.sample()
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running")
            .field("totals", &self.totals())
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Unended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the graph has not ended")?;
        for (index, straggler) in self.stragglers.iter().enumerate() {
            write!(f, "{} {straggler}", if index == 0 { ":" } else { ";" })?;
        }
        Ok(())
    }
}

impl Error for Unended {}
