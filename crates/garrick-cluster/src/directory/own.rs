//! Addresses of actors that this node offers as services.

use std::any::Any;
use std::sync::Arc;

use garrick_actor::door::{Door, Notice, door};
use garrick_actor::{Address, SendError};
use garrick_sched::TaskId;

use crate::line::Travels;
use crate::named::Origin;

/// A door (an address that leads to a function) that passes messages on to an actor of this node.
/// The address of the door is equal to the address of the actor, but is sent in messages as a name.
struct Held<M: 'static> {
    address: Address<M>,
    origin: Arc<Origin>,
}

/// Returns the address of a door (a function that receives messages) that passes all messages on to
/// `address`. The returned address is equal to `address`. But a message to another node contains
/// the name in `origin` instead of the returned address.
pub(super) fn held<M: Travels>(address: Address<M>, origin: Origin) -> Address<M> {
    let origin = Arc::new(origin);
    door(Held { address, origin })
}

impl<M: Travels> Door for Held<M> {
    type Message = M;

    fn pass(&self, message: M, _: &Address<M>) -> Result<(), SendError<M>> {
        self.address.send(message)
    }

    fn stop(&self) {
        self.address.stop();
    }

    fn is_stopped(&self) -> bool {
        self.address.is_stopped()
    }

    fn watch(&self, notice: Notice) {
        self.address.forward_watch(notice);
    }

    fn stands_for(&self) -> Option<TaskId> {
        Some(self.address.id())
    }

    fn origin(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        Some(Arc::clone(&self.origin) as _)
    }
}
