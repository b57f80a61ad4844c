//! The counters of a sponsor, for monitoring.
//!
//! Each worker increments its own plain counters, in a [`Lane`]. Any thread can read a [`Sample`]
//! from them at any time, and no thread waits for another. Rare events are always counted: rests,
//! and cells that change their worker. The activity of each *kind* of task is counted only if
//! [`Builder::probes`](crate::Builder::probes) is set, once for each activation:
//!
//! ```text
//!   activation ->  which kind?     turns += n                  a look-up and two additions
//!   now and then   the clock, before and after, weighed        half of one in 8 to 256 activations
//!                  with the activations since the last time
//! ```
//!
//! After a rest the first activations are all timed, so that rare work is measured exactly.
//! Frequent work is sampled, at random points, so that no periodic pattern distorts the result.
//!
//! Each worker shows its current activity by one store when an activation begins and one when it
//! ends, of an [`Activity`](activity::Activity). The duration of an activation is found by the
//! thread that takes samples: an activation that is seen twice has lasted at least the time in
//! between. So an activation pays for no clock, and the duration of a turn that hangs is known to
//! within the distance of two samples.

mod kinds;

mod activity;
mod away;
mod lane;

pub(crate) use lane::{Lane, Lanes};

use crate::world::Nanos;

/// The counters of a sponsor, from [`Handle::sample`](crate::Handle::sample). All counts begin at
/// the sponsor's start.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sample {
    /// Name of the sponsor.
    pub name: String,
    /// Time of the sample, by the clock of the sponsor's world.
    pub at: Nanos,
    /// Counters of the workers.
    pub workers: Vec<WorkerSample>,
    /// Counters of the kinds of tasks, in no particular order; empty unless the sponsor has
    /// [`probes`](crate::Builder::probes).
    pub kinds: Vec<KindSample>,
    /// Kinds of tasks with turns that are away, longest first; empty unless the sponsor has
    /// [`probes`](crate::Builder::probes).
    pub away: Vec<AwaySample>,
    /// Number of cells that wait for a worker to claim them.
    pub queued: u64,
    /// Number of messages that could not be handled.
    pub dead_letters: u64,
    /// Number of panics.
    pub failures: u64,
}

/// The counters of a worker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerSample {
    /// Number of turns that the worker has run, up to a few moments ago.
    pub turns: u64,
    /// Number of sleeps. A short visit of a thread that runs a task itself
    /// ([`Builder::callers_run`](crate::Builder::callers_run)) does not end a sleep. Exceptions are
    /// one visit in eight, and all visits to a sponsor with [`probes`](crate::Builder::probes).
    pub parks: u64,
    /// Nanoseconds that the worker slept, including the current sleep.
    pub parked: Nanos,
    /// Number of cells that the worker gave to others.
    pub published: u64,
    /// Number of cells that the worker took over from others.
    pub claimed: u64,
    /// Number of activations that have ended, and of recoveries, if the sponsor has
    /// [`probes`](crate::Builder::probes).
    pub activations: u64,
    /// Name of the kind of task that is in a turn here now, if the sponsor has
    /// [`probes`](crate::Builder::probes). The task may belong to another worker that this worker
    /// helps out.
    pub running: Option<&'static str>,
    /// Minimum duration of the current activation in nanoseconds: the time since a sample of the
    /// sponsor saw it first. 0 if there is no current activation.
    pub lasts: Nanos,
}

/// The turns of one kind of task that are away: they wait in
/// [`Turn::blocking`](crate::Turn::blocking), and their worker runs other tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AwaySample {
    /// Name of the kind.
    pub name: &'static str,
    /// Number of turns that are away.
    pub turns: u64,
    /// Nanoseconds that the longest of these turns has been away.
    pub longest: Nanos,
}

/// The counters of one kind of task on a sponsor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KindSample {
    /// Name of the kind.
    pub name: &'static str,
    /// Number of tasks that were made here, or came from another sponsor.
    pub begun: u64,
    /// Number of tasks that have ended, or moved to another sponsor.
    pub ended: u64,
    /// Number of turns: messages handled, and starts.
    pub turns: u64,
    /// Number of activations: turns in a row.
    pub activations: u64,
    /// Nanoseconds that the turns took, estimated by samples.
    pub busy: Nanos,
    /// Number of turns that panicked.
    pub panics: u64,
    /// Number of panics that a task has survived.
    pub recoveries: u64,
    /// Number of looks at the mailbox length of a task about to run.
    pub looks: u64,
    /// Total mailbox length of all looks. `waiting / looks` is the average number of messages ahead
    /// of a new message.
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
        self.panics += other.panics;
        self.recoveries += other.recoveries;
        self.looks += other.looks;
        self.waiting += other.waiting;
    }
}
