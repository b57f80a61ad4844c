//! The registry of a cluster. In a registry, each name belongs to one actor on one node.

use std::fmt;
use std::sync::Arc;

use garrick_actor::ask::Request;
use garrick_actor::{Address, Context, Reply};

use crate::directory::{Directory, NameError, Order, ToDirectory};
use crate::entities::Entities;
use crate::error::JoinError;
use crate::line::Travels;
use crate::name::NodeName;

/// A directory in which each name belongs to one actor, on one node of the cluster at a time.
/// Clones are handles to the same directory.
///
/// A name becomes free when its actor stops or is unregistered, when the node of the actor leaves,
/// or about 6 seconds after that node was lost. The registry keeps an actor alive as long as the
/// actor has a name. If a node that counted as lost comes back, this node gets back those of its
/// names that are still free.
///
/// For some seconds, a node that is cut off from the others may still treat a name as its own,
/// although another node already has the name. If two owners must never have effects at the same
/// time, use [`Entities`].
///
/// # Examples
/// ```
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
/// let system = System::new()?;
/// let placement = LocalPlacement::new(&system.handle())?;
/// let node = Node::join(&system.handle(), LocalNet::new(), "example", "node-1")?;
/// let registry = Entities::start(&node, placement)?.registry()?;
///
/// let (printer, other) = (system.spawn(Printer)?, system.spawn(Printer)?);
/// registry.register("printer", &printer).wait()?;
/// assert_eq!(registry.lookup::<String>("printer").wait()?, printer);
///
/// let taken = registry.register("printer", &other).wait().unwrap_err();
/// assert_eq!(taken.to_string(), "the name printer belongs to an actor of the node node-1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Registry {
    directory: Address<ToDirectory>,
}

impl Entities {
    /// Returns the registry of the cluster, in which each name belongs to one actor.
    ///
    /// # Errors
    /// Returns [`JoinError::Closed`] if the system is shutting down.
    pub fn registry(&self) -> Result<Registry, JoinError> {
        let directory = Directory::of(self)?;
        Ok(Registry { directory })
    }
}

/// Checks that actors may be registered under a name. Returns the name as a shared text.
fn checked(name: &str) -> Result<Arc<str>, NameError> {
    if NodeName::is_allowed(name) {
        return Ok(name.into());
    }
    Err(NameError::Name { name: name.into() })
}

/// Creates a request to register an actor under a name.
fn register<M: Travels>(
    name: &str,
    address: &Address<M>,
    reply: Reply<Result<(), NameError>>,
) -> Order {
    let (name, address) = (checked(name), address.clone());
    Box::new(move |directory, cx| match name {
        Ok(name) => directory.register(&name, &address, reply, cx),
        Err(error) => reply.send(Err(error)),
    })
}

/// Creates a request to look up the actor that has a name.
fn lookup<M: Travels>(name: &str, reply: Reply<Result<Address<M>, NameError>>) -> Order {
    let name = checked(name);
    let lookup: Order = Box::new(move |directory, _| {
        reply.send(name.and_then(|name| directory.lookup(&name)));
    });
    Box::new(move |directory, cx| directory.when_read(lookup, cx))
}

impl Registry {
    /// Registers an actor of this node under a name. The answer comes when the name is assigned.
    /// While this node cannot reach the records of the names, no answer comes, so set a time limit.
    /// Has no effect if the actor already has the name.
    ///
    /// # Errors
    /// Returns [`NameError::Taken`] with the node of the owner if another actor has the name.
    /// Returns another [`NameError`] if the name is not allowed (1 to 64 ASCII letters, digits, `-`
    /// and `_`), if this node has already registered 1,024 names, if 1,024 earlier calls for the
    /// same name still wait, or if this node has left.
    pub fn register<M: Travels>(&self, name: &str, address: &Address<M>) -> Request<(), NameError> {
        self.request(|reply| register(name, address, reply))
    }

    /// Registers an actor of this node, like [`Registry::register`]. The actor of `cx` receives the
    /// answer as a message, which `convert` creates.
    pub fn register_from<M, N, F>(
        &self,
        cx: &Context<'_, N>,
        name: &str,
        address: &Address<M>,
        convert: F,
    ) where
        M: Travels,
        N: Send + 'static,
        F: FnOnce(Result<(), NameError>) -> N + Copy + Send + 'static,
    {
        let ask = |reply| ToDirectory::Order(register(name, address, reply));
        cx.ask(&self.directory, ask, move |answer| {
            convert(answer.unwrap_or_else(|none| Err(none.into())))
        });
    }

    /// Removes the name of an actor of this node. Has no effect if the actor does not have the
    /// name.
    ///
    /// # Errors
    /// Returns a [`NameError`] if the name is not allowed, or if this node has left.
    pub fn unregister<M: Travels>(
        &self,
        name: &str,
        address: &Address<M>,
    ) -> Request<(), NameError> {
        let (name, id) = (checked(name), address.id());
        self.request(|reply: Reply<Result<(), NameError>>| {
            Box::new(move |directory, cx| {
                reply.send(name.map(|name| directory.unregister(&name, id, cx)));
            })
        })
    }

    /// Asks for the actor that has a name, as far as this node knows. The first answer comes when
    /// this node has read the records of the other nodes.
    ///
    /// # Errors
    /// Returns [`NameError::Unknown`] if no actor has the name, and [`NameError::Message`] if the
    /// actor with the name receives another type of messages. Returns another [`NameError`] if the
    /// name is not allowed, or if this node has left.
    pub fn lookup<M: Travels>(&self, name: &str) -> Request<Address<M>, NameError> {
        self.request(|reply| lookup(name, reply))
    }

    /// Asks for the actor that has a name, like [`Registry::lookup`]. The actor of `cx` receives
    /// the answer as a message, which `convert` creates.
    pub fn lookup_from<M, N, F>(&self, cx: &Context<'_, N>, name: &str, convert: F)
    where
        M: Travels,
        N: Send + 'static,
        F: FnOnce(Result<Address<M>, NameError>) -> N + Copy + Send + 'static,
    {
        let ask = |reply| ToDirectory::Order(lookup(name, reply));
        cx.ask(&self.directory, ask, move |answer| {
            convert(answer.unwrap_or_else(|none| Err(none.into())))
        });
    }

    /// Notifies a subscriber of the actor that has a name. The subscriber first receives the
    /// current actor, as far as this node knows, and then each change, until the subscriber stops.
    /// Sends `None` if no actor has the name, or if the actor receives another type of messages.
    /// If the mailbox of the subscriber is full, the subscriber misses changes. As soon as there is
    /// room again, it receives the newest actor, after a delay of about one second.
    ///
    /// # Errors
    /// Returns a [`NameError`] if the name is not allowed, or if this node has left.
    pub fn watch<M: Travels>(
        &self,
        name: &str,
        to: &Address<Option<Address<M>>>,
    ) -> Request<(), NameError> {
        let (name, to) = (checked(name), to.clone());
        self.request(|reply: Reply<Result<(), NameError>>| {
            Box::new(move |directory, _| {
                reply.send(name.map(|name| directory.watch_name(name, to)));
            })
        })
    }

    fn request<R: Send + 'static>(
        &self,
        order: impl FnOnce(Reply<Result<R, NameError>>) -> Order,
    ) -> Request<R, NameError> {
        Request::new(self.directory.ask(|reply| ToDirectory::Order(order(reply))))
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").finish_non_exhaustive()
    }
}
