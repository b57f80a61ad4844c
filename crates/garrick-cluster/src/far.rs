//! Doors (addresses that lead to functions) for receivers on other nodes. The function of such a
//! door sends the message to the other node.

use std::any::Any;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::marker::PhantomData;
use std::sync::Arc;

use garrick_actor::door::{Door, Notice, door};
use garrick_actor::{Address, Ended, NoReply, Reply, SendError};
use garrick_sched::TaskId;

use crate::base::Base;
use crate::batch::{self, Lines, Route};
use crate::frame::{Owned, Slot};
use crate::line::{Line, Travels};
use crate::name::NodeName;
use crate::named::{Named, Origin};

/// A door that leads to an address that another node has exported.
struct Far<M> {
    line: Arc<dyn Line>,
    slot: Slot,
    id: TaskId,
    /// Sequence number of the other node's session in which the address was exported.
    session: u64,
    message: PhantomData<fn(M)>,
}

/// Returns the address of an actor on the node to which a line (the interface of a session) leads.
pub(crate) fn far_address<M: Travels>(line: &Arc<dyn Line>, slot: Slot) -> Address<M> {
    door(Far::<M> {
        line: Arc::clone(line),
        slot,
        id: line.hold(slot),
        session: line.peer_session(),
        message: PhantomData,
    })
}

impl<M> Far<M> {
    /// Returns true if the session is over, because one of the two nodes has lost the other.
    fn is_over(&self) -> bool {
        self.line.is_over() || self.session != self.line.peer_session()
    }
}

impl<M: Travels> Door for Far<M> {
    type Message = M;

    fn pass(&self, message: M, _: &Address<M>) -> Result<(), SendError<M>> {
        if self.is_over() {
            return Err(SendError(message));
        }
        Route::Line(&self.line).tell(&Owned::Slot(self.slot), message)
    }

    fn stop(&self) {
        if !self.is_over() {
            batch::stop(&self.line, Owned::Slot(self.slot));
        }
    }

    fn is_stopped(&self) -> bool {
        self.is_over()
    }

    fn watch(&self, notice: Notice) {
        if self.is_over() {
            return notice.tell(Ended::NodeLost(self.line.peer().shared()));
        }
        batch::watch(&self.line, Owned::Slot(self.slot), notice);
    }

    fn stands_for(&self) -> Option<TaskId> {
        Some(self.id)
    }
}

impl<M> Drop for Far<M> {
    fn drop(&mut self) {
        self.line.let_go(self.slot);
    }
}

/// A door that leads to a service of another node. The door stays valid when the session with that
/// node ends.
struct Service<M> {
    lines: Arc<dyn Lines>,
    node: NodeName,
    target: Owned,
    origin: Arc<Origin>,
    id: TaskId,
    message: PhantomData<fn(M)>,
}

/// Returns the identity of a service of the node `node`. The identity is the same on all nodes.
fn service_id(cluster: u64, node: &str, name: &str) -> TaskId {
    let mut hasher = DefaultHasher::new();
    (cluster, node, name).hash(&mut hasher);
    TaskId::far(hasher.finish() >> 1)
}

/// Returns the origin that all addresses of a service have in common. An address with an origin is
/// sent in messages as a name.
fn service_origin(cluster: u64, node: &NodeName, name: &Arc<str>) -> Arc<Origin> {
    let (node, name) = (node.shared(), name.clone());
    let named = Named::Service { node, name };
    Arc::new(Origin { cluster, named })
}

/// Returns the address of a service of another node.
pub(crate) fn service_address<M: Travels>(
    lines: Arc<dyn Lines>,
    node: NodeName,
    name: Arc<str>,
) -> Address<M> {
    let cluster = lines.cluster();
    door(Service::<M> {
        id: service_id(cluster, node.as_str(), &name),
        origin: service_origin(cluster, &node, &name),
        lines,
        node,
        target: Owned::Service(name),
        message: PhantomData,
    })
}

impl<M: Travels> Door for Service<M> {
    type Message = M;

    fn pass(&self, message: M, _: &Address<M>) -> Result<(), SendError<M>> {
        Route::Node(&*self.lines, &self.node).tell(&self.target, message)
    }

    fn stop(&self) {
        if let Some(line) = self.lines.line(&self.node) {
            batch::stop(&line, self.target.clone());
        }
    }

    fn is_stopped(&self) -> bool {
        self.lines.has_left()
    }

    fn stands_for(&self) -> Option<TaskId> {
        Some(self.id)
    }

    fn origin(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        Some(Arc::clone(&self.origin) as _)
    }

    fn watch(&self, notice: Notice) {
        match self.lines.line(&self.node) {
            Some(line) => batch::watch(&line, self.target.clone(), notice),
            None => notice.tell(Ended::NodeLost(self.node.shared())),
        }
    }
}

/// A door that leads to a service of this node.
struct Own<M> {
    base: Arc<Base>,
    name: Arc<str>,
    origin: Arc<Origin>,
    id: TaskId,
    message: PhantomData<fn(M)>,
}

/// Returns the address of a service of this node. The service need not exist yet.
pub(crate) fn own_address<M: Travels>(base: Arc<Base>, name: Arc<str>) -> Address<M> {
    door(Own::<M> {
        id: service_id(base.cluster, base.name.as_str(), &name),
        origin: service_origin(base.cluster, &base.name, &name),
        base,
        name,
        message: PhantomData,
    })
}

impl<M: Travels> Own<M> {
    fn address(&self) -> Option<Address<M>> {
        let offered = self.base.offered(&self.name)?;
        offered.address().downcast_ref().cloned()
    }
}

impl<M: Travels> Door for Own<M> {
    type Message = M;

    fn pass(&self, message: M, _: &Address<M>) -> Result<(), SendError<M>> {
        match self.address() {
            Some(address) => address.send(message),
            None => Err(SendError(message)),
        }
    }

    fn stop(&self) {
        if let Some(address) = self.address() {
            address.stop();
        }
    }

    fn is_stopped(&self) -> bool {
        self.address().is_none_or(|address| address.is_stopped())
    }

    fn watch(&self, notice: Notice) {
        match self.address() {
            Some(address) => address.forward_watch(notice),
            None => notice.tell(Ended::Before),
        }
    }

    fn stands_for(&self) -> Option<TaskId> {
        Some(self.id)
    }

    fn origin(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        Some(Arc::clone(&self.origin) as _)
    }
}

/// A door that sends the answer to a question back to the node that has asked the question.
struct Answers<R> {
    line: Arc<dyn Line>,
    question: u64,
    answer: PhantomData<fn(R)>,
}

/// Returns the reply to a question that has arrived on a line (the interface of a session).
pub(crate) fn far_reply<R: Travels>(line: &Arc<dyn Line>, question: u64) -> Reply<R> {
    let answers = door(Answers::<R> {
        line: Arc::clone(line),
        question,
        answer: PhantomData,
    });
    Reply::to_task(answers, |answer| answer)
}

impl<R: Travels> Door for Answers<R> {
    type Message = Result<R, NoReply>;

    fn pass(
        &self,
        answer: Self::Message,
        _: &Address<Self::Message>,
    ) -> Result<(), SendError<Self::Message>> {
        batch::answer(&self.line, self.question, answer);
        Ok(())
    }
}
