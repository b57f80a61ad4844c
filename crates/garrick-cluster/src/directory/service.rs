//! Services: lists of the actors that are offered under a key, with the type of their messages.

use std::any::Any;
use std::collections::BTreeMap;

use garrick_actor::Address;
use garrick_actor::naming::Listing;
use garrick_sched::TaskId;

use super::follower::Follower;
use super::own::held;
use super::record::Instance;
use crate::line::Travels;
use crate::node::Node;
use crate::watching::Watching;

/// The actors that are offered under a key. Hides the type of their messages.
pub(super) trait AnyService: Send {
    /// Returns the numbers of the actors of this node, sorted.
    fn numbers(&self) -> Vec<u64>;

    /// Returns true if the service has subscribers.
    fn is_followed(&self) -> bool;

    /// Returns true if the service has no actors of this node and no subscribers.
    fn is_empty(&self) -> bool;

    /// Tells the subscribers which actors of other nodes are now offered under the key.
    fn refresh(&mut self, present: &[Instance], node: &Node);

    /// Removes subscribers that have ended.
    fn drop_ended(&mut self);

    /// Sends the subscribers the changes for which their mailboxes had no room before.
    fn tell_missed(&mut self);

    /// Removes an actor of this node. Returns false if no actor has this number.
    fn remove(&mut self, number: u64) -> bool;

    fn as_any(&mut self) -> &mut dyn Any;
}

/// Actors that are offered under a key.
pub(crate) struct Service<M: 'static> {
    /// Actors of this node with their watches, by their numbers.
    own: BTreeMap<u64, (Address<M>, Watching)>,
    /// Actors on other nodes, as in the latest report to the subscribers. Empty if there are no
    /// subscribers.
    far: BTreeMap<Instance, Address<M>>,
    subscribers: Vec<Follower<M>>,
}

impl<M> Default for Service<M> {
    fn default() -> Self {
        Self {
            own: BTreeMap::new(),
            far: BTreeMap::new(),
            subscribers: Vec::new(),
        }
    }
}

impl<M: Travels> Service<M> {
    /// Returns the address of an actor of another node.
    fn far(instance: &Instance, node: &Node) -> Address<M> {
        let Instance {
            node: of,
            life,
            number,
        } = instance;
        let name = Instance::service(*life, *number);
        node.service_of(of.clone(), name.into())
    }

    /// Returns the addresses of this node's actors in the service, sorted by the numbers of the
    /// actors.
    fn own(&self) -> impl Iterator<Item = &Address<M>> {
        self.own.values().map(|(address, _)| address)
    }

    /// Returns the number of an actor of this node, if the service contains the actor.
    pub(super) fn number_of(&self, id: TaskId) -> Option<u64> {
        let mut own = self.own.iter();
        let found = own.find(|(_, (address, _))| address.id() == id);
        found.map(|(number, _)| *number)
    }

    /// Adds an actor of this node to the service. `watching` is the watch of the actor, and is
    /// dropped when the actor is removed.
    pub(super) fn add(
        &mut self,
        number: u64,
        address: Address<M>,
        watching: Watching,
        node: &Node,
    ) {
        let name = Instance::service(node.life(), number);
        let address = held(address, node.origin_of(name.into()));
        self.own.insert(number, (address.clone(), watching));
        self.tell(|| Listing::Added(address.clone()));
    }

    /// Returns all actors: those of this node, and the actors of other nodes in `present`.
    pub(super) fn all(&self, present: &[Instance], node: &Node) -> Vec<Address<M>> {
        let far = present.iter().map(|instance| Self::far(instance, node));
        self.own().cloned().chain(far).collect()
    }

    /// Adds a subscriber, and sends it the list of all actors. Has no effect if this address is
    /// already a subscriber.
    pub(super) fn subscribe(
        &mut self,
        subscriber: Address<Listing<M>>,
        present: &[Instance],
        node: &Node,
    ) {
        let id = subscriber.id();
        self.drop_ended();
        if self.subscribers.iter().any(|known| known.id() == id) {
            return;
        }
        self.renew(present, node);
        let all = self.own().chain(self.far.values());
        let all = all.cloned().collect();
        self.subscribers.extend(Follower::begin(subscriber, all));
        self.forget();
    }

    pub(super) fn unsubscribe(&mut self, subscriber: &Address<Listing<M>>) {
        let id = subscriber.id();
        self.subscribers.retain(|known| known.id() != id);
        self.forget();
    }

    /// Clears the list of the actors of other nodes if no subscriber is left.
    fn forget(&mut self) {
        if self.subscribers.is_empty() {
            self.far.clear();
        }
    }

    /// Sends a change of the list of actors to all subscribers.
    fn tell(&mut self, change: impl Fn() -> Listing<M>) {
        self.subscribers
            .retain_mut(|subscriber| subscriber.tell(change()));
    }

    /// Replaces the list of other nodes' actors with `present`, and informs the subscribers.
    fn renew(&mut self, present: &[Instance], node: &Node) {
        let is_gone = |instance: &Instance| present.binary_search(instance).is_err();
        let gone = self.far.keys().filter(|instance| is_gone(instance));
        for instance in gone.cloned().collect::<Vec<_>>() {
            if let Some(address) = self.far.remove(&instance) {
                self.tell(|| Listing::Removed(address.clone()));
            }
        }
        for instance in present {
            if !self.far.contains_key(instance) {
                let address = Self::far(instance, node);
                self.far.insert(instance.clone(), address.clone());
                self.tell(|| Listing::Added(address.clone()));
            }
        }
    }
}

impl<M: Travels> AnyService for Service<M> {
    fn numbers(&self) -> Vec<u64> {
        self.own.keys().copied().collect()
    }

    fn is_followed(&self) -> bool {
        !self.subscribers.is_empty()
    }

    fn is_empty(&self) -> bool {
        self.own.is_empty() && self.subscribers.is_empty()
    }

    fn refresh(&mut self, present: &[Instance], node: &Node) {
        self.renew(present, node);
        self.forget();
    }

    fn drop_ended(&mut self) {
        self.subscribers.retain(|known| !known.is_over());
        self.forget();
    }

    fn tell_missed(&mut self) {
        for subscriber in &mut self.subscribers {
            subscriber.catch_up();
        }
    }

    fn remove(&mut self, number: u64) -> bool {
        let Some((address, _)) = self.own.remove(&number) else {
            return false;
        };
        self.tell(|| Listing::Removed(address.clone()));
        true
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

#[cfg(test)]
mod tests {
    use garrick_actor::Local;
    use garrick_actor::route::{RoundRobin, Router};

    use super::*;
    use crate::transport::LocalNet;

    #[test]
    fn routers_that_have_stopped_are_no_subscribers() {
        let local = Local::new().unwrap();
        let node = Node::join(&local.handle(), LocalNet::new(), "test", "one").unwrap();
        let mut service: Service<u64> = Service::default();
        let router = || Router::spawn(&local.handle(), RoundRobin::new()).unwrap();
        let stays: Router<u64> = router();
        service.subscribe(stays.follower(), &[], &node);
        for _ in 0..10 {
            let stops = router();
            service.subscribe(stops.follower(), &[], &node);
            assert_eq!(service.subscribers.len(), 2);
            stops.address().stop();
            local.run();
        }
        service.tell(|| Listing::Present(Vec::new()));
        assert_eq!(service.subscribers.len(), 1);
        stays.address().stop();
        local.run();
        service.drop_ended();
        assert!(service.is_empty());
    }
}
