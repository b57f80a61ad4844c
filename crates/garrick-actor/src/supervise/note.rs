//! Messages to a supervisor, and the shared memory for reports from turns that are undone.
//!
//! A turn that fails without a panic is undone, so the messages that it sends are discarded.
//! However, if the turn answers a [`Reply`], a message is still sent:
//! [`NoReply::Dropped`](crate::NoReply::Dropped) instead of the answer. So the child stores its
//! report in a [`Desk`] that it shares with its supervisor. Then the child answers a [`Reply`] that
//! leads to the supervisor. Whether this answer is sent or discarded, the supervisor receives a
//! message, and then reads the report.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use garrick_sched::{Address, Reply, Turn};

use super::member::Member;
use super::policy::Policy;
use crate::failure::fault::Fault;

/// The number that identifies a child of a supervisor. Children that are added later have greater
/// numbers.
pub(super) type Id = u64;

/// A job for a child. The child executes it in a separate turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Job {
    /// Create the actor and start it.
    Begin,
    /// Handle the messages that were kept while the actor could not handle messages, and then new
    /// messages.
    Drain,
    /// After a failure, continue with the same actor: handle the messages that were kept in the
    /// meantime, and then new messages.
    Resume,
    /// Drop the actor. From now on, keep all messages that arrive, until the next actor can handle
    /// them.
    Halt,
    /// Drop the actor and accept no more messages. If a turn of the actor is running, the actor is
    /// dropped after this turn.
    Abandon,
    /// Stop for good, after handling all messages that were sent before this job.
    End,
}

/// A report from a child to its supervisor: the result of a job, or an event in the child.
#[derive(Debug)]
pub(super) enum Report {
    /// The actor has started. The number identifies the incarnation: the actor that was created at
    /// this start of the child.
    Up(u32),
    /// The actor has been dropped, or will be dropped later without another report. The supervisor
    /// need not wait until the actor has been dropped.
    Down,
    /// The turn that handled a kept message was undone. A message is kept if it arrives while the
    /// actor cannot handle messages. The supervisor must send [`Job::Drain`] again.
    Undone,
    /// The actor has failed or stopped. The actor handles no message until the supervisor has
    /// decided what to do.
    ///
    /// The number identifies the incarnation: the actor that was created at one start of the child.
    /// The number is necessary because this report and the report that the actor has been dropped
    /// can come from different workers, and can then arrive in any order.
    Fault(u32, Fault),
}

/// A message to a supervisor.
pub(super) enum Note {
    /// A report from the child with this number.
    Report(Id, Report),
    /// A child has stored a report on the [`Desk`] in a turn that was undone.
    Look,
    /// Add a child.
    Add(Id, Policy, Box<dyn Member>),
    /// Stop the first child with this name for good. The answer is sent after the child has
    /// stopped. The answer is true if there was such a child.
    Remove(String, Reply<bool>),
    /// The delay of the plan (a set of children to stop and start) with this number is over, so
    /// that the plan can start its children.
    Due(u64),
    /// The child with this number has not stopped within its time limit.
    Overdue(Id),
    /// The child with this number has stopped for good.
    Ended(Id),
    /// One second has passed since a failure was last printed. The supervisor must now print how
    /// many failures were not printed in the meantime.
    Write,
    /// A job from the parent of this supervisor.
    Parent(Job),
    /// Stop the tree. The answer is sent after the tree has stopped.
    Stop(Option<Reply<()>>),
}

/// State shared by a supervisor and its children.
#[derive(Default)]
struct Papers {
    /// Reports of turns that were undone, oldest first. Children add reports, and the supervisor
    /// takes them.
    reports: Vec<(Id, Report)>,
    /// Sequence number of the child that was added last. Incremented by the code that adds a child.
    next: Id,
}

/// Memory that a supervisor shares with its children. Turns that are undone store their reports in
/// this memory.
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

/// A child's connection to its supervisor.
#[derive(Clone)]
pub(super) struct Line {
    pub(super) id: Id,
    pub(super) supervisor: Address<Note>,
    pub(super) desk: Desk,
}

impl Line {
    /// Sends a report as a part of a turn that will commit. Does nothing if the supervisor has
    /// ended.
    pub(super) fn report<M: 'static>(&self, turn: &Turn<'_, M>, report: Report) {
        let _ = turn.send(&self.supervisor, Note::Report(self.id, report));
    }

    /// Returns true if the supervisor has ended, so that it receives no more reports.
    pub(super) fn is_cut(&self) -> bool {
        self.supervisor.is_stopped()
    }

    /// Sends a report that belongs to no turn. Must not be called during a turn.
    pub(super) fn report_now(&self, report: Report) {
        let _ = self.supervisor.send_promised(Note::Report(self.id, report));
    }

    /// Sends a report from a turn that will be undone.
    pub(super) fn report_all_the_same(&self, report: Report) {
        self.desk.papers().reports.push((self.id, report));
        Reply::<()>::to_task(self.supervisor.clone(), |_| Note::Look).send(());
    }
}
