//! What a sponsor counts of itself, for whoever wants to watch it.
//!
//! Each worker bumps plain counters of its own, in a [`Lane`]; a [`Sample`] is pulled out of them by any
//! thread, at any time, and nobody waits for anybody. What is rare is always counted: rests, and cells that
//! change their worker. What each *kind* of task does is counted if the sponsor was told so
//! ([`Builder::probes`](crate::Builder::probes)), once an activation:
//!
//! ```text
//!   activation ->  which kind?     turns += so many            a look-up and two additions
//!   now and then   the clock, before and after, weighed        half of one in 8 to 256 activations
//!                  with the activations since the last time
//! ```
//!
//! After a rest the first activations are all timed, so what works little is measured exactly; what works much
//! is sampled, at random places so that no rhythm of its own deceives.
//!
//! Each worker shows what it is at by one store when an activation begins and one when it ends, of an [`Activity`](activity::Activity).
//! How long the activation lasts is found out by whoever takes samples: one that is seen twice has taken as long as lies between. So an
//! activation pays for no clock, and a turn that hangs is told to the distance of two samples.

mod activity;
mod kinds;

mod away;

mod lane;

pub(crate) use lane::{Lane, Lanes};

use crate::world::Nanos;

/// What a sponsor has done so far; from [`Handle::sample`](crate::Handle::sample). All counts begin at its
/// start.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sample {
    /// The sponsor's name.
    pub name: String,
    /// When this was, by the clock of the sponsor's world.
    pub at: Nanos,
    /// Its workers.
    pub workers: Vec<WorkerSample>,
    /// The kinds of its tasks, in no particular order; none unless the sponsor has
    /// [`probes`](crate::Builder::probes).
    pub kinds: Vec<KindSample>,
    /// The kinds of which turns are away, the one first that is away longest; none unless the sponsor has
    /// [`probes`](crate::Builder::probes).
    pub away: Vec<AwaySample>,
    /// Cells that wait for a worker to claim them.
    pub queued: u64,
    /// Messages that nobody could handle.
    pub dead_letters: u64,
    /// Panics.
    pub failures: u64,
}

/// What a worker has done so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerSample {
    /// Turns that it has run, up to a few moments ago.
    pub turns: u64,
    /// How often it went to sleep. Short visits of threads that run a task themselves ([`Builder::callers_run`](crate::Builder::callers_run))
    /// end no sleep, but for one in eight and all those of a sponsor with [`probes`](crate::Builder::probes).
    pub parks: u64,
    /// Nanoseconds that it slept, this moment's sleep included.
    pub parked: Nanos,
    /// Cells that it gave to others.
    pub published: u64,
    /// Cells that it took over from others.
    pub claimed: u64,
    /// Activations that have ended, and recoveries, if the sponsor has [`probes`](crate::Builder::probes).
    pub activations: u64,
    /// The name of the kind of task that is in a turn here now, if the sponsor has [`probes`](crate::Builder::probes). It may be a task of
    /// another worker, which this one helps out.
    pub running: Option<&'static str>,
    /// Nanoseconds that the activation under way has taken at least: the time since a sample of the sponsor saw it first. 0 if there is
    /// none.
    pub lasts: Nanos,
}

/// The turns of one kind of task that are away: they wait in [`Turn::blocking`](crate::Turn::blocking), and their worker runs others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AwaySample {
    /// Its name.
    pub name: &'static str,
    /// The number of turns that are away.
    pub turns: u64,
    /// Nanoseconds that one of them is away for already, the most.
    pub longest: Nanos,
}

/// What the tasks of one kind have done so far on a sponsor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KindSample {
    /// Its name.
    pub name: &'static str,
    /// Tasks made here, or come from another sponsor.
    pub begun: u64,
    /// Tasks that have ended, or gone to another sponsor.
    pub ended: u64,
    /// Turns, which is messages handled, and starts.
    pub turns: u64,
    /// Activations: turns in a row.
    pub activations: u64,
    /// Nanoseconds that its turns took: an estimate by samples.
    pub busy: Nanos,
    /// Turns that panicked.
    pub panics: u64,
    /// Panics that a task has survived.
    pub recoveries: u64,
    /// How often somebody looked how many messages wait in the mailbox of a task about to run.
    pub looks: u64,
    /// How many these were, all together: `waiting / looks` is what a message finds before it.
    pub waiting: u64,
}

impl KindSample {
    /// Adds the counts of another one.
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
