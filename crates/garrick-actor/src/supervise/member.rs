//! What a supervisor holds of a child, whatever its type.

use std::sync::{Arc, Mutex};

use garrick_sched::{Address, Handle, Turn, Watch};

use super::face::Face;
use super::note::{Id, Job, Note};
use super::seat::{Errand, Seat};
use crate::actor::Actor;

/// A child, as its supervisor sees it.
pub(super) trait Member: Send {
    /// Has a job done, which is reported.
    fn job(&self, job: Job, turn: &Turn<'_, Note>);

    /// Asks it to end for good once it has handled what was sent to it before.
    fn end(&self, turn: &Turn<'_, Note>);

    /// Lets the supervisor know when it has ended for good.
    fn watch(&self, id: Id, turn: &Turn<'_, Note>) -> Watch;

    /// What can be seen of the tree below it, if it is a supervisor.
    fn tree(&self) -> Option<Arc<Mutex<Face>>>;
}

/// A child that is an actor.
pub(super) struct Leaf<A: Actor> {
    pub(super) seat: Arc<Seat<A>>,
    pub(super) front: Address<A::Msg>,
    /// Where it runs, if not where its supervisor does.
    pub(super) sponsor: Option<Handle>,
}

impl<A> Member for Leaf<A>
where
    A: Actor + Send,
    A::Msg: Send,
{
    fn job(&self, job: Job, turn: &Turn<'_, Note>) {
        // The child's worker may be stuck in the very turn that nobody waits for any more.
        let sponsor = self.sponsor.as_ref().filter(|_| job != Job::Abandon);
        let errand = Errand {
            seat: self.seat.clone(),
            front: self.front.clone(),
            job,
            sponsor: sponsor.filter(|_| job == Job::Begin).cloned(),
            actor: None,
            has_begun: false,
        };
        // It starts by itself, and goes when it is done.
        drop(match sponsor {
            Some(sponsor) => turn.spawn_on(sponsor, errand),
            None => turn.spawn(errand),
        });
    }

    fn end(&self, _: &Turn<'_, Note>) {
        if self.seat.can_end() {
            self.front.stop();
        }
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
        // One that has ended reports so by the notice of its watch.
        let _ = turn.send(&self.address, Note::Parent(job));
    }

    fn end(&self, turn: &Turn<'_, Note>) {
        let _ = turn.send(&self.address, Note::Stop(None));
    }

    fn watch(&self, id: Id, turn: &Turn<'_, Note>) -> Watch {
        turn.watch(&self.address, move |_| Note::Ended(id))
    }

    fn tree(&self) -> Option<Arc<Mutex<Face>>> {
        Some(self.face.clone())
    }
}

impl<A: Actor> Drop for Leaf<A> {
    /// Nobody would run what is held back, or start the actor again.
    fn drop(&mut self) {
        self.front.stop();
    }
}

impl Drop for Branch {
    fn drop(&mut self) {
        let _ = self.address.send(Note::Stop(None));
    }
}
