//! The receptionist of a cluster finds actors by key, on all nodes.

use std::fmt;
use std::sync::Arc;

use garrick_actor::ask::Request;
use garrick_actor::naming::{Key, Listing};
use garrick_actor::{Address, Context, Reply};
use garrick_wire::Wire;

use crate::directory::{Directory, Order, ServiceError, ServiceKey, ToDirectory};
use crate::entities::Entities;
use crate::error::JoinError;
use crate::line::{Carrier, Travels};
use crate::name::NodeName;

/// A directory that lists actors by key, on all nodes of a cluster, and notifies subscribers of
/// changes. Clones are handles to the same directory.
///
/// A key consists of a name and a type of messages. Any number of actors on any nodes may serve a
/// key. An actor is removed when it stops or is withdrawn, or when its node leaves or is lost. The
/// directory keeps the actors of its own node alive.
///
/// Changes on a node are visible on that node at once, and on other nodes a little later. The loss
/// of a node is noticed after about 6 seconds. Until then, messages to actors of the lost node are
/// lost.
///
/// # Examples
/// ```
/// use garrick_actor::naming::Key;
/// use garrick_actor::{Actor, Context, System};
/// use garrick_cluster::placement::LocalPlacement;
/// use garrick_cluster::{Entities, LocalNet, Node};
///
/// # struct Printer;
/// # impl Actor for Printer {
/// #     type Msg = String;
/// #     type Outcome = ();
/// #     fn receive(&mut self, _: String, _: &mut Context<'_, String>) {}
/// # }
/// const PRINTERS: Key<String> = Key::new("printers");
///
/// let system = System::new()?;
/// let placement = LocalPlacement::new(&system.handle())?;
/// let node = Node::join(&system.handle(), LocalNet::new(), "example", "node-1")?;
/// let receptionist = Entities::start(&node, placement)?.receptionist()?;
///
/// let printer = system.spawn(Printer)?;
/// receptionist.serve(&PRINTERS, &printer).wait()?;
/// assert_eq!(receptionist.find(&PRINTERS).wait()?, [printer]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Receptionist {
    directory: Address<ToDirectory>,
}

impl Entities {
    /// Returns the receptionist of this node.
    ///
    /// # Errors
    /// Returns [`JoinError::Closed`] if the system is shutting down.
    pub fn receptionist(&self) -> Result<Receptionist, JoinError> {
        let directory = Directory::of(self)?;
        Ok(Receptionist { directory })
    }
}

/// Returns the key under which the records of a service are stored.
pub(crate) fn service_key<M: Travels>(key: &Key<M>) -> Result<ServiceKey, ServiceError> {
    let name = key.name();
    if !NodeName::is_allowed(name) {
        return Err(ServiceError::Key { name: name.into() });
    }
    Ok(ServiceKey {
        name: Arc::from(name),
        of: <M as Wire<Carrier>>::ID,
    })
}

/// Creates a request to find the actors that serve a key.
fn find<M: Travels>(
    key: Result<ServiceKey, ServiceError>,
    reply: Reply<Result<Vec<Address<M>>, ServiceError>>,
) -> Order {
    let find: Order = Box::new(move |directory, _| {
        reply.send(key.and_then(|key| directory.find(&key)));
    });
    Box::new(move |directory, cx| directory.when_read(find, cx))
}

impl Receptionist {
    /// Adds an actor of this node to the actors that serve a key. Has no effect if the actor
    /// already serves the key, or has stopped.
    ///
    /// # Errors
    /// Returns a [`ServiceError`] if the name of the key is not allowed (1 to 64 ASCII letters,
    /// digits, `-` and `_`), if this node already serves 1,024 actors under the key or uses 1,024
    /// keys, or if the node has left.
    pub fn serve<M: Travels>(
        &self,
        key: &Key<M>,
        address: &Address<M>,
    ) -> Request<(), ServiceError> {
        let (key, address) = (service_key(key), address.clone());
        self.request(|reply: Reply<Result<(), ServiceError>>| {
            Box::new(move |directory, cx| {
                reply.send(key.and_then(|key| directory.serve(&key, &address, cx)));
            })
        })
    }

    /// Removes an actor of this node from the actors that serve a key.
    ///
    /// # Errors
    /// Returns a [`ServiceError`] if the name of the key is not allowed, or if this node has left.
    pub fn withdraw<M: Travels>(
        &self,
        key: &Key<M>,
        address: &Address<M>,
    ) -> Request<(), ServiceError> {
        let (key, address) = (service_key(key), address.clone());
        self.request(|reply: Reply<Result<(), ServiceError>>| {
            Box::new(move |directory, cx| {
                reply.send(key.and_then(|key| directory.withdraw(&key, &address, cx)));
            })
        })
    }

    /// Asks for the actors that serve a key. The answer first lists the actors of this node, in the
    /// order of their registration, and then the actors of other nodes, sorted by node name. The
    /// first answer comes when this node has read the records of the other nodes.
    ///
    /// # Errors
    /// Returns a [`ServiceError`] if the name of the key is not allowed, or if this node has left.
    pub fn find<M: Travels>(&self, key: &Key<M>) -> Request<Vec<Address<M>>, ServiceError> {
        let key = service_key(key);
        self.request(|reply| find(key, reply))
    }

    /// Asks for the actors that serve a key, like [`Receptionist::find`]. The actor of `cx`
    /// receives the answer as a message, which `convert` creates. All values that `convert`
    /// captures must be `Copy`.
    pub fn find_from<M, N, F>(&self, cx: &Context<'_, N>, key: &Key<M>, convert: F)
    where
        M: Travels,
        N: Send + 'static,
        F: FnOnce(Result<Vec<Address<M>>, ServiceError>) -> N + Copy + Send + 'static,
    {
        let key = service_key(key);
        let ask = |reply| ToDirectory::Order(find(key, reply));
        cx.ask(&self.directory, ask, move |answer| {
            convert(answer.unwrap_or_else(|none| Err(none.into())))
        });
    }

    /// Subscribes to the list of actors that serve a key. The subscriber first receives all actors
    /// that this node knows, even if its mailbox is full, and then every change.
    ///
    /// A subscriber whose mailbox is full gets the changes later: when there is room, after a delay
    /// of about one second. If an actor was added and removed in the meantime, the subscriber does
    /// not hear of it. A mailbox that drops messages when it is full misses changes.
    ///
    /// # Errors
    /// Returns a [`ServiceError`] if the name of the key is not allowed, or if this node has left.
    pub fn subscribe<M: Travels>(
        &self,
        key: &Key<M>,
        subscriber: &Address<Listing<M>>,
    ) -> Request<(), ServiceError> {
        let (key, subscriber) = (service_key(key), subscriber.clone());
        self.request(|reply: Reply<Result<(), ServiceError>>| {
            Box::new(move |directory, _| {
                reply.send(key.and_then(|key| directory.subscribe(&key, subscriber)));
            })
        })
    }

    /// Unsubscribes from the list of actors that serve a key.
    ///
    /// # Errors
    /// Returns a [`ServiceError`] if the name of the key is not allowed, or if this node has left.
    pub fn unsubscribe<M: Travels>(
        &self,
        key: &Key<M>,
        subscriber: &Address<Listing<M>>,
    ) -> Request<(), ServiceError> {
        let (key, subscriber) = (service_key(key), subscriber.clone());
        self.request(|reply: Reply<Result<(), ServiceError>>| {
            Box::new(move |directory, _| {
                reply.send(key.map(|key| directory.unsubscribe(&key, &subscriber)));
            })
        })
    }

    pub(crate) fn request<R: Send + 'static>(
        &self,
        order: impl FnOnce(Reply<Result<R, ServiceError>>) -> Order,
    ) -> Request<R, ServiceError> {
        Request::new(self.directory.ask(|reply| ToDirectory::Order(order(reply))))
    }
}

impl fmt::Debug for Receptionist {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receptionist").finish_non_exhaustive()
    }
}
