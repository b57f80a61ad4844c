//! The registry, which maps each name to one actor.

use std::any::{Any, type_name};
use std::collections::BTreeMap;
use std::fmt;

use garrick_sched::{Address, Ask, NoReply, Reply, SendError, SpawnError};

use super::sweep::Sweep;
use crate::ask::request::{Request, flatten};
use crate::model::actor::{Actor, Steady};
use crate::model::context::Context;
use crate::system::handle::Handle;

/// A directory that finds an actor by its name. An address is only returned if it has the requested
/// message type.
///
/// A name becomes free when its actor stops or when [`Registry::unregister`] removes the name.
/// Until then, the registry keeps the actor alive.
///
/// The methods with the suffix `_from` are for actors. The actor whose context is passed receives
/// the answer as a message, as with [`Context::ask`]. The closure `convert` creates this message.
/// All values that it captures must be `Copy`.
///
/// # Examples
/// ```
/// use garrick_actor::naming::{LookupError, Registry};
/// use garrick_actor::{Actor, Context, Next, System};
///
/// # struct Printer;
/// # impl Actor for Printer {
/// #     type Msg = String;
/// #     type Outcome = Next;
/// #     fn receive(&mut self, _: String, _: &mut Context<'_, String>) -> Next { Next::Continue }
/// # }
/// let system = System::new()?;
/// let registry = Registry::spawn(&system.handle())?;
/// let printer = system.spawn(Printer)?; // Its messages are of type `String`.
/// registry.register("printer", &printer).wait()?;
///
/// let found = registry.lookup::<String>("printer").wait()?;
/// assert_eq!(found, printer);
///
/// let wrong = registry.lookup::<u32>("printer").wait().unwrap_err();
/// assert_eq!(
///     wrong.to_string(),
///     "the actor `printer` has messages of type alloc::string::String, not u32",
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Registry {
    address: Address<Order>,
}

/// An operation on the names, executed by the registry's actor.
type Order = Box<dyn FnOnce(&mut Names) + Send>;

/// The error returned when a name cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegisterError {
    /// The name already belongs to another actor that has not stopped.
    Taken {
        /// The requested name.
        name: String,
        /// Message type of the actor that already has this name.
        message: &'static str,
    },
    /// The registry did not answer, for example because it has stopped.
    NoRegistry(NoReply),
}

/// The error returned when a lookup fails.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LookupError {
    /// No actor has the requested name, or the actor with this name has stopped.
    Unknown {
        /// The requested name.
        name: String,
    },
    /// The actor with the requested name does not have the requested message type.
    Mismatch {
        /// The requested name.
        name: String,
        /// Message type of the actor with this name.
        registered: &'static str,
        /// Message type that the caller requested.
        asked: &'static str,
    },
    /// The registry did not answer, for example because it has stopped.
    NoRegistry(NoReply),
}

impl Registry {
    /// Creates a registry on the system `on`.
    ///
    /// # Errors
    /// Fails if the system is shutting down.
    pub fn spawn(on: &Handle) -> Result<Self, SpawnError<()>> {
        match on.spawn_task(Steady(RegistryActor(Names::default()))) {
            Ok(address) => Ok(Self { address }),
            Err(_) => Err(SpawnError(())),
        }
    }

    /// Registers `address` under a name. Has no effect if `address` is already registered under
    /// this name.
    ///
    /// # Errors
    /// Returns a [`RegisterError`] if the name is taken or the registry did not answer.
    pub fn register<M: Send + 'static>(
        &self,
        name: impl Into<String>,
        address: &Address<M>,
    ) -> Request<(), RegisterError> {
        let (name, address) = (name.into(), address.clone());
        Request::new(self.address.ask(|reply| register(name, address, reply)))
    }

    /// Registers `address` under a name, like [`Registry::register`]. The actor that `cx` belongs
    /// to receives the answer as a message, which `convert` creates.
    pub fn register_from<M, N, F>(
        &self,
        cx: &Context<'_, N>,
        name: impl Into<String>,
        address: &Address<M>,
        convert: F,
    ) where
        M: Send + 'static,
        N: Send + 'static,
        F: FnOnce(Result<(), RegisterError>) -> N + Copy + Send + 'static,
    {
        let (name, address) = (name.into(), address.clone());
        cx.ask(
            &self.address,
            |reply| register(name, address, reply),
            move |answer| convert(flatten(answer)),
        );
    }

    /// Looks up an actor by its name. The actor must have the message type `M`.
    ///
    /// # Errors
    /// Returns a [`LookupError`] if there is no such actor or the registry did not answer.
    pub fn lookup<M: Send + 'static>(
        &self,
        name: impl Into<String>,
    ) -> Request<Address<M>, LookupError> {
        let name = name.into();
        Request::new(self.address.ask(|reply| lookup(name, reply)))
    }

    /// Looks up an actor by its name, like [`Registry::lookup`]. The actor that `cx` belongs to
    /// receives the answer as a message, which `convert` creates.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::naming::{LookupError, Registry};
    /// use garrick_actor::{Actor, Address, Context, Local};
    ///
    /// struct Clerk(Registry);
    ///
    /// enum Msg {
    ///     Begin,
    ///     Found(Result<Address<String>, LookupError>),
    /// }
    ///
    /// impl Actor for Clerk {
    ///     type Msg = Msg;
    ///     type Outcome = ();
    ///
    ///     fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) {
    ///         match msg {
    ///             Msg::Begin => self.0.lookup_from(cx, "printer", Msg::Found),
    ///             Msg::Found(printer) => assert!(printer.is_err()),
    ///         }
    ///     }
    /// }
    ///
    /// let local = Local::new()?;
    /// let registry = Registry::spawn(&local.handle())?;
    /// local.spawn(Clerk(registry)).send(Msg::Begin).unwrap();
    /// local.run();
    /// assert_eq!(local.handle().failures(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn lookup_from<M, N, F>(&self, cx: &Context<'_, N>, name: impl Into<String>, convert: F)
    where
        M: Send + 'static,
        N: Send + 'static,
        F: FnOnce(Result<Address<M>, LookupError>) -> N + Copy + Send + 'static,
    {
        let name = name.into();
        cx.ask(
            &self.address,
            |reply| lookup(name, reply),
            move |answer| convert(flatten(answer)),
        );
    }

    /// Removes a name from the registry, no matter which actor has the name.
    ///
    /// # Errors
    /// Fails if the registry is known to have stopped.
    pub fn unregister(&self, name: impl Into<String>) -> Result<(), SendError<()>> {
        let name = name.into();
        let order: Order = Box::new(move |names| {
            names.by_name.remove(&name);
        });
        self.address.send(order).map_err(|_| SendError(()))
    }

    /// Asks for a sorted list of the names of all registered actors.
    pub fn names(&self) -> Ask<Vec<String>> {
        self.address
            .ask(|reply| -> Order { Box::new(move |names| reply.send(names.all())) })
    }
}

fn register<M: Send + 'static>(
    name: String,
    address: Address<M>,
    reply: Reply<Result<(), RegisterError>>,
) -> Order {
    Box::new(move |names| reply.send(names.register(name, address)))
}

fn lookup<M: Send + 'static>(name: String, reply: Reply<Result<Address<M>, LookupError>>) -> Order {
    Box::new(move |names| reply.send(names.lookup(name)))
}

/// An address with any message type.
trait Entry: Any + Send {
    fn has_stopped(&self) -> bool;
    fn message(&self) -> &'static str;
}

impl<M: Send + 'static> Entry for Address<M> {
    fn has_stopped(&self) -> bool {
        self.is_stopped()
    }

    fn message(&self) -> &'static str {
        type_name::<M>()
    }
}

#[derive(Default)]
struct Names {
    by_name: BTreeMap<String, Box<dyn Entry>>,
    sweep: Sweep,
}

impl Names {
    fn register<M: Send + 'static>(
        &mut self,
        name: String,
        address: Address<M>,
    ) -> Result<(), RegisterError> {
        if let Some(entry) = self.present(&name)
            && typed::<M>(entry) != Some(&address)
        {
            let message = entry.message();
            return Err(RegisterError::Taken { name, message });
        }
        if self.sweep.is_due(self.by_name.len()) {
            self.sweep();
        }
        self.by_name.insert(name, Box::new(address));
        Ok(())
    }

    fn lookup<M: Send + 'static>(&mut self, name: String) -> Result<Address<M>, LookupError> {
        let Some(entry) = self.present(&name) else {
            return Err(LookupError::Unknown { name });
        };
        typed(entry).cloned().ok_or(LookupError::Mismatch {
            name,
            registered: entry.message(),
            asked: type_name::<M>(),
        })
    }

    /// Returns the actor that has this name. If the actor has stopped, removes the name and returns
    /// `None`.
    fn present(&mut self, name: &str) -> Option<&dyn Entry> {
        if self.by_name.get(name)?.has_stopped() {
            self.by_name.remove(name);
        }
        self.by_name.get(name).map(|entry| &**entry)
    }

    fn sweep(&mut self) {
        self.by_name.retain(|_, entry| !entry.has_stopped());
        self.sweep.done(self.by_name.len());
    }

    fn all(&mut self) -> Vec<String> {
        self.sweep();
        self.by_name.keys().cloned().collect()
    }
}

fn typed<M: 'static>(entry: &dyn Entry) -> Option<&Address<M>> {
    (entry as &dyn Any).downcast_ref()
}

struct RegistryActor(Names);

impl Actor for RegistryActor {
    type Msg = Order;
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, order: Order, _: &mut Context<'_, Order>) {
        order(&mut self.0);
    }
}

impl From<NoReply> for RegisterError {
    fn from(none: NoReply) -> Self {
        Self::NoRegistry(none)
    }
}

impl From<NoReply> for LookupError {
    fn from(none: NoReply) -> Self {
        Self::NoRegistry(none)
    }
}

impl fmt::Display for RegisterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taken { name, message } => write!(
                f,
                "the name `{name}` is already taken by an actor with messages of type {message}"
            ),
            Self::NoRegistry(none) => write!(f, "the registry did not answer: {none}"),
        }
    }
}

impl fmt::Display for LookupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name } => write!(f, "no actor has the name `{name}`"),
            Self::Mismatch {
                name,
                registered,
                asked,
            } => write!(
                f,
                "the actor `{name}` has messages of type {registered}, not {asked}"
            ),
            Self::NoRegistry(none) => write!(f, "the registry did not answer: {none}"),
        }
    }
}

impl std::error::Error for RegisterError {}
impl std::error::Error for LookupError {}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").finish_non_exhaustive()
    }
}
