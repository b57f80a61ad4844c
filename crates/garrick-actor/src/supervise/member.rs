//! The children of a supervisor, which are actors or supervisors.

use std::sync::{Arc, Mutex};

use garrick_sched::{Address, Handle, Orders, TaskId, Turn, Watch};

use super::face::Face;
use super::facts::Facts;
use super::note::{Id, Job, Note};
use crate::model::actor::Actor;

/// A child of a supervisor: an actor of any type, or another supervisor.
pub(super) trait Member: Send {
    /// Sends a job to the child. The child reports the result.
    fn job(&self, job: Job, turn: &Turn<'_, Note>);

    /// Watches the child, so that the supervisor is notified when the child has stopped for good.
    fn watch(&self, id: Id, turn: &Turn<'_, Note>) -> Watch;

    /// Returns the state of the child's own tree, as snapshots show it. Returns `None` if the child
    /// is not a supervisor.
    fn tree(&self) -> Option<Arc<Mutex<Face>>>;

    /// Returns the facts about the child, for the reports of its failures.
    fn facts(&self) -> Arc<Facts>;

    /// Returns the id of the child's task.
    fn cell(&self) -> TaskId;
}

/// A child that is an actor.
pub(super) struct Leaf<A: Actor> {
    pub(super) orders: Arc<Orders<Job>>,
    pub(super) front: Address<A::Msg>,
    /// System on which the child was spawned, if it differs from the system of the supervisor.
    pub(super) sponsor: Option<Handle>,
    pub(super) facts: Arc<Facts>,
}

impl<A: Actor> Leaf<A> {
    /// Stops the child's front. The child gets no more orders, so it does not wait for any.
    fn give_up(&self) {
        self.facts.set_orphan();
        self.front.stop();
    }
}

impl<A> Member for Leaf<A>
where
    A: Actor + Send,
    A::Msg: Send,
{
    fn job(&self, job: Job, turn: &Turn<'_, Note>) {
        let sponsor = self.sponsor.as_ref().filter(|_| job == Job::Begin);
        if sponsor.is_some_and(Handle::is_ending) {
            // A child on another system is not started again once this system is ending.
            return self.give_up();
        }
        self.orders.give(turn, &self.front, job);
    }

    fn watch(&self, id: Id, turn: &Turn<'_, Note>) -> Watch {
        turn.watch(&self.front, move |_| Note::Ended(id))
    }

    fn tree(&self) -> Option<Arc<Mutex<Face>>> {
        None
    }

    fn facts(&self) -> Arc<Facts> {
        self.facts.clone()
    }

    fn cell(&self) -> TaskId {
        self.front.id()
    }
}

/// A child that is a supervisor.
pub(super) struct Branch {
    pub(super) address: Address<Note>,
    pub(super) face: Arc<Mutex<Face>>,
    pub(super) facts: Arc<Facts>,
}

impl Member for Branch {
    fn job(&self, job: Job, turn: &Turn<'_, Note>) {
        // The send fails if the child has ended. Its watch then notifies the supervisor.
        let _ = turn.send(&self.address, Note::Parent(job));
    }

    fn watch(&self, id: Id, turn: &Turn<'_, Note>) -> Watch {
        turn.watch(&self.address, move |_| Note::Ended(id))
    }

    fn tree(&self) -> Option<Arc<Mutex<Face>>> {
        Some(self.face.clone())
    }

    fn facts(&self) -> Arc<Facts> {
        self.facts.clone()
    }

    fn cell(&self) -> TaskId {
        self.address.id()
    }
}

impl<A: Actor> Drop for Leaf<A> {
    /// Stops the child's front, the task to which the child's address leads. No supervisor is left
    /// that could restart the actor or make it handle the messages that were kept.
    fn drop(&mut self) {
        self.give_up();
    }
}

impl Drop for Branch {
    fn drop(&mut self) {
        let _ = self.address.send(Note::Stop(None));
    }
}
