//! A child as its supervisor holds it, whatever its type.

use std::sync::{Arc, Mutex};

use garrick_sched::{Address, Handle, Orders, Turn, Watch};

use super::face::Face;
use super::note::{Id, Job, Note};
use crate::model::actor::Actor;

/// A child, as its supervisor sees it.
pub(super) trait Member: Send {
    /// Gives the child a job. The child reports the result.
    fn job(&self, job: Job, turn: &Turn<'_, Note>);

    /// Notifies the supervisor when the child has ended for good.
    fn watch(&self, id: Id, turn: &Turn<'_, Note>) -> Watch;

    /// Returns the visible state of the tree below the child, if it is a supervisor.
    fn tree(&self) -> Option<Arc<Mutex<Face>>>;
}

/// A child that is an actor.
pub(super) struct Leaf<A: Actor> {
    pub(super) orders: Arc<Orders<Job>>,
    pub(super) front: Address<A::Msg>,
    /// System on which it was started, if that is not its supervisor's.
    pub(super) sponsor: Option<Handle>,
}

impl<A> Member for Leaf<A>
where
    A: Actor + Send,
    A::Msg: Send,
{
    fn job(&self, job: Job, turn: &Turn<'_, Note>) {
        let sponsor = self.sponsor.as_ref().filter(|_| job == Job::Begin);
        if sponsor.is_some_and(Handle::is_ending) {
            // An actor that a message has moved to another system is not started again either.
            return self.front.stop();
        }
        self.orders.give(turn, &self.front, job);
    }

    fn watch(&self, id: Id, turn: &Turn<'_, Note>) -> Watch {
        turn.watch(&self.front, move |_| Note::Ended(id))
    }

    fn tree(&self) -> Option<Arc<Mutex<Face>>> {
        None
    }
}

/// A child that is a supervisor.
pub(super) struct Branch {
    pub(super) address: Address<Note>,
    pub(super) face: Arc<Mutex<Face>>,
}

impl Member for Branch {
    fn job(&self, job: Job, turn: &Turn<'_, Note>) {
        // A supervisor that has ended reports so by the notice of its watch.
        let _ = turn.send(&self.address, Note::Parent(job));
    }

    fn watch(&self, id: Id, turn: &Turn<'_, Note>) -> Watch {
        turn.watch(&self.address, move |_| Note::Ended(id))
    }

    fn tree(&self) -> Option<Arc<Mutex<Face>>> {
        Some(self.face.clone())
    }
}

impl<A: Actor> Drop for Leaf<A> {
    /// Stops the front: no supervisor is left to drain held messages or to start the actor again.
    fn drop(&mut self) {
        self.front.stop();
    }
}

impl Drop for Branch {
    fn drop(&mut self) {
        let _ = self.address.send(Note::Stop(None));
    }
}
