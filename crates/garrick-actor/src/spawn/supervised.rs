//! Spawning of children of supervisors.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use garrick_sched::Address;

use super::builder::Spawn;
use super::kind::{OfActor, OfAsync, OfFactory, OfFunction, Spawnable};
use super::options::{Own, Settle, Wrap};
use super::place::Place;
use crate::failure::fault::Fault;
use crate::failure::short::bare_type_name;
use crate::future::{
    AnyFuture, AsyncActor, House, Incoming, NameOf, NameOfFuture, Receives, Resident,
    address_of_kept, make_of_actor,
};
use crate::mailbox::{Bound, Mailbox};
use crate::model::actor::Actor;
use crate::supervise::{
    About, Backoff, Decision, Policy, Restart, Shutdown, SuperviseError, Tree, policy_setters,
};

/// A builder that spawns an actor as a child of a supervisor. Call [`Spawn::supervised_by`] to
/// create it.
///
/// When a child is restarted, a new actor replaces the old one. The address and the mailbox of the
/// child stay the same.
///
/// If the future of an async actor completes, the child counts as stopped by itself. A future
/// cannot continue after a panic or a failed handler. So for an async actor, the decision
/// [`Resume`](Decision::Resume) has the same effect as [`Restart`](Decision::Restart). The mailbox
/// of a supervised async actor never closes.
///
/// # Examples
/// ```
/// use garrick_actor::supervise::{Strategy, Supervisor};
/// use garrick_actor::{Incoming, Reply, System};
///
/// enum Msg {
///     Add(u64),
///     Get(Reply<u64>),
/// }
///
/// /// Adds up numbers, and panics at 13.
/// async fn count(mut mailbox: Incoming<Msg>) {
///     let mut sum = 0;
///     while let Some(msg) = mailbox.recv().await {
///         match msg {
///             Msg::Add(13) => panic!("13 is not counted"),
///             Msg::Add(n) => sum += n,
///             Msg::Get(reply) => reply.send(sum),
///         }
///     }
/// }
///
/// let system = System::builder().on_failure(|_| ()).start()?;
/// # std::panic::set_hook(Box::new(|_| ()));
/// let tree = Supervisor::new("app", Strategy::OneForOne).spawn(&system.handle())?;
/// let counter = system.actor(count).supervised_by(&tree).spawn()?;
/// counter.send(Msg::Add(5))?;
/// assert_eq!(counter.ask(Msg::Get).wait(), Ok(5));
/// counter.send(Msg::Add(13))?;
/// counter.send(Msg::Add(2))?;
/// assert_eq!(
///     counter.ask(Msg::Get).wait(),
///     Ok(2),
///     "a new actor at the same address"
/// );
/// tree.stop().wait()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "call `spawn` to spawn the child"]
pub struct Supervised<'t, P, A, K, X, B> {
    spawn: Spawn<P, A, K, X, B>,
    tree: &'t Tree,
    policy: Policy,
}

impl<P, A, K, X, B> Spawn<P, A, K, X, B> {
    /// Makes the actor a child of the supervisor `tree`. The actor must be given as a closure that
    /// creates it, or as an async function.
    ///
    /// The closure or function is called at the start of the child and at each restart, in a
    /// separate turn. If it panics, the child has failed.
    ///
    /// # Examples
    /// [`Supervisor`](crate::supervise::Supervisor) has an example.
    pub fn supervised_by(self, tree: &Tree) -> Supervised<'_, P, A, K, X, B> {
        Supervised {
            spawn: self,
            tree,
            policy: Policy::new(Arc::default(), Shutdown::default()),
        }
    }
}

impl<P, A, K, X, B> Supervised<'_, P, A, K, X, B> {
    policy_setters!();
}

impl<P: Place, A, K, X, B> Supervised<'_, P, A, K, X, B> {
    /// Spawns the child and adds it after the other children of its supervisor. The returned
    /// address can be used immediately. It stays valid across restarts, until the child stops
    /// permanently.
    ///
    /// While the child is being restarted, its messages wait in its mailbox. If this method is
    /// called during a turn, the child is started after the turn has committed. If the turn is
    /// undone, the child is never started.
    ///
    /// If the child and the supervisor are on different systems, the child cannot delay the
    /// supervisor, even if the child's handlers block. If the child fails while its system is
    /// shutting down, the child is not restarted.
    ///
    /// # Errors
    /// Returns a [`SuperviseError`] if the child cannot be spawned.
    pub fn spawn(self) -> Result<Address<A::Msg>, SuperviseError>
    where
        A: Restartable<K, X>,
        X: Settle,
        B: SeatMailbox,
    {
        let Self {
            spawn,
            tree,
            mut policy,
        } = self;
        let mut options = spawn.options;
        let name = options.settle(Some(tree.path()));
        let task = <A::Seat as Actor>::name();
        policy.name = name.map_or_else(|| bare_type_name(task).into(), Into::into);
        if !A::RESUMES {
            policy.restart_instead_of_resuming();
        }
        let sponsor = spawn.place.sponsor();
        let bound = spawn.mailbox.bound(&sponsor)?;
        let about = About {
            path: options.path().cloned(),
            task,
        };
        let seat = tree.seat(spawn.actor.factory(options), policy, &sponsor, bound, about)?;
        Ok(A::address(seat))
    }
}

impl<P, A, K, X, B> fmt::Debug for Supervised<'_, P, A, K, X, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Supervised")
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

/// A value from which a supervisor can create actors with options `X`. The value is an async
/// function, or a closure without parameters that returns an [`Actor`] or an [`AsyncActor`].
#[diagnostic::on_unimplemented(
    message = "a supervisor cannot create `{Self}` again",
    label = "can be spawned only once",
    note = "pass a closure that creates the actor, as in `|| Counter(0)`"
)]
pub trait Restartable<K, X>: Spawnable<K> {
    /// The type of the actor that the supervisor creates at each start. This is the spawned actor
    /// or a wrapper around it.
    #[doc(hidden)]
    type Seat: Actor<Msg: Send> + Send;

    /// Converts the value into a function that creates a new actor with these `options` at each
    /// call.
    #[doc(hidden)]
    fn factory(self, options: X) -> Box<dyn Fn() -> Self::Seat + Send>;

    /// Converts the address of the actor that the supervisor creates (a [`Restartable::Seat`]) into
    /// an address that accepts the messages of the spawned actor.
    #[doc(hidden)]
    fn address(seat: Address<<Self::Seat as Actor>::Msg>) -> Address<Self::Msg>;

    /// True if an actor can continue after a failure, as [`Decision::Resume`] requires.
    #[doc(hidden)]
    const RESUMES: bool;
}

impl<F, A, X> Restartable<OfFactory<A, OfActor>, X> for F
where
    F: Fn() -> A + Send + 'static,
    A: Actor<Msg: Send> + Send,
    X: Wrap<A, Wrapped: Send> + Send + 'static,
{
    type Seat = X::Wrapped;

    fn factory(self, options: X) -> Box<dyn Fn() -> X::Wrapped + Send> {
        Box::new(move || options.wrap(self()))
    }

    fn address(seat: Address<A::Msg>) -> Address<A::Msg> {
        seat
    }

    const RESUMES: bool = true;
}

impl<F, A, X> Restartable<OfFactory<A, OfAsync>, X> for F
where
    F: Fn() -> A + Send + Sync + 'static,
    A: AsyncActor,
    X: Settle,
{
    type Seat = Resident<<A as AsyncActor>::Msg, NameOf<A>>;

    fn factory(self, options: X) -> Box<dyn Fn() -> Self::Seat + Send> {
        let make = make_of_actor(self);
        let house = House::new(Receives::ByHand, make, options.into_path());
        Box::new(move || house.resident())
    }

    fn address(seat: Address<<Self::Seat as Actor>::Msg>) -> Address<<A as AsyncActor>::Msg> {
        address_of_kept(seat)
    }

    const RESUMES: bool = false;
}

impl<M, F, Fut, X> Restartable<OfFunction<M, Fut>, X> for F
where
    M: Send + 'static,
    F: Fn(Incoming<M>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
    X: Settle,
{
    type Seat = Resident<M, NameOfFuture<Fut>>;

    fn factory(self, options: X) -> Box<dyn Fn() -> Self::Seat + Send> {
        let make = Arc::new(move |mailbox| -> AnyFuture { Box::pin(self(mailbox)) });
        let house = House::new(Receives::AsItLikes, make, options.into_path());
        Box::new(move || house.resident())
    }

    fn address(seat: Address<<Self::Seat as Actor>::Msg>) -> Address<M> {
        address_of_kept(seat)
    }

    const RESUMES: bool = false;
}

/// The mailbox setting of an actor that is about to be supervised. Not every mailbox is allowed for
/// a supervised actor.
#[doc(hidden)]
pub trait SeatMailbox {
    /// Returns the capacity of the mailbox and its policy for messages that are sent while it is
    /// full. Returns `None` if the mailbox is unbounded.
    ///
    /// # Errors
    /// Returns [`SuperviseError::Mailbox`] if a supervised actor cannot have this mailbox.
    fn bound(self, sponsor: &garrick_sched::Handle) -> Result<Option<Bound>, SuperviseError>;
}

impl SeatMailbox for Own {
    fn bound(self, _: &garrick_sched::Handle) -> Result<Option<Bound>, SuperviseError> {
        Ok(None)
    }
}

impl<M> SeatMailbox for Mailbox<M> {
    fn bound(self, sponsor: &garrick_sched::Handle) -> Result<Option<Bound>, SuperviseError> {
        self.into_bound(sponsor)
            .map_err(|()| SuperviseError::Mailbox)
    }
}
