//! Counters of a sponsor, for monitoring.
//!
//! Each worker increments its own plain counters in a [`Lane`]. Any thread can read a [`Sample`] of
//! them at any time, and no thread waits for another thread. Rare events, such as rests and cells
//! that change their worker, are always counted. The work of each *kind* of task is counted only if
//! [`Builder::probes`](crate::Builder::probes) is set. This happens once for each activation:
//!
//! ```text
//!   each activation:   find the kind, turns += n               a look-up and two additions
//!   some activations:  read the clock before and after; the    at first after a rest, all;
//!                      time also counts for the untimed ones   later, about one of 256, and
//!                                                              more if they are long
//! ```
//!
//! The first activations after a rest are all timed, so that rare work is measured exactly.
//! Frequent work is sampled at random points, so that periodic patterns do not distort the result.
//! All activations of a kind are timed as long as they are slow. After a long time without a timed
//! activation, many of the next ones are timed, so that a slow kind is soon found. A worker never
//! counts more time than has passed.
//!
//! Each worker stores an [`Activity`](activity::Activity) when an activation begins and when it
//! ends. The thread that takes samples determines the duration of an activation: if two samples
//! contain the same activation, it has lasted at least for the time between them. So an activation
//! need not read a clock. If a turn hangs, its duration is known to within the time between two
//! samples.

mod kinds;

mod activity;
mod away;
mod lane;

pub(crate) use lane::{Lane, Lanes};

use crate::world::Nanos;

/// The counters of a sponsor, as returned by [`Handle::sample`](crate::Handle::sample). All counts
/// are 0 when the sponsor starts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sample {
    /// Name of the sponsor.
    pub name: String,
    /// Time of the sample, by the clock of the sponsor's world.
    pub at: Nanos,
    /// Counters of each worker.
    pub workers: Vec<WorkerSample>,
    /// Counters of each kind of task, in no particular order. Empty unless
    /// [`Builder::probes`](crate::Builder::probes) was set.
    pub kinds: Vec<KindSample>,
    /// Turns that are currently in [`Turn::blocking`](crate::Turn::blocking), by kind of task.
    ///
    /// The kind with the longest blocking turn comes first. Empty unless
    /// [`Builder::probes`](crate::Builder::probes) was set.
    pub away: Vec<AwaySample>,
    /// Number of tasks in the queue that all workers share. A worker that has room takes tasks over
    /// from this queue.
    pub queued: u64,
    /// Number of dead letters: accepted messages that were not handled.
    pub dead_letters: u64,
    /// Number of panics of tasks and of other user code, such as doors and drivers.
    pub failures: u64,
}

/// Counters of one worker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerSample {
    /// Number of turns that the worker has run. May be slightly out of date.
    pub turns: u64,
    /// Number of times that the worker went to sleep.
    ///
    /// While the worker sleeps, the thread of a caller may run one of its tasks
    /// ([`Builder::callers_run`](crate::Builder::callers_run)). During most of these visits, the
    /// worker still counts as asleep. But one of eight visits ends the sleep, and a new sleep
    /// begins after the visit. If [`Builder::probes`](crate::Builder::probes) was set, every visit
    /// ends the sleep.
    pub parks: u64,
    /// Total time in nanoseconds that the worker has slept, including the current sleep.
    pub parked: Nanos,
    /// Number of tasks that the worker gave to other workers.
    pub published: u64,
    /// Number of tasks that the worker took over from other workers.
    pub claimed: u64,
    /// Number of finished activations and recoveries. An activation is a sequence of turns of one
    /// task. A recovery is a call of [`Task::recover`](crate::Task::recover). Always 0 unless
    /// [`Builder::probes`](crate::Builder::probes) was set.
    pub activations: u64,
    /// Name of the kind of task that the worker is running at the moment. `None` if the worker runs
    /// no task. Always `None` unless [`Builder::probes`](crate::Builder::probes) was set.
    ///
    /// The task may belong to another worker, if this worker is helping the other one.
    pub running: Option<&'static str>,
    /// Time in nanoseconds since the first sample that contained the current activation. So the
    /// activation has lasted at least this long. 0 if the worker runs no task.
    pub lasts: Nanos,
}

/// Counters of the turns of one kind of task that are *away*. A turn is away while it is in
/// [`Turn::blocking`](crate::Turn::blocking) and its worker runs other tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AwaySample {
    /// Name of the kind of task.
    pub name: &'static str,
    /// Number of turns that are away.
    pub turns: u64,
    /// Time in nanoseconds that the longest of these turns has been away so far.
    pub longest: Nanos,
}

/// Counters of one kind of task on a sponsor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KindSample {
    /// Name of the kind of task.
    pub name: &'static str,
    /// Number of tasks that were created on this sponsor or moved to it from another sponsor.
    pub begun: u64,
    /// Number of tasks that have ended, or moved to another sponsor.
    pub ended: u64,
    /// Number of turns. Each handled message is one turn, and so is each start of a task.
    pub turns: u64,
    /// Number of activations. An activation is a sequence of turns of one task.
    pub activations: u64,
    /// Estimated total duration of the turns in nanoseconds. Only some of the activations are
    /// timed.
    pub busy: Nanos,
    /// Number of turns that failed. A turn fails if it panics, or if its task reports an error.
    pub failures: u64,
    /// Number of panics from which tasks have recovered.
    pub recoveries: u64,
    /// Number of times that a supervisor replaced a failed or stopped task by a new one.
    pub restarts: u64,
    /// Number of activations for which a mailbox length is known. Some mailboxes are measured just
    /// before their task runs. Each of these measurements represents several activations.
    pub looks: u64,
    /// Sum of the mailbox lengths of these activations. So `waiting / looks` is the average mailbox
    /// length, which is the number of messages ahead of a new message.
    pub waiting: u64,
}

impl KindSample {
    /// Adds the counts of another sample.
    fn add(&mut self, other: &Self) {
        self.begun += other.begun;
        self.ended += other.ended;
        self.turns += other.turns;
        self.activations += other.activations;
        self.busy += other.busy;
        self.failures += other.failures;
        self.recoveries += other.recoveries;
        self.restarts += other.restarts;
        self.looks += other.looks;
        self.waiting += other.waiting;
    }
}
