//! What a supervisor hears, and where its children leave what a turn that is undone could not send.
//!
//! A turn that fails without a panic is undone, and with it whatever it sends; but a question that such a turn
//! answers is answered all the same, with [`NoReply::Dropped`](crate::NoReply::Dropped). So the report lies in a
//! [`Desk`] that both know, and an answer, given or refused, makes the supervisor look there.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use garrick_sched::{Address, Reply, Turn};

use super::member::Member;
use super::policy::Policy;
use crate::failure::fault::Fault;

/// The number of a child, in the order of starting.
pub(super) type Id = u64;

/// What is to be done at a child, in a turn of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Job {
    /// Make the actor and start it.
    Begin,
    /// Handle what was held back, then let messages through.
    Drain,
    /// The same after a failure.
    Resume,
    /// Drop the actor, and hold messages back.
    Halt,
    /// Drop the actor, or have it dropped when its turn ends, and let no message through any more.
    Abandon,
    /// End for good, behind what was sent before.
    End,
}

/// What has come of it, or has happened meanwhile.
#[derive(Debug)]
pub(super) enum Report {
    /// The actor of that incarnation has started.
    Up(u32),
    /// The actor is dropped, or will be without anybody waiting for it.
    Down,
    /// A turn that handled what was held back was undone; the next message is to be handled.
    Undone,
    /// The actor is not to handle anything until somebody has decided. With the number of the incarnation that
    /// it is about: this report and that of its being dropped may come from two workers, in any order.
    Fault(u32, Fault),
}

/// A message to a supervisor.
pub(super) enum Note {
    /// From the child of that number.
    Report(Id, Report),
    /// Something lies on the desk.
    Look,
    /// One more child.
    Add(Id, Policy, Box<dyn Member>),
    /// The child of that name is to be stopped for good. The answer comes when that is done, and says whether
    /// there was one.
    Remove(String, Reply<bool>),
    /// The wait before the plan of that number goes on is over.
    Due(u64),
    /// The child of that number should have ended by now.
    Overdue(Id),
    /// The child of that number has ended for good.
    Ended(Id),
    /// The parent wants this done.
    Parent(Job),
    /// The tree is to end. The answer comes when it has.
    Stop(Option<Reply<()>>),
}

/// What a supervisor and its children share.
#[derive(Default)]
struct Papers {
    /// Reports of turns that were undone, oldest first. Written by children, taken by the supervisor.
    reports: Vec<(Id, Report)>,
    /// The next child's number. Counted up by whoever makes one.
    next: Id,
}

/// See the module.
#[derive(Clone, Default)]
pub(super) struct Desk {
    papers: Arc<Mutex<Papers>>,
}

impl Desk {
    fn papers(&self) -> MutexGuard<'_, Papers> {
        // No code that holds the lock can panic half way.
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
    /// Reports from a turn that will commit, with what it does.
    pub(super) fn report<M: 'static>(&self, turn: &Turn<'_, M>, report: Report) {
        // A supervisor that has ended does not miss it.
        let _ = turn.send(&self.supervisor, Note::Report(self.id, report));
    }

    /// Reports from a turn that will be undone.
    pub(super) fn report_all_the_same(&self, report: Report) {
        self.desk.papers().reports.push((self.id, report));
        Reply::<()>::to_task(self.supervisor.clone(), |_| Note::Look).send(());
    }
}
