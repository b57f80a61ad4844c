//! Monitors, which read the state of a graph.

use std::fmt;
use std::sync::Arc;

use garrick_sched::Nanos;

use super::ended::Ended;
use super::report::{Failure, Failures, Report};
use super::sample::{ChannelSample, Sample, StageSample, StageState};
use crate::channel::Line;
use crate::stage::{LastPanic, Outcome, WorkReader};
use crate::wait::Lines;

/// The constant properties of a stage, and readers of its counters and of the message of its most
/// recent panic.
pub(super) struct Member {
    pub(super) name: String,
    pub(super) team: String,
    pub(super) core: Option<usize>,
    pub(super) work: WorkReader,
    pub(super) last_panic: LastPanic,
}

/// A handle that reads the state of a graph from any thread, at any time. Created by
/// [`Running::monitor`](crate::Running::monitor).
///
/// Stages and channels only increment counters, which takes a few instructions per batch. The
/// monitor reads these counters on demand. After the graph has stopped, the monitor returns the
/// final state.
///
/// # Examples
///
/// ```
/// use garrick_flow::{Graph, Slots, StageState, stages};
///
/// let mut graph = Graph::new();
/// let (numbers, numbers_in) = graph.channel(Slots::of(64).named("numbers"))?;
/// graph.source("count", stages::produce(numbers, 0..1000u32));
/// graph.stage("read", stages::consume(numbers_in, |_| ()));
///
/// let running = graph.start()?;
/// let monitor = running.monitor();
/// running.join();
///
/// let sample = monitor.sample();
/// let (count, numbers) = (&sample.stages[0], &sample.channels[0]);
/// assert_eq!((count.name.as_str(), &count.state), ("count", &StageState::Ended));
/// assert_eq!((numbers.name.as_deref(), numbers.message), (Some("numbers"), "u32"));
/// assert_eq!((numbers.sent, numbers.taken, numbers.closed), (1000, 1000, true));
/// assert!(numbers.batches.iter().sum::<u64>() >= 1000 / 64, "in many batches");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Monitor {
    view: Arc<View>,
}

/// The parts of a graph that a monitor reads.
struct View {
    /// The stages, indexed by their ids.
    members: Vec<Member>,
    /// The channels, indexed by their ids.
    lines: Lines,
    ended: Arc<Ended>,
}

impl Monitor {
    pub(super) fn new(members: Vec<Member>, lines: Lines, ended: Arc<Ended>) -> Self {
        let view = Arc::new(View {
            members,
            lines,
            ended,
        });
        Self { view }
    }

    /// Returns the state of all stages and channels. Each counter had the returned value at some
    /// recent moment, but the values may be from different moments. For each channel, `taken` is
    /// never greater than `sent`.
    pub fn sample(&self) -> Sample {
        let channels: Vec<_> = self.view.lines.iter().map(|line| look_at(line)).collect();
        let mut messages = vec![[0, 0]; self.view.members.len()];
        for channel in &channels {
            if let Some(to) = channel.to {
                messages[to][0] += channel.taken;
            }
            if let Some(from) = channel.from {
                messages[from][1] += channel.sent;
            }
        }
        let members = self.view.members.iter().zip(messages).enumerate();
        let stages = members.map(|(stage, (member, [messages_in, messages_out]))| {
            let work = member.work.get();
            StageSample {
                name: member.name.clone(),
                team: member.team.clone(),
                core: member.core,
                state: state_of(self.view.ended.end_of(stage)),
                steps: work.steps,
                rests: work.rests,
                messages_in,
                messages_out,
                busy_nanos: work.busy,
                starved_nanos: work.starved,
                back_pressured_nanos: work.full,
                slow_steps: work.slow,
                restarts: work.restarts,
                last_panic: member.last_panic.get(),
            }
        });
        Sample {
            stages: stages.collect(),
            channels,
        }
    }

    /// Sets the clock of all stages. Called only if the stages have no threads and a test takes
    /// their steps.
    pub(crate) fn set_time(&self, now: Nanos) {
        for member in &self.view.members {
            member.work.set_time(now);
        }
    }

    pub(super) fn ended(&self) -> &Ended {
        &self.view.ended
    }

    pub(crate) fn name_of(&self, stage: usize) -> &str {
        &self.view.members[stage].name
    }

    /// Returns true if the stage with the id `stage` has ended.
    #[cfg(feature = "sim")]
    pub(crate) fn has_ended(&self, stage: usize) -> bool {
        self.ended().has_ended(stage)
    }

    pub(crate) fn stages(&self) -> usize {
        self.view.members.len()
    }

    pub(crate) fn lines(&self) -> &Lines {
        &self.view.lines
    }

    /// Returns the report of the graph. For a stage that has not ended yet, the report contains the
    /// counters so far.
    pub(crate) fn report(&self) -> Report {
        let name_of = |stage| self.name_of(stage).to_owned();
        let failure = |(stage, message)| Failure {
            stage: name_of(stage),
            message,
        };
        let ended = self.ended();
        Report {
            totals: self.sample(),
            failures: Failures::new(ended.panics().into_iter().map(failure).collect()),
            cut_short: ended.cut_short().into_iter().map(name_of).collect(),
        }
    }
}

fn state_of(end: Option<Outcome>) -> StageState {
    match end {
        None => StageState::Running,
        Some(Outcome::Done | Outcome::Dropped) => StageState::Ended,
        Some(Outcome::Panicked(words)) => StageState::Failed(words),
    }
}

fn look_at(line: &Line) -> ChannelSample {
    let taken = line.taken.count();
    // A message that was taken was also sent, even if its sender has not counted it yet.
    let sent = line.sent.count().max(taken);
    let [from, to] = line.users().map(|user| user.map(|stage| stage as usize));
    let [sender_stalls, receiver_stalls] = line.stalls();
    ChannelSample {
        name: line.name.clone(),
        message: line.message,
        capacity: line.capacity,
        sent,
        taken,
        from,
        to,
        batches: line.batches(),
        sender_stalls,
        receiver_stalls,
        feedback: line.is_feedback(),
        closed: line.sent.is_closed() || line.taken.is_closed() || line.is_cut(),
    }
}

impl fmt::Debug for Monitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Monitor").field(&self.sample()).finish()
    }
}
