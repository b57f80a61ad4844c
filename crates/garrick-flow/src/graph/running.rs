//! A graph that runs.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use garrick_core::count::CounterReader;
use garrick_sched::Sponsor;

use super::report::{ChannelTotals, Failure, Report, StageTotals, Totals};
use crate::channel::Line;
use crate::post::{Post, StageId};
use crate::stage::Outcome;
use crate::wait::Lines;

/// What is known of a stage that runs.
pub(super) struct Member {
    pub(super) name: String,
    pub(super) steps: CounterReader,
    pub(super) rests: CounterReader,
}

/// Who has ended, for those who wait for it.
pub(super) struct Ended {
    state: Mutex<State>,
    /// Notified when the last stage has ended.
    all: Condvar,
}

struct State {
    /// Stages that have not ended.
    left: usize,
    /// Those that panicked, and what they said.
    panics: Vec<(StageId, String)>,
}

impl Ended {
    pub(super) fn new(stages: usize) -> Self {
        let state = State {
            left: stages,
            panics: Vec::new(),
        };
        Self {
            state: Mutex::new(state),
            all: Condvar::new(),
        }
    }

    /// What stage `id` is to call at its end.
    pub(super) fn listener(ended: &Arc<Self>, id: StageId) -> Box<dyn FnOnce(Outcome) + Send> {
        let ended = Arc::clone(ended);
        Box::new(move |outcome| {
            let mut state = ended.lock();
            state.left -= 1;
            if let Outcome::Panicked(message) = outcome {
                state.panics.push((id, message));
            }
            if state.left == 0 {
                ended.all.notify_all();
            }
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps until all have ended.
    fn wait(&self) {
        let mut state = self.lock();
        while state.left > 0 {
            state = self.all.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Sleeps until all have ended, and `timeout` at most; says whether they have.
    fn wait_timeout(&self, timeout: Duration) -> bool {
        let began = Instant::now();
        let mut state = self.lock();
        while state.left > 0 {
            let left = timeout.saturating_sub(began.elapsed());
            if left.is_zero() {
                return false;
            }
            state = self
                .all
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        true
    }
}

/// A graph that runs; from [`Graph::start`](crate::Graph::start). Dropping it ends it at once: each stage is
/// dropped after the step under way, and what is in the channels with it.
pub struct Running {
    /// The threads. Dropped first: what they use is below.
    sponsors: Vec<Sponsor>,
    post: Arc<Post>,
    lines: Lines,
    members: Vec<Member>,
    ended: Arc<Ended>,
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
    pub(super) fn new(
        sponsors: Vec<Sponsor>,
        post: Arc<Post>,
        lines: Lines,
        members: Vec<Member>,
        ended: Arc<Ended>,
    ) -> Self {
        Self {
            sponsors,
            post,
            lines,
            members,
            ended,
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
        self.ended.wait();
        // The stages have ended, so their threads have nothing left to do.
        self.sponsors.drain(..).for_each(Sponsor::shutdown);
        Report {
            totals: self.totals(),
            failures: self.failures(),
        }
    }

    /// Waits until all stages have ended, but `timeout` at most, and says whether they have.
    pub fn wait_timeout(&self, timeout: Duration) -> bool {
        self.ended.wait_timeout(timeout)
    }

    /// What was done so far. Each number is exact at some recent moment; no channel shows more taken than
    /// sent.
    pub fn totals(&self) -> Totals {
        let channels: Vec<_> = self.lines.iter().map(|line| totals_of(line)).collect();
        let sum = |count: fn(&ChannelTotals) -> (Option<usize>, u64), stage| {
            let counts = channels.iter().map(count);
            counts
                .filter_map(|(user, count)| (user == Some(stage)).then_some(count))
                .sum()
        };
        let stage = |(stage, member): (usize, &Member)| StageTotals {
            name: member.name.clone(),
            steps: member.steps.get(),
            rests: member.rests.get(),
            messages_in: sum(|channel| (channel.to, channel.taken), stage),
            messages_out: sum(|channel| (channel.from, channel.sent), stage),
        };
        Totals {
            stages: self.members.iter().enumerate().map(stage).collect(),
            channels,
        }
    }

    fn failures(&self) -> Vec<Failure> {
        let state = self.ended.lock();
        let failure = |(stage, message): &(StageId, String)| Failure {
            stage: self.members[*stage as usize].name.clone(),
            message: message.clone(),
        };
        state.panics.iter().map(failure).collect()
    }
}

fn totals_of(line: &Line) -> ChannelTotals {
    let taken = line.taken.count();
    // What was taken was sent, even if its sender has not counted it yet.
    let sent = line.sent.count().max(taken);
    let [from, to] = line.users().map(|user| user.map(|stage| stage as usize));
    ChannelTotals {
        capacity: line.capacity,
        sent,
        taken,
        from,
        to,
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running")
            .field("totals", &self.totals())
            .finish_non_exhaustive()
    }
}
