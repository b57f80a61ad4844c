//! What the actors of the engine tell one another.

use std::cell::RefCell;

use garrick_actor::Address;
use serde_json::{Map, Value};

use crate::clock::Span;
use crate::scenario::{Contender, Measured, Size};

/// Work that must not be done inside of a turn.
#[derive(Debug)]
pub(super) enum Job {
    /// Make the contenders of the plan of this number.
    Lay(usize),
    /// Let one do something.
    Try(Trial),
}

/// Where actors leave the next job. There is one at most, for all of them wait for what becomes of it.
#[derive(Debug)]
pub(super) struct Desk(pub(super) RefCell<Option<Job>>);

impl Desk {
    /// Leaves a job.
    pub(super) fn put(&self, job: Job) {
        let before = self.0.replace(Some(job));
        debug_assert!(before.is_none(), "one job at a time");
    }

    /// Takes the job that was left.
    pub(super) fn take(&self) -> Option<Job> {
        self.0.take()
    }
}

/// One who does so many operations, once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trial {
    pub(super) who: Who,
    pub(super) ops: u64,
    /// The part of the set that was done before, from 0 to 1.
    pub(super) done: f64,
}

/// Who is to be tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    /// The atomic addition.
    Yardstick,
    /// The contender of this number.
    Entrant(usize),
}

/// What those receive that have trials made, one after another.
pub(super) enum Step {
    /// There is a set to deal with.
    Begin(Set),
    /// The trial that was asked for.
    Took(Measured),
    /// Nobody waits for more: go on with what there is.
    Stop,
}

/// The set before is over, or there was none: what makes the sweep go on.
pub(super) struct Over;

/// Contenders that take turns, and what is known of them by now.
pub(super) struct Set {
    pub(super) scenario: String,
    pub(super) entrants: Vec<Entrant>,
    /// How many additions of the yardstick come between two of them.
    pub(super) additions: u64,
    /// What these took, and how many they were.
    pub(super) yardsticks: Vec<(Span, u64)>,
    /// Who wants to know when the set is over.
    pub(super) over: Address<Over>,
}

/// A contender, as far as the actors know it.
pub(super) struct Entrant {
    pub(super) name: &'static str,
    pub(super) params: Map<String, Value>,
    pub(super) size: Size,
    /// Operations of a trial.
    pub(super) ops: u64,
    /// Trials to make.
    pub(super) rounds: usize,
    /// What came out, and the yardstick's CPU time an addition beside it.
    pub(super) samples: Vec<(Measured, f64)>,
}

impl Entrant {
    /// One of whom nothing is known.
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
