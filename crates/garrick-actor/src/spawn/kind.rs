//! The kinds of values that can be spawned as actors.

use std::future::Future;
use std::marker::PhantomData;

use garrick_sched::{Address, SpawnError};

use super::options::{Own, Settle, Wrap};
use super::place::{At, Place, Takes};
use crate::future::{self, AsyncActor, Body, Incoming, NameOfFuture};
use crate::mailbox::{self, Mailbox};
use crate::model::actor::{Actor, Cell};

/// The kind of a [`Spawnable`] value that is an [`Actor`].
#[derive(Debug)]
pub struct OfActor;

/// The kind of a [`Spawnable`] value that is an [`AsyncActor`].
#[derive(Debug)]
pub struct OfAsync;

/// The kind of a [`Spawnable`] value that is a function. The function takes an [`Incoming`] and
/// returns a future.
#[derive(Debug)]
pub struct OfFunction<M, Fut>(PhantomData<fn(M, Fut)>);

/// The kind of a [`Spawnable`] value that is a closure. The closure creates an `A`, and `K` is the
/// kind of `A`.
#[derive(Debug)]
pub struct OfFactory<A, K>(PhantomData<fn(A, K)>);

/// A kind of actor that handles its messages in [`Actor::receive`]. Only actors of this kind
/// support all options: a mailbox, a stash, a receive timeout and a limit for their futures.
#[diagnostic::on_unimplemented(
    message = "this option is only supported for an `Actor`",
    note = "an async actor or async function supports only the options `named`, `on` and `supervised_by`"
)]
pub trait Handles {}

impl Handles for OfActor {}
impl<A, K: Handles> Handles for OfFactory<A, K> {}

/// A value that can be spawned as an actor. `K` is the kind of the value, which the compiler
/// infers.
///
/// | value | actor |
/// | --- | --- |
/// | an [`Actor`], for example a [`behavior`](crate::behavior()) | the value |
/// | an [`AsyncActor`] | the value |
/// | a function that takes an [`Incoming`] and returns a future | the future |
/// | a closure without parameters that returns one of these | the result of the closure; a supervisor calls the closure at each restart |
///
/// # Examples
/// ```
/// use garrick_actor::{Incoming, System, behavior};
///
/// async fn print(mut mailbox: Incoming<u32>) {
///     while let Some(n) = mailbox.recv().await {
///         println!("{n}");
///     }
/// }
///
/// let system = System::new()?;
/// let twice = system.spawn(print)?;
/// let once = system.spawn(behavior(move |n: u32, cx| {
///     let _ = cx.send(&twice, 2 * n);
/// }))?;
/// once.send(21)?;
/// system.shutdown();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be spawned as an actor",
    label = "not an `Actor`, an `AsyncActor`, an async function that takes an `Incoming`, or a closure that creates one",
    note = "wrap a closure that handles messages in `behavior(..)`"
)]
pub trait Spawnable<K>: Sized + 'static {
    /// The type of the actor's messages.
    type Msg: 'static;
}

impl<A: Actor> Spawnable<OfActor> for A {
    type Msg = A::Msg;
}

impl<A: AsyncActor> Spawnable<OfAsync> for A {
    type Msg = A::Msg;
}

impl<M, F, Fut> Spawnable<OfFunction<M, Fut>> for F
where
    M: Send + 'static,
    F: FnOnce(Incoming<M>) -> Fut + 'static,
    Fut: Future<Output = ()> + 'static,
{
    type Msg = M;
}

impl<F, A, K> Spawnable<OfFactory<A, K>> for F
where
    F: Fn() -> A + 'static,
    A: Spawnable<K>,
    K: 'static,
{
    type Msg = A::Msg;
}

/// A value that can be spawned as an actor. `K` is the kind of the value. `X` is the type of the
/// options, `B` is the type of the mailbox, and `P` is the type of the place that runs the actor,
/// such as a system.
#[doc(hidden)]
pub trait SpawnAt<K, X, B, P>: Spawnable<K> {
    /// Spawns the actor.
    ///
    /// # Errors
    /// Returns the value if the system is shutting down.
    fn spawn_at(self, options: X, mailbox: B, place: P) -> Result<Address<Self::Msg>, Self>;
}

impl<A, X, P> SpawnAt<OfActor, X, Own, P> for A
where
    A: Actor,
    X: Wrap<A>,
    P: Takes<Cell<X::Wrapped>>,
{
    #[inline]
    fn spawn_at(self, options: X, Own: Own, place: P) -> Result<Address<A::Msg>, A> {
        let spawned = place.take_any(Cell(options.wrap(self)));
        spawned.map_err(|SpawnError(Cell(actor))| X::unwrap(actor))
    }
}

impl<A, X, P> SpawnAt<OfActor, X, Mailbox<A::Msg>, P> for A
where
    A: Actor<Msg: Send>,
    X: Wrap<A, Wrapped: Send>,
    P: Place,
{
    fn spawn_at(
        self,
        options: X,
        mailbox: Mailbox<A::Msg>,
        place: P,
    ) -> Result<Address<A::Msg>, A> {
        let spawned = mailbox::spawn_at(&At(place), mailbox, options.wrap(self));
        spawned.map_err(|SpawnError(actor)| X::unwrap(actor))
    }
}

impl<A, X, P> SpawnAt<OfAsync, X, Own, P> for A
where
    A: AsyncActor,
    X: Settle,
    P: Place,
{
    #[expect(
        clippy::result_large_err,
        reason = "a rejected task is returned by value"
    )]
    fn spawn_at(
        self,
        options: X,
        Own: Own,
        place: P,
    ) -> Result<Address<<A as AsyncActor>::Msg>, A> {
        let plan = future::of_actor(self, options.into_path());
        plan.spawn(
            |body| place.take(body),
            |body, start| place.send_in_turn(body, start),
        )
    }
}

impl<M, F, Fut, X, P> SpawnAt<OfFunction<M, Fut>, X, Own, P> for F
where
    M: Send + 'static,
    F: FnOnce(Incoming<M>) -> Fut + 'static,
    Fut: Future<Output = ()> + 'static,
    X: Settle,
    P: Takes<Body<M, F, Fut, NameOfFuture<Fut>>>,
{
    #[expect(
        clippy::result_large_err,
        reason = "a rejected task is returned by value"
    )]
    fn spawn_at(self, options: X, Own: Own, place: P) -> Result<Address<M>, F> {
        let plan = future::of_function(self, options.into_path());
        plan.spawn(
            |body| place.take_any(body),
            |body, start| place.send_in_turn(body, start),
        )
    }
}

impl<F, A, K, X, B, P> SpawnAt<OfFactory<A, K>, X, B, P> for F
where
    F: Fn() -> A + 'static,
    A: SpawnAt<K, X, B, P>,
    K: 'static,
{
    fn spawn_at(self, options: X, mailbox: B, place: P) -> Result<Address<A::Msg>, F> {
        let spawned = self().spawn_at(options, mailbox, place);
        spawned.map_err(|_| self)
    }
}
