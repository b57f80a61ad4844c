//! The receptionist, which finds the actors that serve a protocol.

use std::any::{Any, TypeId};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Weak};

use garrick_sched::{Address, Ask, Ended, NoReply, Reply, SendError, SpawnError, TaskId, Watch};

use super::subscribers::Subscribers;
use crate::model::actor::{Actor, Steady};
use crate::model::context::Context;
use crate::quiet;
use crate::roll::Roll;
use crate::system::handle::Handle;

/// A directory of the actors that serve each protocol. The receptionist notifies subscribers of
/// changes.
///
/// A protocol is identified by a [`Key`], which consists of a message type and a name. Any number
/// of actors may serve a protocol. An actor is removed from its protocols when it stops.
///
/// # Examples
/// ```
/// use garrick_actor::naming::{Key, Receptionist};
/// use garrick_actor::{Actor, Context, Next, System};
///
/// # struct Printer;
/// # impl Actor for Printer {
/// #     type Msg = String;
/// #     type Outcome = Next;
/// #     fn receive(&mut self, _: String, _: &mut Context<'_, String>) -> Next { Next::Continue }
/// # }
/// const PRINTERS: Key<String> = Key::new("printers");
///
/// let system = System::new()?;
/// let receptionist = Receptionist::spawn(&system.handle())?;
/// let (left, right) = (system.spawn(Printer)?, system.spawn(Printer)?);
/// receptionist.serve(&PRINTERS, &left)?;
/// receptionist.serve(&PRINTERS, &right)?;
/// assert_eq!(receptionist.find(&PRINTERS).wait()?, [left, right]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Receptionist {
    /// Address of the receptionist's actor, which all handles of the receptionist share.
    ///
    /// The functions that are called when a server has stopped contain only a weak reference to
    /// this address. Otherwise, the actor and its servers would keep each other alive forever,
    /// because the actor also keeps its servers alive.
    address: Arc<Address<Order>>,
}

/// The key of a protocol. The key consists of the message type `M` and a name that distinguishes
/// protocols with the same message type.
pub struct Key<M> {
    name: Cow<'static, str>,
    message: PhantomData<fn(M) -> M>,
}

/// A message that a [`Receptionist`] sends to a subscriber of a protocol.
pub enum Listing<M> {
    /// The actors that currently serve the protocol. Each subscriber receives this message once, as
    /// its first message.
    Present(Vec<Address<M>>),
    /// An actor has begun to serve the protocol.
    Added(Address<M>),
    /// An actor no longer serves the protocol, because [`Receptionist::withdraw`] has removed it or
    /// because it has stopped.
    Removed(Address<M>),
}

/// An operation on the services, executed by the receptionist's actor.
type Order = Box<dyn FnOnce(&mut Services) + Send>;

impl<M> Key<M> {
    /// Creates a key with this name. Keys with the same name and message type identify the same
    /// protocol.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self {
            name: Cow::Borrowed(name),
            message: PhantomData,
        }
    }

    /// Creates a key from a name that is created at run time.
    #[must_use]
    pub fn owned(name: impl Into<String>) -> Self {
        Self {
            name: Cow::Owned(name.into()),
            message: PhantomData,
        }
    }

    /// Returns the name of the key.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Receptionist {
    /// Creates a receptionist on the system `on`.
    ///
    /// # Errors
    /// Fails if the system is shutting down.
    pub fn spawn(on: &Handle) -> Result<Self, SpawnError<()>> {
        match on.spawn_task(Steady(ReceptionistActor(Services::default()))) {
            Ok(address) => Ok(Self {
                address: Arc::new(address),
            }),
            Err(_) => Err(SpawnError(())),
        }
    }

    /// Registers `address` as a server of the protocol with this `key`. Has no effect if `address`
    /// is already registered.
    ///
    /// # Errors
    /// Fails if the receptionist is known to have stopped.
    pub fn serve<M: Send + 'static>(
        &self,
        key: &Key<M>,
        address: &Address<M>,
    ) -> Result<(), SendError<()>> {
        let address = address.clone();
        let (receptionist, of) = (Arc::downgrade(&self.address), key.clone());
        self.order(key, move |service| {
            service.add(address, |task, number| {
                notice(receptionist, of, task, number)
            });
        })
    }

    /// Removes `address` from the servers of the protocol with this `key`.
    ///
    /// # Errors
    /// Fails if the receptionist is known to have stopped.
    pub fn withdraw<M: Send + 'static>(
        &self,
        key: &Key<M>,
        address: &Address<M>,
    ) -> Result<(), SendError<()>> {
        let task = address.id();
        self.order(key, move |service| service.remove(task))
    }

    /// Subscribes `subscriber` to the protocol with this `key`. The subscriber first receives the
    /// list of actors that serve the protocol now, and then every change of this list.
    ///
    /// # Errors
    /// Fails if the receptionist is known to have stopped.
    pub fn subscribe<M: Send + 'static>(
        &self,
        key: &Key<M>,
        subscriber: &Address<Listing<M>>,
    ) -> Result<(), SendError<()>> {
        let subscriber = subscriber.clone();
        self.order(key, move |service| service.subscribe(&subscriber))
    }

    /// Unsubscribes `subscriber` from the protocol with this `key`.
    ///
    /// # Errors
    /// Fails if the receptionist is known to have stopped.
    pub fn unsubscribe<M: Send + 'static>(
        &self,
        key: &Key<M>,
        subscriber: &Address<Listing<M>>,
    ) -> Result<(), SendError<()>> {
        let subscriber = subscriber.clone();
        self.order(key, move |service| service.subscribers.remove(&subscriber))
    }

    /// Asks for the actors that serve the protocol with this `key`, in the order in which they were
    /// registered.
    pub fn find<M: Send + 'static>(&self, key: &Key<M>) -> Ask<Vec<Address<M>>> {
        self.address.ask(|reply| find(key, reply))
    }

    /// Finds the actors that serve the protocol with this `key`, like [`Receptionist::find`]. The
    /// actor that `cx` belongs to receives the answer as a message, which `convert` creates.
    pub fn find_from<M, N, F>(&self, cx: &Context<'_, N>, key: &Key<M>, convert: F)
    where
        M: Send + 'static,
        N: Send + 'static,
        F: FnOnce(Result<Vec<Address<M>>, NoReply>) -> N + Copy + Send + 'static,
    {
        cx.ask(&self.address, |reply| find(key, reply), convert);
    }

    fn order<M: Send + 'static>(
        &self,
        key: &Key<M>,
        change: impl FnOnce(&mut Service<M>) + Send + 'static,
    ) -> Result<(), SendError<()>> {
        let sent = self.address.send(order(key, change));
        sent.map_err(|_| SendError(()))
    }
}

/// Creates a function that is called when a watched server has stopped. The function removes the
/// server from its protocol. `number` is the sequence number of the server in the protocol. It is
/// necessary, because a later server may have the same `task`.
fn notice<M: Send + 'static>(
    receptionist: Weak<Address<Order>>,
    key: Key<M>,
    task: TaskId,
    number: u64,
) -> impl FnOnce(Ended) + Send + use<M> {
    move |_| {
        if let Some(receptionist) = receptionist.upgrade() {
            let remove = order::<M>(&key, move |service| service.remove_ended(task, number));
            let _ = receptionist.send(remove);
        }
    }
}

fn find<M: Send + 'static>(key: &Key<M>, reply: Reply<Vec<Address<M>>>) -> Order {
    order(key, move |service| {
        let present = service.present();
        // The conversion of the answer is foreign code. If it panicked in this turn, the turn would
        // be undone. Subscribers would then never learn of the servers that were removed above.
        quiet::call(|| reply.send(present));
    })
}

/// Creates an operation that changes the servers or the subscribers of one protocol.
fn order<M: Send + 'static>(
    key: &Key<M>,
    change: impl FnOnce(&mut Service<M>) + Send + 'static,
) -> Order {
    let name = key.name.clone();
    Box::new(move |services| services.change(name, change))
}

/// The servers and the subscribers of a protocol.
struct Service<M> {
    /// Servers, each with the watch that reports when the server has stopped. With `n` servers,
    /// adding or removing a server takes O(log n) on average.
    serving: Roll<(Address<M>, Watch)>,
    subscribers: Subscribers<Listing<M>>,
}

impl<M: 'static> Service<M> {
    fn new() -> Self {
        Self {
            serving: Roll::new(),
            subscribers: Subscribers::new(),
        }
    }

    /// Adds a server. `notice` gets the server's task and sequence number, and returns the function
    /// that is called when the server has stopped.
    fn add<F>(&mut self, address: Address<M>, notice: impl FnOnce(TaskId, u64) -> F)
    where
        F: FnOnce(Ended) + Send + 'static,
    {
        let task = address.id();
        if !self.serving.contains(task) && !address.is_stopped() {
            let watch = address.watch(notice(task, self.serving.next_number()));
            // The check above has shown that the server is not registered yet.
            let _ = self.serving.add(task, (address.clone(), watch));
            self.subscribers.publish(Listing::Added(address));
        }
    }

    /// Returns true if the protocol has no servers and no subscribers, so that its entry can be
    /// removed.
    fn is_empty(&mut self) -> bool {
        self.serving.is_empty() && self.subscribers.is_empty()
    }

    /// Returns the servers that have not stopped. Removes the stopped servers, even if the
    /// receptionist has not received the notifications about their stop yet.
    fn present(&mut self) -> Vec<Address<M>> {
        let gone = self.serving.extract(|(address, _)| !address.is_stopped());
        gone.into_iter().for_each(|gone| self.see_off(gone));
        let serving = self.serving.iter();
        serving.map(|(address, _)| address.clone()).collect()
    }

    fn remove(&mut self, task: TaskId) {
        if let Some(gone) = self.serving.remove(task) {
            self.see_off(gone);
        }
    }

    /// Removes a server that has stopped. Does nothing if the server was already removed, even if
    /// another server now has the same task.
    fn remove_ended(&mut self, task: TaskId, number: u64) {
        if self.serving.number_of(task) == Some(number) {
            self.remove(task);
        }
    }

    /// Notifies the subscribers that an actor no longer serves the protocol.
    fn see_off(&mut self, (gone, watch): (Address<M>, Watch)) {
        watch.cancel();
        self.subscribers.publish(Listing::Removed(gone));
    }

    fn subscribe(&mut self, subscriber: &Address<Listing<M>>) {
        // The subscriber is added after this call, so it is not notified of stopped actors that it
        // has never received.
        let present = self.present();
        if self.subscribers.add(subscriber.clone()) {
            // This message must arrive, because all later messages are changes. If the subscriber
            // has stopped, it is removed at the next change.
            let _ = subscriber.send_promised(Listing::Present(present));
        }
    }
}

/// The servers and the subscribers of all protocols.
#[derive(Default)]
struct Services {
    /// A `Service<M>` for every key that has a server or a subscriber.
    by_key: BTreeMap<(Cow<'static, str>, TypeId), Box<dyn Any + Send>>,
}

impl Services {
    fn change<M: Send + 'static>(
        &mut self,
        name: Cow<'static, str>,
        change: impl FnOnce(&mut Service<M>),
    ) {
        let key = (name, TypeId::of::<M>());
        let any = self
            .by_key
            .entry(key.clone())
            .or_insert_with(|| Box::new(Service::<M>::new()));
        let service: &mut Service<M> = any
            .downcast_mut()
            .expect("the key of a service contains its message type");
        change(service);
        // Keys made at run time must not accumulate.
        if service.is_empty() {
            self.by_key.remove(&key);
        }
    }
}

struct ReceptionistActor(Services);

impl Actor for ReceptionistActor {
    type Msg = Order;
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, order: Order, _: &mut Context<'_, Order>) {
        order(&mut self.0);
    }
}

impl<M> Clone for Key<M> {
    fn clone(&self) -> Self {
        Self {
            name: self.name.clone(),
            message: PhantomData,
        }
    }
}

impl<M> Clone for Listing<M> {
    fn clone(&self) -> Self {
        match self {
            Self::Present(all) => Self::Present(all.clone()),
            Self::Added(one) => Self::Added(one.clone()),
            Self::Removed(one) => Self::Removed(one.clone()),
        }
    }
}

impl<M> PartialEq for Listing<M> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Present(a), Self::Present(b)) => a == b,
            (Self::Added(a), Self::Added(b)) | (Self::Removed(a), Self::Removed(b)) => a == b,
            _ => false,
        }
    }
}

impl<M> Eq for Listing<M> {}

impl<M> fmt::Debug for Key<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = std::any::type_name::<M>();
        write!(f, "Key<{message}>({:?})", self.name)
    }
}

impl<M> fmt::Debug for Listing<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Present(all) => f.debug_tuple("Present").field(all).finish(),
            Self::Added(one) => f.debug_tuple("Added").field(one).finish(),
            Self::Removed(one) => f.debug_tuple("Removed").field(one).finish(),
        }
    }
}

impl fmt::Debug for Receptionist {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receptionist").finish_non_exhaustive()
    }
}
