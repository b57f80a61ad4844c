//! Messages to a supervisor, and the desk for reports from turns that are undone.
//!
//! A turn that fails without a panic is undone, and with it whatever it sends. But a question that
//! such a turn answers is still answered, with [`NoReply::Dropped`](crate::NoReply::Dropped). So
//! the report lies in a [`Desk`] that both know. An answer, given or refused, makes the supervisor
//! look there.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use garrick_sched::{Address, Reply, Turn};

use super::member::Member;
use super::policy::Policy;
use crate::failure::fault::Fault;

/// The number of a child, in the order of starting.
pub(super) type Id = u64;

/// A job for a child, done in a separate turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Job {
    /// Create the actor and start it.
    Begin,
    /// Handle the held messages, then let messages through.
    Drain,
    /// Handle the held messages after a failure, then let messages through.
    Resume,
    /// Drop the actor, and hold messages back.
    Halt,
    /// Drop the actor, at the end of its turn if it is running, and let no more messages through.
    Abandon,
    /// End for good, behind the messages sent before.
    End,
}

/// The result of a job, or an event at the child.
#[derive(Debug)]
pub(super) enum Report {
    /// The actor of that incarnation has started.
    Up(u32),
    /// The actor is dropped, or will be without the supervisor waiting for it.
    Down,
    /// A turn that handled a held message was undone. The next message is to be handled.
    Undone,
    /// The actor must not handle anything until the supervisor has decided. Carries the number of
    /// the failed incarnation: this report and the report that the actor is dropped may come from
    /// two workers, in any order.
    Fault(u32, Fault),
}

/// A message to a supervisor.
pub(super) enum Note {
    /// A report from the child of that number.
    Report(Id, Report),
    /// A report lies on the desk.
    Look,
    /// Add a child.
    Add(Id, Policy, Box<dyn Member>),
    /// Stop the first child of that name for good. The answer comes when that is done. It is true
    /// if there was such a child.
    Remove(String, Reply<bool>),
    /// The wait is over after which the plan of that number goes on.
    Due(u64),
    /// The child of that number should have ended by now.
    Overdue(Id),
    /// The child of that number has ended for good.
    Ended(Id),
    /// A job from the parent.
    Parent(Job),
    /// End the tree. The answer comes when it has ended.
    Stop(Option<Reply<()>>),
}

/// State shared by a supervisor and its children.
#[derive(Default)]
struct Papers {
    /// Reports of turns that were undone, oldest first. Written by children, taken by the
    /// supervisor.
    reports: Vec<(Id, Report)>,
    /// Number of the next child. Counted up by the code that adds one.
    next: Id,
}

/// The shared desk of a supervisor and its children, for reports from turns that are undone.
#[derive(Clone, Default)]
pub(super) struct Desk {
    papers: Arc<Mutex<Papers>>,
}

impl Desk {
    fn papers(&self) -> MutexGuard<'_, Papers> {
        // No code that holds the lock can panic halfway.
        self.papers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn next_id(&self) -> Id {
        let mut papers = self.papers();
        papers.next += 1;
        papers.next
    }

    pub(super) fn take(&self) -> Vec<(Id, Report)> {
        mem::take(&mut self.papers().reports)
    }
}

/// A child's line to its supervisor.
#[derive(Clone)]
pub(super) struct Line {
    pub(super) id: Id,
    pub(super) supervisor: Address<Note>,
    pub(super) desk: Desk,
}

impl Line {
    /// Reports from a turn that will commit, with the turn's other messages.
    pub(super) fn report<M: 'static>(&self, turn: &Turn<'_, M>, report: Report) {
        // The send fails if the supervisor has ended. It does not need the report then.
        let _ = turn.send(&self.supervisor, Note::Report(self.id, report));
    }

    /// Reports from a turn that will be undone.
    pub(super) fn report_all_the_same(&self, report: Report) {
        self.desk.papers().reports.push((self.id, report));
        Reply::<()>::to_task(self.supervisor.clone(), |_| Note::Look).send(());
    }
}
