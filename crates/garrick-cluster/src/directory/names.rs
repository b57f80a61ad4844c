//! State of two groups of names: names of actors of this node, and names that have subscribers on
//! this node. A subscriber is informed when the owner of the name changes.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use garrick_actor::{Address, Reply};
use garrick_sched::TaskId;
use garrick_wire::{MessageId, Wire};

use super::error::NameError;
use super::record::{Holder, Instance};
use crate::line::{Carrier, Travels};
use crate::node::Node;
use crate::watching::{Watching, has_stopped};

/// A name that an actor of this node has or has asked for.
pub(super) struct Claim {
    pub(super) number: u64,
    pub(super) of: MessageId,
    pub(super) id: TaskId,
    pub(super) address: Box<dyn Any + Send>,
    /// The watch of the actor that has or wants the name. The watch ends when this [`Claim`] is
    /// dropped.
    pub(super) _watching: Watching,
    /// Callers that wait until the name is assigned.
    pub(super) waiting: Vec<Reply<Result<(), NameError>>>,
}

/// A subscriber to the changes of a name. Hides the type of the named actor's messages.
pub(super) trait Watcher: Send {
    /// Informs the subscriber if the name now belongs to another actor than before. Returns false
    /// if the subscriber has ended.
    fn tell(&mut self, holder: Option<&Holder>, names: &Names, node: &Node) -> bool;

    /// Returns true if the subscriber has ended.
    fn is_over(&self) -> bool;
}

/// A subscriber that is informed which actor has a name.
pub(super) struct WatcherOf<M: 'static> {
    pub(super) to: Address<Option<Address<M>>>,
    pub(super) name: Arc<str>,
    /// Latest information that the subscriber has received: the actor that has the name, or
    /// `Some(None)` if no actor has it. `None` if the subscriber was not informed yet.
    pub(super) told: Option<Option<Holder>>,
}

/// Names of actors of this node, and names that have subscribers on this node.
#[derive(Default)]
pub(super) struct Names {
    pub(super) claims: BTreeMap<Arc<str>, Claim>,
    pub(super) watchers: BTreeMap<Arc<str>, Vec<Box<dyn Watcher>>>,
}

impl Names {
    /// Returns the address of the actor that has a name. Fails if the actor receives another type
    /// of messages.
    pub(super) fn address<M: Travels>(
        &self,
        name: &str,
        holder: &Holder,
        node: &Node,
    ) -> Option<Address<M>> {
        if holder.of != <M as Wire<Carrier>>::ID {
            return None;
        }
        let Instance {
            node: of,
            life,
            number,
        } = &holder.instance;
        if of == node.name() {
            let claim = self.claims.get(name)?;
            return claim.address.downcast_ref().cloned();
        }
        let service = Instance::service(*life, *number);
        Some(node.service_of(of.clone(), service.into()))
    }
}

impl<M: Travels> Watcher for WatcherOf<M> {
    fn tell(&mut self, holder: Option<&Holder>, names: &Names, node: &Node) -> bool {
        if self.told.as_ref().map(Option::as_ref) == Some(holder) {
            return !self.is_over();
        }
        let address = holder.and_then(|holder| names.address(&self.name, holder, node));
        if self.to.send(address).is_ok() {
            self.told = Some(holder.cloned());
            return true;
        }
        // A subscriber whose mailbox is full is informed at a later beat.
        !self.is_over()
    }

    fn is_over(&self) -> bool {
        has_stopped(&self.to)
    }
}
