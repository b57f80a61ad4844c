//! Counters of a sponsor (a group of workers), for monitoring.
//!
//! Each worker increments its own plain counters in a [`Lane`]. Any thread can read a [`Sample`] of
//! the counters at any time, and no thread waits for another thread. Rare events, such as sleeps
//! and cells that change their worker, are always counted. The work of each *kind* of task is
//! counted only if [`Builder::probes`](crate::Builder::probes) is set:
//!
//! ```text
//!   each activation:     one store, of the table of the cell that runs
//!   each birth and end:  a comparison and a decrement, as long as the kind is the same
//!   some activations:    the worker reads the clock before and after, and finds the kind; the
//!                        work represents that of the others (ledger)
//!   1000 times a second, or less often:
//!                        another thread looks which activation each worker runs (sights)
//! ```
//!
//! A worker times some of its activations, which are chosen at random, so periodic patterns do not
//! distort the result. The cost of timing is limited. As long as activations are rare, all are
//! timed, so rare work is counted exactly. If an activation that was not chosen takes more than a
//! few milliseconds, the thread that observes the workers sees this activation, which is then
//! counted with its own duration. A worker never counts more time than has passed.
//!
//! If the messages of a task have kinds, turns of its timed activations are also measured one by
//! one, and counted by kind of message ([`Gauge`](gauge::Gauge)). Measuring turns costs nothing in
//! untimed activations.
//!
//! A [census](census) counts the messages in the mailboxes of a worker. Each sample requests one
//! census of each worker. The results of these censuses appear in the next sample.
//!
//! *Memory.* The counters take about 200 KiB for each worker, regardless of the number of tasks.
//! Kinds of messages take at most 1 KiB more for each kind of task and worker. The thread that
//! observes the workers has a stack of 128 KiB.

mod clocking;
mod durations;
mod work;

mod messages;

mod gauge;

mod kinds;
mod top;

mod ages;

mod ledger;

mod beginning;
mod sights;
mod vitals;

mod away;
mod census;
mod counted;
mod lane;

mod lanes;

pub use durations::Durations;

pub(crate) use census::{CENSUS_MAX, Mailbox};
pub(crate) use lane::{Lane, Looked, Progress};
pub(crate) use lanes::Lanes;
pub(crate) use sights::Running;
pub(crate) use vitals::Vitals;

use std::sync::Arc;

use crate::cell::TaskId;
use crate::letters::LetterSample;
use crate::world::Nanos;
use messages::Measured;

/// The counters of a sponsor (a group of workers), as returned by
/// [`Handle::sample`](crate::Handle::sample). All counts are 0 when the sponsor starts.
///
/// *Waiting messages.* If [`Builder::probes`](crate::Builder::probes) was set, the waiting time of
/// some messages is measured. About every 4 ms, a thread measures one of the messages that it sends
/// outside of turns, and a worker measures all messages that one of its turns sends. After a
/// measured turn that has sent many messages, the worker measures nothing for a longer time. Some
/// messages are never measured: those sent in batches, by durable actors, by timers, or in turns
/// with a trace context.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sample {
    /// Name of the sponsor: the thread pool or thread that runs the tasks.
    pub name: String,
    /// Time at which the sample was taken, by the clock of the [`World`](crate::World) of the
    /// sponsor (the group of workers).
    pub at: Nanos,
    /// Counters of each worker.
    pub workers: Vec<WorkerSample>,
    /// Counters of each kind of task, in no particular order. Empty unless
    /// [`Builder::probes`](crate::Builder::probes) was set.
    pub kinds: Vec<KindSample>,
    /// Turns that are currently in [`Turn::blocking`](crate::Turn::blocking) and whose workers run
    /// other tasks in the meantime, by kind of task.
    ///
    /// The kind whose turn has been blocking for the longest time comes first. Empty unless
    /// [`Builder::probes`](crate::Builder::probes) was set.
    pub away: Vec<AwaySample>,
    /// Tasks that stand out: up to 20 tasks with the longest mailboxes, up to 20 tasks with the
    /// oldest messages, and up to 20 of the busiest tasks. The task with the longest mailbox comes
    /// first. Empty unless [`Builder::probes`](crate::Builder::probes) was set.
    ///
    /// The values are about as old as the previous sample. If the current turn of a worker began
    /// before the previous sample, the values of the worker's tasks date from the beginning of this
    /// turn.
    pub tasks: Vec<TaskSample>,
    /// Number of tasks in the queue that all workers share. A worker with little work takes tasks
    /// from this queue.
    pub queued: u64,
    /// Number of dead letters: accepted messages that were not handled.
    pub dead_letters: u64,
    /// Number of dead letters for each type of receiver and each reason, sorted by name and reason.
    pub letters: Vec<LetterSample>,
    /// Number of panics of tasks and of other user code, such as [doors](crate::Door) and
    /// [drivers](crate::Driver).
    pub failures: u64,
}

/// Counters of one worker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerSample {
    /// Number of turns that the worker has run. This number may be slightly out of date.
    pub turns: u64,
    /// Number of times that the worker went to sleep.
    ///
    /// While the worker sleeps, the thread of a caller may *visit* it, which means that this thread
    /// runs a task of the worker ([`Builder::callers_run`](crate::Builder::callers_run)). During
    /// most visits, the worker still counts as asleep. But one in eight visits ends the sleep, and
    /// a new sleep begins after the visit. If [`Builder::probes`](crate::Builder::probes) was set,
    /// every visit ends the sleep.
    pub parks: u64,
    /// Total time in nanoseconds that the worker has slept, including the current sleep. A worker
    /// that has ended counts as asleep.
    pub parked: Nanos,
    /// Number of tasks that the worker gave to other workers, or to the queue that all workers
    /// share.
    pub published: u64,
    /// Number of tasks that the worker got from other workers, or from the queue that all workers
    /// share.
    pub claimed: u64,
    /// Number of finished activations. An activation is one run of a ready task, and consists of
    /// one or more turns. This number may be a few milliseconds out of date. Always 0 unless
    /// [`Builder::probes`](crate::Builder::probes) was set.
    pub activations: u64,
    /// Name of the kind of the task that the worker is running at the moment. `None` if the worker
    /// runs no task. Always `None` unless [`Builder::probes`](crate::Builder::probes) was set.
    ///
    /// The task may belong to another worker, if this worker currently helps that worker.
    pub running: Option<&'static str>,
    /// Number of turns that this worker ran for tasks of other workers, because those workers were
    /// in long turns.
    pub rescues: u64,
    /// Number of tasks that were ready to run at the latest census (count of waiting messages). 0
    /// if the worker sleeps. Always 0 unless [`Builder::probes`](crate::Builder::probes) was set.
    pub ready: u64,
    /// Histogram of the times that messages have waited before this worker handled them.
    /// [`KindSample::waits`] explains these times.
    pub waits: Durations,
    /// Time in nanoseconds that the current activation has lasted so far. 0 if the worker runs no
    /// task. May be too short by a few milliseconds.
    pub lasts: Nanos,
}

/// Counters of the turns of one kind of task that are *away*. A turn is away while it is in
/// [`Turn::blocking`](crate::Turn::blocking) and its worker runs other tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AwaySample {
    /// Name of the kind of task.
    pub name: &'static str,
    /// Number of turns that are away: they are in [`Turn::blocking`](crate::Turn::blocking), and
    /// their workers run other tasks meanwhile.
    pub turns: u64,
    /// Longest time in nanoseconds for which a turn has been away so far, among the turns that are
    /// away now. A turn is away while it is in [`Turn::blocking`](crate::Turn::blocking) and its
    /// worker runs other tasks.
    pub longest: Nanos,
}

/// A task that stands out, because it has a long mailbox or an old message, or because it is busy.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskSample {
    /// Name of the kind of task.
    pub name: &'static str,
    /// True if the task belongs to a library and not to the program, as set by
    /// [`Task::INTERNAL`](crate::Task::INTERNAL).
    pub internal: bool,
    /// Label of the task, as returned by [`Task::label`](crate::Task::label).
    pub label: Option<Arc<str>>,
    /// Identity of the task. After this task has ended, a new task may get the same identity.
    pub task: TaskId,
    /// Number of messages in the mailbox of the task. 0 if the mailbox is not one of the longest
    /// mailboxes of the task's worker. Messages that wait elsewhere, such as in a priority mailbox,
    /// are not counted.
    pub waiting: u64,
    /// Minimum time in nanoseconds for which the oldest message in the mailbox has waited. The true
    /// time may be longer, because only some messages are measured. 0 if the time is unknown.
    pub oldest: Nanos,
    /// Estimated time in nanoseconds for which the task ran in the period [`TaskSample::over`]. 0
    /// if the task is not among the busiest tasks of its worker.
    pub busy: Nanos,
    /// Length in nanoseconds of the period in which `busy` was measured. After each sample, the
    /// worker of the task counts the messages in the mailboxes of all its tasks (a *census*). The
    /// period is the time between the two latest censuses.
    pub over: Nanos,
}

/// Counters of one kind of task on a sponsor (a group of workers). A kind is usually a type: all
/// tasks with the same [`Task::name`](crate::Task::name) are counted together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KindSample {
    /// Name of the kind of task.
    pub name: &'static str,
    /// True if the tasks belong to a library and not to the program, as set by
    /// [`Task::INTERNAL`](crate::Task::INTERNAL).
    pub internal: bool,
    /// Number of tasks that were created on this sponsor (group of workers) or moved to it from
    /// another sponsor.
    pub begun: u64,
    /// Number of tasks that have ended, or moved to another sponsor (group of workers).
    pub ended: u64,
    /// Estimated number of turns. Each handled message is one turn, and so is each start of a task.
    /// The number is exact if the worker runs few activations, or only tasks of this kind.
    pub turns: u64,
    /// Estimated number of activations. An activation is one run of a ready task by its worker, and
    /// consists of one or more turns.
    pub activations: u64,
    /// Estimated total duration of the turns in nanoseconds. Only some of the activations are
    /// timed. Each activation (run of a ready task) that takes more than a few milliseconds is
    /// counted with its own duration.
    pub busy: Nanos,
    /// Number of failures. A task fails if one of its turns or its destructor panics, or if it
    /// reports an error.
    pub failures: u64,
    /// Number of panics from which tasks have recovered.
    pub recoveries: u64,
    /// Number of times that a supervisor replaced a failed or stopped task by a new one.
    pub restarts: u64,
    /// Number of turns that took at least 100 ms. If an activation has several turns, another
    /// thread measures the duration of each turn, to about a millisecond. If this thread has not
    /// seen the turns, their average duration counts.
    pub slow_turns: u64,
    /// Estimated histogram of the durations of turns.
    pub turn_times: Durations,
    /// Histogram of the waiting times of messages. The waiting time of a message begins at the end
    /// of the turn that sent the message, or at the send if the message was sent outside of turns.
    /// The waiting time ends when the turn that handles the message begins. Only some messages are
    /// measured, as explained at [`Sample`].
    pub waits: Durations,
    /// Number of messages in the mailboxes of all tasks of the kind. The workers count the messages
    /// after each sample, and the next sample contains the result. The result is exact if no worker
    /// had more than 2,048 ready tasks, and otherwise an estimate. Messages that wait elsewhere,
    /// such as in a priority mailbox, are not counted. Messages for some tasks are not counted
    /// either: tasks in the queue that all workers share, and tasks whose turn is in
    /// [`Turn::blocking`](crate::Turn::blocking).
    pub in_mailboxes: u64,
    /// Number of messages in the longest mailbox of a task of this kind.
    pub longest_mailbox: u64,
    /// Counters of each kind of message, in no particular order. Empty if the messages have no
    /// kinds, as set by [`Task::MESSAGES`](crate::Task::MESSAGES). Contains at most 32 kinds of
    /// messages. Further kinds are counted together as [`MessageSample::OTHER`].
    pub messages: Vec<MessageSample>,
}

impl KindSample {
    /// Adds the counts of another sample to this one.
    fn add(&mut self, other: &Self) {
        self.begun += other.begun;
        self.ended += other.ended;
        self.turns += other.turns;
        self.activations += other.activations;
        self.busy += other.busy;
        self.failures += other.failures;
        self.recoveries += other.recoveries;
        self.restarts += other.restarts;
        self.slow_turns += other.slow_turns;
        self.turn_times.add_all(&other.turn_times);
        self.waits.add_all(&other.waits);
        self.in_mailboxes += other.in_mailboxes;
        self.longest_mailbox = self.longest_mailbox.max(other.longest_mailbox);
        for message in &other.messages {
            messages::add(&mut self.messages, message.name, message.measured());
        }
    }
}

/// Counters of the turns that have handled one kind of message.
///
/// Only turns of timed activations are measured. Each measured turn represents a number of turns,
/// so the counters are estimates. The counters are exact if all activations of the worker are
/// timed, and the turns of the tasks take at least 4 µs on average. All activations are timed if
/// the worker runs few of them: fewer than about 25,000 in a second in which it does not sleep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MessageSample {
    /// Name of the kind of message, from [`Task::MESSAGES`](crate::Task::MESSAGES), or
    /// [`MessageSample::OTHER`].
    pub name: &'static str,
    /// Estimated number of turns that have handled messages of this kind.
    pub turns: u64,
    /// Estimated total duration, in nanoseconds, of the turns that have handled messages of this
    /// kind.
    pub busy: Nanos,
    /// Duration in nanoseconds of the longest turn that was measured.
    pub longest: Nanos,
}

impl MessageSample {
    /// Name that stands for all other kinds of messages: those after the first 32, and those for
    /// which [`Task::message_kind`](crate::Task::message_kind) panics or returns an index without a
    /// name.
    pub const OTHER: &'static str = "other";

    fn measured(&self) -> Measured {
        Measured {
            turns: self.turns,
            busy: self.busy,
            longest: self.longest,
        }
    }
}
