//! The actor that keeps the directory of a node: the services and names of actors that the node
//! knows.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use garrick_actor::naming::Listing;
use garrick_actor::{Actor, Address, Context, Internal, Next};
use garrick_core::random::mix;
use garrick_sched::{Nanos, nanos};

use super::changes::Changes;
use super::error::ServiceError;
use super::names::Names;
use super::record::{INSTANCES_MAX, Instance, Key, SERVICES_MAX, Served, ServiceKey};
use super::service::{AnyService, Service};
use super::view::{Changed, Membership, View};
use crate::entities::Entities;
use crate::error::JoinError;
use crate::line::Travels;
use crate::members::{PlacerMsg, encode, hash};
use crate::node::Node;
use crate::placement::{News, Outcome, Record};
use crate::watching::{Watching, guarded};

/// Time between two checks of all records.
const BEAT: Duration = Duration::from_secs(1);

/// If a record of another node has been invalid for at least this time, this node removes the
/// record. Each node waits for an additional random time of up to the same length, so that not all
/// nodes remove the record at once.
const DEAD: Duration = Duration::from_secs(10);

/// Maximum number of requests that wait for the first reading of the records. Further requests are
/// answered at once, from the records that are known so far.
const EARLY_MAX: usize = 1_024;

/// An operation that the actor of the directory runs on the directory.
pub(crate) type Order = Box<dyn FnOnce(&mut Directory, &Context<'_, ToDirectory>) + Send>;

/// A message to the actor that keeps the directory of a node.
pub(crate) enum ToDirectory {
    Beat,
    News(News),
    Order(Order),
    /// An actor of this node that is listed in the directory has ended.
    Ended {
        key: ServiceKey,
        number: u64,
    },
    /// An actor of this node that is registered under a name has ended.
    NameEnded {
        name: Arc<str>,
        number: u64,
    },
    /// The node is no longer a member.
    Left,
}

/// The actor that keeps the records of this node's services, and informs actors of this node about
/// the services of other nodes.
pub(crate) struct Directory {
    pub(super) node: Node,
    placer: Address<PlacerMsg>,
    pub(super) changes: Changes,
    pub(super) view: View,
    pub(super) names: Names,
    /// Services that this node offers, and services that have subscribers on this node.
    services: BTreeMap<ServiceKey, Box<dyn AnyService>>,
    /// Requests that have arrived before the records were read for the first time. The requests run
    /// after this first reading.
    early: Vec<Order>,
    /// Keys of invalid records of other nodes. Each value is the time at which this node first
    /// found the record invalid.
    dead: BTreeMap<Arc<str>, Nanos>,
}

/// The address of the actor that keeps the directory of a node.
#[derive(Clone)]
struct Kept(Address<ToDirectory>);

impl Directory {
    /// Returns the address of the directory of a node. Starts the directory on first use.
    pub(crate) fn of(entities: &Entities) -> Result<Address<ToDirectory>, JoinError> {
        let (node, placer) = (entities.node(), entities.placer());
        let start = || {
            let directory = Self {
                node: node.clone(),
                placer: placer.clone(),
                changes: Changes::new(entities.placement()),
                view: View::default(),
                names: Names::default(),
                services: BTreeMap::new(),
                early: Vec::new(),
                dead: BTreeMap::new(),
            };
            node.handle().spawn(Internal(directory)).ok().map(Kept)
        };
        // A directory that was started in a turn that was undone has ended before the node left.
        let runs = |Kept(known): &Kept| !known.is_stopped() || placer.is_stopped();
        match entities.kept("", usize::MAX, runs, start) {
            Ok(Kept(directory)) => Ok(directory),
            Err(_) => Err(JoinError::Closed),
        }
    }

    /// Returns the membership of this node. Returns `None` if this node is not a member in the
    /// records that were read most recently.
    pub(super) fn membership(&self) -> Option<Membership> {
        let member = self.view.member(self.node.name())?;
        (member.life == self.node.life()).then_some(member)
    }

    pub(super) fn news(cx: &Context<'_, ToDirectory>) -> Address<News> {
        cx.address().contramap(ToDirectory::News)
    }

    fn read(&mut self, cx: &Context<'_, ToDirectory>) {
        let since = self.view.revision();
        self.changes.read(since, cx.now(), &Self::news(cx));
    }

    /// Returns the service with this key. Creates the service if there is none. Fails if the
    /// service has another type of messages.
    fn service<M: Travels>(&mut self, key: &ServiceKey) -> Result<&mut Service<M>, ServiceError> {
        let service = self.services.entry(key.clone()).or_insert_with(|| {
            let service: Service<M> = Service::default();
            Box::new(service)
        });
        let service = service.as_any().downcast_mut();
        service.ok_or_else(|| ServiceError::Message {
            key: key.name.to_string(),
        })
    }

    /// Removes a service that has no actors and no subscribers.
    fn forget(&mut self, key: &ServiceKey) {
        if (self.services.get(key)).is_some_and(|service| service.is_empty()) {
            self.services.remove(key);
        }
    }

    /// Adds an actor of this node to the actors that offer a service.
    pub(crate) fn serve<M: Travels>(
        &mut self,
        key: &ServiceKey,
        address: &Address<M>,
        cx: &Context<'_, ToDirectory>,
    ) -> Result<(), ServiceError> {
        let served = self.service::<M>(key)?.numbers().len();
        let is_known = self.service::<M>(key)?.number_of(address.id()).is_some();
        if is_known || address.is_stopped() {
            self.forget(key);
            return Ok(());
        }
        let keys = self.services.values();
        let keys = keys.filter(|service| !service.numbers().is_empty()).count();
        let refused = match (served, keys) {
            (0, SERVICES_MAX..) => Some(ServiceError::Keys),
            (INSTANCES_MAX.., _) => Some(ServiceError::Instances {
                key: key.name.to_string(),
            }),
            _ => None,
        };
        if let Some(refused) = refused {
            self.forget(key);
            return Err(refused);
        }
        let number = self.node.next_served();
        let service = Instance::service(self.node.life(), number);
        self.node.offer(&service, address);
        let of_watch = key.clone();
        let watching = Watching::begin(|| {
            cx.watch(address, move |_| ToDirectory::Ended {
                key: of_watch,
                number,
            })
        });
        let node = self.node.clone();
        let service = self.service::<M>(key)?;
        service.add(number, address.clone(), watching, &node);
        self.settle(key, cx);
        Ok(())
    }

    /// Removes an actor of this node from the actors that offer a service.
    pub(crate) fn withdraw<M: Travels>(
        &mut self,
        key: &ServiceKey,
        address: &Address<M>,
        cx: &Context<'_, ToDirectory>,
    ) -> Result<(), ServiceError> {
        let number = self.service::<M>(key)?.number_of(address.id());
        if let Some(number) = number {
            self.remove(key, number, cx);
        }
        self.forget(key);
        Ok(())
    }

    fn remove(&mut self, key: &ServiceKey, number: u64, cx: &Context<'_, ToDirectory>) {
        let service = self.services.get_mut(key);
        if service.is_some_and(|service| service.remove(number)) {
            let service = Instance::service(self.node.life(), number);
            self.node.withdraw(&service);
            self.forget(key);
            self.settle(key, cx);
        }
    }

    /// Returns all actors that offer the service with the key `key`.
    pub(crate) fn find<M: Travels>(
        &mut self,
        key: &ServiceKey,
    ) -> Result<Vec<Address<M>>, ServiceError> {
        let present = self.view.present(key, self.node.name());
        let node = self.node.clone();
        let all = self.service::<M>(key)?.all(&present, &node);
        self.forget(key);
        Ok(all)
    }

    /// Informs a subscriber about the actors of a service, and about each later change.
    pub(crate) fn subscribe<M: Travels>(
        &mut self,
        key: &ServiceKey,
        subscriber: Address<Listing<M>>,
    ) -> Result<(), ServiceError> {
        let present = self.view.present(key, self.node.name());
        let node = self.node.clone();
        let service = self.service::<M>(key)?;
        service.subscribe(subscriber, &present, &node);
        self.forget(key);
        Ok(())
    }

    /// Ends the subscription of an address to the changes of a service.
    pub(crate) fn unsubscribe<M: Travels>(
        &mut self,
        key: &ServiceKey,
        subscriber: &Address<Listing<M>>,
    ) {
        if let Ok(service) = self.service::<M>(key) {
            service.unsubscribe(subscriber);
        }
        self.forget(key);
    }

    /// Runs a request. If the request panics, because its address is a door whose code panics, only
    /// this request has no answer.
    fn run(&mut self, order: Order, cx: &Context<'_, ToDirectory>) {
        let _ = guarded(|| order(self, cx));
    }

    /// Runs a request after the first reading of the records. Runs the request at once if the
    /// records were already read, or if too many requests are waiting.
    pub(crate) fn when_read(&mut self, order: Order, cx: &Context<'_, ToDirectory>) {
        if self.view.is_read() || self.early.len() >= EARLY_MAX {
            self.run(order, cx);
        } else {
            self.early.push(order);
        }
    }

    /// Updates the record that lists the actors of this node for a service, if the record is out of
    /// date.
    fn settle(&mut self, key: &ServiceKey, cx: &Context<'_, ToDirectory>) {
        let Some(Membership { life, epoch }) = self.membership() else {
            // The record of another membership would not hold.
            return;
        };
        let service = self.services.get(key);
        let numbers = service.map(|service| service.numbers());
        let numbers = numbers.filter(|numbers| !numbers.is_empty());
        let wanted = numbers.map(|numbers| Served {
            epoch,
            life,
            numbers,
        });
        let known = self.view.record(key, self.node.name());
        let is_settled = match known {
            Some(seen) => wanted.is_some() && seen.served == wanted,
            None => wanted.is_none(),
        };
        if is_settled {
            return;
        }
        let expected = known.map_or(0, |seen| seen.revision);
        let record = Key::Served(self.node.name().clone(), key.clone());
        let (value, to) = (wanted.map(encode), Self::news(cx));
        let changes = &mut self.changes;
        changes.change(record.text(), expected, value, cx.now(), &to);
    }

    /// Updates all out-of-date records of this node.
    fn settle_all(&mut self, cx: &Context<'_, ToDirectory>) {
        let mut keys = self.view.keys_of(self.node.name());
        keys.extend(self.services.keys().cloned());
        for key in keys {
            self.settle(&key, cx);
        }
        self.settle_names(cx);
    }

    /// Handles the answer to a request of this node to change a record.
    fn answered(
        &mut self,
        key: &Arc<str>,
        ticket: u64,
        outcome: &Outcome,
        cx: &Context<'_, ToDirectory>,
    ) {
        let pending = self.changes.answered(key, ticket);
        if let (Some(pending), Outcome::Changed(revision)) = (pending, outcome) {
            let record = Record {
                key: key.clone(),
                revision: *revision,
                value: pending.value,
            };
            self.apply(|view| view.apply_own(&record), cx);
        }
        if self.changes.has_room_again() {
            self.settle_all(cx);
        }
        self.read(cx);
    }

    /// Applies records that were read, and informs the subscribers about the changes.
    fn apply(&mut self, apply: impl FnOnce(&mut View) -> Changed, cx: &Context<'_, ToDirectory>) {
        let before = self.membership();
        let Changed { services, names } = apply(&mut self.view);
        for key in services {
            if let Some(service) = self.services.get_mut(&key)
                && service.is_followed()
            {
                let present = self.view.present(&key, self.node.name());
                service.refresh(&present, &self.node);
            }
            self.settle(&key, cx);
        }
        for name in names {
            self.settle_name(&name, cx);
            self.tell_watchers(&name);
        }
        if self.membership() != before {
            self.settle_all(cx);
        }
    }

    fn news_came(&mut self, news: News, cx: &Context<'_, ToDirectory>) {
        match news {
            News::Hint => self.read(cx),
            News::Outcome {
                key,
                ticket,
                outcome,
            } => self.answered(&key, ticket, &outcome, cx),
            News::Records {
                records,
                revision,
                is_whole,
            } => {
                let reads_again = self.changes.has_read();
                self.apply(|view| view.apply(&records, revision, is_whole), cx);
                if self.view.is_read() {
                    for order in std::mem::take(&mut self.early) {
                        self.run(order, cx);
                    }
                }
                if reads_again {
                    self.read(cx);
                }
            }
        }
    }

    /// Removes records of other nodes that have been invalid for a long time.
    fn sweep(&mut self, cx: &Context<'_, ToDirectory>) {
        let now = cx.now();
        let own = hash(self.node.name().as_str());
        let found = self.view.dead(self.node.name());
        let mut dead = BTreeMap::new();
        for (key, revision) in found {
            let since = self.dead.get(&key).copied().unwrap_or(now);
            // Nodes come to it at different times.
            let wait = nanos(DEAD) + mix(own ^ hash(&key)) % nanos(DEAD);
            if now.saturating_sub(since) >= wait {
                let (changes, to) = (&mut self.changes, Self::news(cx));
                changes.change(key.clone(), revision, None, now, &to);
            }
            dead.insert(key, since);
        }
        self.dead = dead;
    }

    /// Removes subscribers that have ended, and services that have no actors and no subscribers.
    /// Sends the other subscribers the changes for which their mailboxes had no room before.
    fn tend_subscribers(&mut self) {
        self.services.retain(|_, service| {
            service.drop_ended();
            service.tell_missed();
            !service.is_empty()
        });
    }

    fn beat(&mut self, cx: &Context<'_, ToDirectory>) {
        let me = cx.address();
        self.changes.forget_late(cx.now());
        self.tend_subscribers();
        self.tend_watchers();
        self.read(cx);
        self.settle_all(cx);
        if self.membership().is_some() {
            self.sweep(cx);
        }
        let _ = cx.send_after(BEAT, &me, ToDirectory::Beat);
    }

    /// Ends the subscriptions and services, because this node has left.
    fn leave(&mut self) {
        self.end_names();
        for service in self.services.values_mut() {
            service.refresh(&[], &self.node);
            for number in service.numbers() {
                let name = Instance::service(self.node.life(), number);
                self.node.withdraw(&name);
            }
        }
    }
}

impl Actor for Directory {
    type Msg = ToDirectory;
    type Outcome = Next;

    fn started(&mut self, cx: &mut Context<'_, ToDirectory>) -> Next {
        self.changes.watch(&Self::news(cx));
        // The placer ends when the node leaves.
        let _ = cx.watch(&self.placer, |_| ToDirectory::Left);
        self.beat(cx);
        Next::Continue
    }

    fn receive(&mut self, message: ToDirectory, cx: &mut Context<'_, ToDirectory>) -> Next {
        match message {
            ToDirectory::Beat => self.beat(cx),
            ToDirectory::News(news) => self.news_came(news, cx),
            ToDirectory::Order(order) => self.run(order, cx),
            ToDirectory::Ended { key, number } => self.remove(&key, number, cx),
            ToDirectory::NameEnded { name, number } => self.name_ended(&name, number, cx),
            ToDirectory::Left => {
                self.leave();
                return Next::Stop;
            }
        }
        Next::Continue
    }
}
