//! The router: an actor that forwards messages to other actors.

use std::fmt;

use garrick_sched::{Address, Ask, Reply, SendError, SpawnError};

use super::load::{Load, Measured};
use super::policy::Policy;
use super::routees::Routees;
use crate::model::actor::{Actor, Steady};
use crate::model::context::Context;
use crate::naming::front::front;
use crate::naming::{DeadLetter, DeadLetters, Key, Listing, Receptionist};
use crate::system::handle::Handle;

/// A handle to a router. A router forwards messages of type `M` to other actors, its routees,
/// according to a [`Policy`].
///
/// The operations of one sender on a router take effect in order. For example, if a sender first
/// adds a routee and then sends a message, the message can be routed to this routee. Messages from
/// one sender to the same routee stay in order.
///
/// # Examples
/// ```
/// use garrick_actor::route::{RoundRobin, Router};
/// use garrick_actor::{Actor, Context, Reply, System};
///
/// struct Desk(&'static str);
///
/// impl Actor for Desk {
///     type Msg = Reply<&'static str>;
///     type Outcome = ();
///
///     fn receive(&mut self, reply: Self::Msg, _: &mut Context<'_, Self::Msg>) {
///         reply.send(self.0);
///     }
/// }
///
/// let system = System::new()?;
/// let router = Router::spawn(&system.handle(), RoundRobin::new())?;
/// router.add(&system.spawn(Desk("left"))?)?;
/// router.add(&system.spawn(Desk("right"))?)?;
/// for desk in ["left", "right", "left"] {
///     assert_eq!(router.ask(|reply| reply).wait(), Ok(desk));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Router<M: 'static> {
    address: Address<RouterMsg<M>>,
}

/// A message to a router.
pub enum RouterMsg<M: 'static> {
    /// Forwards this message to the routees that the router's policy chooses.
    Route(M),
    /// Adds a routee. Has no effect if the routee has been added already.
    Add(Address<M>),
    /// Adds a routee whose load is measured. Has no effect if the routee has been added already.
    AddMeasured(Address<M>, Load),
    /// Removes a routee. The routee still handles the messages that have already been sent to it.
    Remove(Address<M>),
    /// Updates the routees after a [`Receptionist`] has reported a change. Actors that have begun
    /// to serve the protocol are added, and actors that no longer serve it are removed.
    Follow(Listing<M>),
    /// Sets the topic that receives a [`DeadLetter`] for each message that the router drops.
    DeadLetters(DeadLetters),
    /// Sends the router's status to this reply.
    Status(Reply<Status<M>>),
}

/// The status of a router.
#[non_exhaustive]
pub struct Status<M> {
    /// Routees that have not stopped, in the order in which they were added.
    pub routees: Vec<Address<M>>,
    /// Number of messages that were dropped because no routee was left, or because all chosen
    /// routees have refused them.
    pub undelivered: u64,
}

impl<M: Send + 'static> Router<M> {
    /// Creates a router without routees.
    ///
    /// # Errors
    /// Returns an error if the system is shutting down.
    pub fn spawn(on: &Handle, policy: impl Policy<M>) -> Result<Self, SpawnError<()>> {
        let actor = RouterActor {
            policy,
            routees: Routees::new(),
            undelivered: 0,
            dead_letters: None,
        };
        match on.spawn_task(Steady(actor)) {
            Ok(address) => Ok(Self { address }),
            Err(_) => Err(SpawnError(())),
        }
    }

    /// Sends `msg` to the router, which forwards it according to its policy.
    ///
    /// # Errors
    /// Returns the message if the router is known to have stopped.
    pub fn send(&self, msg: M) -> Result<(), SendError<M>> {
        let sent = self.address.send(RouterMsg::Route(msg));
        sent.map_err(|SendError(back)| SendError(back.into_message()))
    }

    /// Asks a question through the router, like [`Address::ask`]. During a turn, use
    /// [`Context::ask`](crate::Context::ask) with [`Router::address`] instead.
    pub fn ask<R: Send + 'static>(&self, msg: impl FnOnce(Reply<R>) -> M) -> Ask<R> {
        self.address.ask(|reply| RouterMsg::Route(msg(reply)))
    }

    /// Adds a routee. Has no effect if the routee has been added already.
    ///
    /// # Errors
    /// Returns an error if the router is known to have stopped.
    pub fn add(&self, routee: &Address<M>) -> Result<(), SendError<()>> {
        self.order(RouterMsg::Add(routee.clone()))
    }

    /// Adds a routee whose load is measured. The policy [`LeastLoaded`](super::LeastLoaded)
    /// requires measured routees. `load` must be the value that [`Measured::new`] returned for this
    /// routee.
    ///
    /// # Errors
    /// Returns an error if the router is known to have stopped.
    pub fn add_measured(&self, routee: &Address<M>, load: Load) -> Result<(), SendError<()>> {
        self.order(RouterMsg::AddMeasured(routee.clone(), load))
    }

    /// Spawns `count` actors on the system `on`, and adds them as measured routees. `make` creates
    /// each actor.
    ///
    /// # Errors
    /// If the system is shutting down, returns the actor that could not be spawned.
    ///
    /// # Examples
    /// ```
    /// # use garrick_actor::{Actor, Context, Next, System};
    /// use garrick_actor::route::{LeastLoaded, Router};
    /// # struct Work;
    /// # impl Actor for Work {
    /// #     type Msg = u32;
    /// #     type Outcome = Next;
    /// #     fn receive(&mut self, _: u32, _: &mut Context<'_, u32>) -> Next { Next::Continue }
    /// # }
    ///
    /// let system = System::new()?;
    /// let router = Router::spawn(&system.handle(), LeastLoaded::new())?;
    /// router.fill(&system.handle(), 4, || Work)?;
    /// assert_eq!(router.status().wait()?.routees.len(), 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fill<A>(
        &self,
        on: &Handle,
        count: usize,
        mut make: impl FnMut() -> A,
    ) -> Result<(), SpawnError<A>>
    where
        A: Actor<Msg = M> + Send,
    {
        for _ in 0..count {
            let (actor, load) = Measured::new(make());
            let spawned = on.spawn(actor);
            let routee = spawned.map_err(|SpawnError(back)| SpawnError(back.into_inner()))?;
            // A router that has stopped needs no routees.
            let _ = self.add_measured(&routee, load);
        }
        Ok(())
    }

    /// Removes a routee. The routee still handles the messages that have already been sent to it.
    ///
    /// # Errors
    /// Returns an error if the router is known to have stopped.
    pub fn remove(&self, routee: &Address<M>) -> Result<(), SendError<()>> {
        self.order(RouterMsg::Remove(routee.clone()))
    }

    /// Keeps the routees up to date with the actors that serve the protocol `key`. The actors that
    /// currently serve the protocol are added as routees. From then on, the router adds and removes
    /// routees whenever the receptionist reports a change.
    ///
    /// Returns the address that is subscribed to the receptionist. The receptionist keeps the
    /// router alive until this address is [unsubscribed](Receptionist::unsubscribe).
    ///
    /// # Errors
    /// Returns an error if the receptionist is known to have stopped.
    ///
    /// # Examples
    /// ```
    /// # use garrick_actor::{Actor, Context, Next, System};
    /// use garrick_actor::naming::{Key, Receptionist};
    /// use garrick_actor::route::{RoundRobin, Router};
    /// # struct Print;
    /// # impl Actor for Print {
    /// #     type Msg = String;
    /// #     type Outcome = Next;
    /// #     fn receive(&mut self, _: String, _: &mut Context<'_, String>) -> Next { Next::Continue }
    /// # }
    ///
    /// const PRINTERS: Key<String> = Key::new("printers");
    ///
    /// let system = System::new()?;
    /// let receptionist = Receptionist::spawn(&system.handle())?;
    /// let router = Router::spawn(&system.handle(), RoundRobin::new())?;
    /// router.follow(&receptionist, &PRINTERS)?;
    /// receptionist.serve(&PRINTERS, &system.spawn(Print)?)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn follow(
        &self,
        receptionist: &Receptionist,
        key: &Key<M>,
    ) -> Result<Address<Listing<M>>, SendError<()>> {
        let follower = self.follower();
        receptionist.subscribe(key, &follower)?;
        Ok(follower)
    }

    /// Returns an address that keeps the routees up to date with the listings that are sent to it.
    /// [`Router::follow`] subscribes such an address to a receptionist. Use this method if the
    /// listings come from another source.
    #[must_use]
    pub fn follower(&self) -> Address<Listing<M>> {
        front(&self.address, RouterMsg::Follow, RouterMsg::into_listing)
    }

    /// Makes the router post a [`DeadLetter`] to `dead_letters` for each message that it drops
    /// because no routee has taken the message.
    ///
    /// # Errors
    /// Returns an error if the router is known to have stopped.
    pub fn post_dead_letters_to(&self, dead_letters: &DeadLetters) -> Result<(), SendError<()>> {
        self.order(RouterMsg::DeadLetters(dead_letters.clone()))
    }

    /// Asks for the router's status.
    pub fn status(&self) -> Ask<Status<M>> {
        self.address.ask(RouterMsg::Status)
    }

    /// Returns an address that routes each message sent to it. Use this address for senders that
    /// should not depend on the type [`Router`].
    ///
    /// A message that is sent to this address goes directly to the router, without passing through
    /// another actor. If one sender uses both this address and [`Router::send`], its messages stay
    /// in order.
    ///
    /// # Examples
    /// ```
    /// # use garrick_actor::{Actor, Context, Next, Reply, System};
    /// # struct Double;
    /// # impl Actor for Double {
    /// #     type Msg = (u32, Reply<u32>);
    /// #     type Outcome = Next;
    /// #     fn receive(&mut self, (n, reply): (u32, Reply<u32>), _: &mut Context<'_, Self::Msg>) -> Next {
    /// #         reply.send(2 * n);
    /// #         Next::Continue
    /// #     }
    /// # }
    /// use garrick_actor::Address;
    /// use garrick_actor::route::{RoundRobin, Router};
    ///
    /// let system = System::new()?;
    /// let router = Router::spawn(&system.handle(), RoundRobin::new())?;
    /// router.add(&system.spawn(Double)?)?;
    /// let double: Address<(u32, Reply<u32>)> = router.front();
    /// assert_eq!(double.ask(|reply| (21, reply)).wait(), Ok(42));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn front(&self) -> Address<M> {
        front(&self.address, RouterMsg::Route, RouterMsg::into_message)
    }

    /// Returns the address of the router's actor, which accepts every [`RouterMsg`].
    #[must_use]
    pub fn address(&self) -> &Address<RouterMsg<M>> {
        &self.address
    }

    fn order(&self, msg: RouterMsg<M>) -> Result<(), SendError<()>> {
        self.address.send(msg).map_err(|_| SendError(()))
    }
}

impl<M: 'static> RouterMsg<M> {
    /// Takes the message out of a [`RouterMsg::Route`] that could not be sent.
    fn into_message(self) -> M {
        match self {
            Self::Route(msg) => msg,
            _ => unreachable!("a failed send returns the message that was sent"),
        }
    }

    fn into_listing(self) -> Listing<M> {
        match self {
            Self::Follow(listing) => listing,
            _ => unreachable!("a failed send returns the message that was sent"),
        }
    }
}

struct RouterActor<M, P> {
    policy: P,
    routees: Routees<M>,
    /// Number of messages that were dropped because no routee has taken them.
    undelivered: u64,
    dead_letters: Option<DeadLetters>,
}

impl<M: 'static, P: Policy<M>> RouterActor<M, P> {
    fn route(&mut self, msg: M, cx: &Context<'_, RouterMsg<M>>) {
        if self.policy.route(msg, &mut self.routees, cx).is_ok() {
            return;
        }
        // The policy returned the message as an error, and it has been dropped. If the message
        // contained a reply, the asker has been notified.
        self.undelivered += 1;
        if let Some(dead_letters) = &self.dead_letters {
            let receiver = if self.routees.is_empty() {
                "a router without routees"
            } else {
                "a router whose routees did not take the message"
            };
            let _ = dead_letters.post(DeadLetter::of::<M>(receiver));
        }
    }

    fn follow(&mut self, listing: Listing<M>) {
        match listing {
            Listing::Present(all) => all
                .into_iter()
                .for_each(|routee| self.routees.add(routee, None)),
            Listing::Added(routee) => self.routees.add(routee, None),
            Listing::Removed(routee) => self.routees.remove(&routee),
        }
    }

    fn status(&mut self) -> Status<M> {
        self.routees.remove_stopped();
        Status {
            routees: self.routees.addresses(),
            undelivered: self.undelivered,
        }
    }
}

impl<M: 'static, P: Policy<M>> Actor for RouterActor<M, P> {
    type Msg = RouterMsg<M>;
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, msg: RouterMsg<M>, cx: &mut Context<'_, RouterMsg<M>>) {
        match msg {
            RouterMsg::Route(msg) => self.route(msg, cx),
            RouterMsg::Add(routee) => self.routees.add(routee, None),
            RouterMsg::AddMeasured(routee, load) => self.routees.add(routee, Some(load)),
            RouterMsg::Remove(routee) => self.routees.remove(&routee),
            RouterMsg::Follow(listing) => self.follow(listing),
            RouterMsg::DeadLetters(to) => self.dead_letters = Some(to),
            RouterMsg::Status(reply) => reply.send(self.status()),
        }
    }
}

impl<M: 'static> Clone for Router<M> {
    fn clone(&self) -> Self {
        let address = self.address.clone();
        Self { address }
    }
}

impl<M: 'static> fmt::Debug for Router<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Router").field(&self.address).finish()
    }
}

impl<M: 'static> fmt::Debug for RouterMsg<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Route(_) => "Route(..)",
            Self::Add(_) => "Add(..)",
            Self::AddMeasured(..) => "AddMeasured(..)",
            Self::Remove(_) => "Remove(..)",
            Self::Follow(_) => "Follow(..)",
            Self::DeadLetters(_) => "DeadLetters(..)",
            Self::Status(_) => "Status(..)",
        })
    }
}

impl<M> fmt::Debug for Status<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Status")
            .field("routees", &self.routees)
            .field("undelivered", &self.undelivered)
            .finish()
    }
}
