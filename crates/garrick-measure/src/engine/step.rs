//! Messages of the actors of the measuring engine.

use std::cell::RefCell;

use garrick_actor::Address;
use serde_json::{Map, Value};

use crate::clock::Span;
use crate::scenario::{Contender, Measured, Size};

/// Work that must not be done inside a turn.
#[derive(Debug)]
pub(super) enum Job {
    /// Create the contenders of the plan that has this index.
    Lay(usize),
    /// Run a trial.
    Try(Trial),
}

/// Place where actors put the next job. The desk holds at most one job, because all actors wait for
/// the result of that job.
#[derive(Debug)]
pub(super) struct Desk(pub(super) RefCell<Option<Job>>);

impl Desk {
    /// Stores the next job. The previous job must have been taken.
    pub(super) fn put(&self, job: Job) {
        let before = self.0.replace(Some(job));
        debug_assert!(before.is_none(), "one job at a time");
    }

    /// Takes the stored job, if there is one.
    pub(super) fn take(&self) -> Option<Job> {
        self.0.take()
    }
}

/// A run of the yardstick (an atomic addition) or of a contender, with a given number of
/// operations.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trial {
    pub(super) who: Who,
    pub(super) ops: u64,
    /// Fraction of the current set's rounds that were finished before this trial, from 0 to 1.
    /// Always 0 for trials of the yardstick and for trials of the warm-up.
    pub(super) done: f64,
}

/// The subject of a trial: the yardstick (an atomic addition) or a contender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    /// The yardstick, which is one atomic addition.
    Yardstick,
    /// The contender with this index in the set of contenders.
    Entrant(usize),
}

/// Messages to the actors that request trials one after another.
pub(super) enum Step {
    /// Start to measure this set of contenders.
    Begin(Set),
    /// Result of the requested trial.
    Took(Measured),
    /// Request to stop early, and to report the measurements made so far.
    Stop,
}

/// A signal that the previous set of contenders is finished, or that there was none. The receiver
/// continues with the next set.
pub(super) struct Over;

/// Contenders that are measured alternately, and their measurements so far.
pub(super) struct Set {
    pub(super) scenario: String,
    pub(super) entrants: Vec<Entrant>,
    /// Number of atomic additions in each trial of the yardstick.
    pub(super) additions: u64,
    /// Trials of the yardstick (an atomic addition) so far, each as its duration and its number of
    /// atomic additions.
    pub(super) yardsticks: Vec<(Span, u64)>,
    /// Actor that receives the signal that this set of contenders is finished.
    pub(super) over: Address<Over>,
}

/// The data about a contender that the engine's actors need.
pub(super) struct Entrant {
    pub(super) name: &'static str,
    pub(super) params: Map<String, Value>,
    pub(super) size: Size,
    /// Number of operations in each trial of the contender.
    pub(super) ops: u64,
    /// Planned number of trials of the contender.
    pub(super) rounds: usize,
    /// Measurements of the contender, each with the CPU time that an atomic addition (the
    /// yardstick) took at that time.
    pub(super) samples: Vec<(Measured, f64)>,
}

impl Entrant {
    /// Creates the data about a contender that has not been measured yet.
    pub(super) fn of(contender: &Contender) -> Self {
        Self {
            name: contender.name,
            params: contender.params.clone(),
            size: contender.size,
            ops: 0,
            rounds: 0,
            samples: Vec::new(),
        }
    }
}
