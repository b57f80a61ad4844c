//! Places where actors can be spawned.

use garrick_sched::{Address, SpawnError, Spawns, Task};

use crate::failure::path::ActorPath;
use crate::mailbox::Ground;
use crate::model::context::Context;
use crate::system::handle::Handle;
use crate::system::local::Local;

/// A place where actors can be spawned.
///
/// | place | where the actor runs | [`Spawn::spawn`](crate::spawn::Spawn::spawn) returns |
/// | --- | --- | --- |
/// | a [`System`](crate::System) or [`Handle`] | on a worker of the system | `Result<Address<M>, SpawnError<A>>` |
/// | a [`Local`] | on the thread of the `Local`; the actor need not be `Send` | `Address<M>` |
/// | the [`Context`] of a turn | on the worker that runs the turn, if the turn commits | `Address<M>` |
pub trait Place: Copy {
    /// The result of spawning an actor `A` with messages of type `M` here. This is the actor's
    /// address, or a `Result` if spawning can fail.
    type Spawned<M, A>;

    /// The type of the place after [`Spawn::on`](crate::spawn::Spawn::on) has selected a different
    /// system.
    type On<'h>: Place;

    /// Returns a different place, which spawns actors on the system of `handle`.
    #[doc(hidden)]
    fn on(self, handle: &Handle) -> Self::On<'_>;

    /// Spawns a task that is `Send`.
    ///
    /// # Errors
    /// Returns the task if the system is shutting down.
    #[doc(hidden)]
    fn take<T>(self, task: T) -> Result<Address<T::Message>, SpawnError<T>>
    where
        T: Task + Send,
        T::Message: Send;

    /// Returns the scheduler's handle to the threads of this place, which run the actors that are
    /// spawned here.
    #[doc(hidden)]
    fn sponsor(self) -> garrick_sched::Handle;

    /// Returns the path of the spawner, if the spawner is an actor with a name.
    #[doc(hidden)]
    fn path(&self) -> Option<&ActorPath>;

    /// If this place is the context of a turn, sends the message as an effect of the turn.
    /// Otherwise, returns the message as an error.
    #[doc(hidden)]
    fn send_in_turn<N: 'static>(self, to: &Address<N>, msg: N) -> Result<(), N>;

    /// Converts the result of spawning an actor into a [`Place::Spawned`], which depends on where
    /// the actor was spawned.
    #[doc(hidden)]
    fn spawned<M, A>(result: Result<Address<M>, A>) -> Self::Spawned<M, A>;
}

/// A place that can spawn tasks of type `T`. The task contains the actor.
#[doc(hidden)]
pub trait Takes<T: Task>: Place {
    /// Spawns a task.
    ///
    /// # Errors
    /// Returns the task if the system is shutting down.
    fn take_any(self, task: T) -> Result<Address<T::Message>, SpawnError<T>>;
}

impl Place for &Handle {
    type Spawned<M, A> = Result<Address<M>, SpawnError<A>>;
    type On<'h> = &'h Handle;

    fn on(self, handle: &Handle) -> &Handle {
        handle
    }

    fn take<T>(self, task: T) -> Result<Address<T::Message>, SpawnError<T>>
    where
        T: Task + Send,
        T::Message: Send,
    {
        self.spawn_task(task)
    }

    fn sponsor(self) -> garrick_sched::Handle {
        Handle::sponsor(self)
    }

    fn path(&self) -> Option<&ActorPath> {
        None
    }

    fn send_in_turn<N: 'static>(self, _: &Address<N>, msg: N) -> Result<(), N> {
        Err(msg)
    }

    fn spawned<M, A>(result: Result<Address<M>, A>) -> Self::Spawned<M, A> {
        result.map_err(SpawnError)
    }
}

impl Place for &Local {
    type Spawned<M, A> = Address<M>;
    type On<'h> = &'h Handle;

    fn on(self, handle: &Handle) -> &Handle {
        handle
    }

    fn take<T>(self, task: T) -> Result<Address<T::Message>, SpawnError<T>>
    where
        T: Task + Send,
        T::Message: Send,
    {
        Ok(self.spawn_task(task))
    }

    fn sponsor(self) -> garrick_sched::Handle {
        self.handle().sponsor()
    }

    fn path(&self) -> Option<&ActorPath> {
        None
    }

    fn send_in_turn<N: 'static>(self, _: &Address<N>, msg: N) -> Result<(), N> {
        Err(msg)
    }

    fn spawned<M, A>(result: Result<Address<M>, A>) -> Address<M> {
        result.unwrap_or_else(|_| unreachable!("a `Local` accepts actors until it is dropped"))
    }
}

/// A place for actors that are spawned during a turn. `N` is the message type of the spawning
/// actor.
#[derive(Debug)]
pub struct InTurn<'c, N>(pub(crate) &'c Context<'c, N>);

/// A place for actors that are spawned during a turn but run on a different system. `N` is the
/// message type of the spawning actor.
#[derive(Debug)]
pub struct InTurnOn<'c, 'h, N> {
    cx: &'c Context<'c, N>,
    handle: &'h Handle,
}

impl<N> Clone for InTurn<'_, N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<N> Copy for InTurn<'_, N> {}

impl<N> Clone for InTurnOn<'_, '_, N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<N> Copy for InTurnOn<'_, '_, N> {}

impl<'c, N: 'static> Place for InTurn<'c, N> {
    type Spawned<M, A> = Address<M>;
    type On<'h> = InTurnOn<'c, 'h, N>;

    fn on(self, handle: &Handle) -> InTurnOn<'c, '_, N> {
        InTurnOn { cx: self.0, handle }
    }

    #[inline]
    fn take<T>(self, task: T) -> Result<Address<T::Message>, SpawnError<T>>
    where
        T: Task + Send,
        T::Message: Send,
    {
        Ok(self.0.turn().spawn(task))
    }

    fn sponsor(self) -> garrick_sched::Handle {
        self.0.turn().sponsor()
    }

    fn path(&self) -> Option<&ActorPath> {
        self.0.given_path()
    }

    fn send_in_turn<M: 'static>(self, to: &Address<M>, msg: M) -> Result<(), M> {
        // A task that has just been spawned accepts the message.
        let _ = self.0.turn().send(to, msg);
        Ok(())
    }

    #[inline]
    fn spawned<M, A>(result: Result<Address<M>, A>) -> Address<M> {
        result.unwrap_or_else(|_| unreachable!("a turn can always spawn an actor"))
    }
}

impl<'c, N: 'static> Place for InTurnOn<'c, '_, N> {
    type Spawned<M, A> = Address<M>;
    type On<'o> = InTurnOn<'c, 'o, N>;

    fn on(self, handle: &Handle) -> InTurnOn<'c, '_, N> {
        InTurnOn {
            cx: self.cx,
            handle,
        }
    }

    fn take<T>(self, task: T) -> Result<Address<T::Message>, SpawnError<T>>
    where
        T: Task + Send,
        T::Message: Send,
    {
        Ok(self.cx.turn().spawn_on(&self.handle.sponsor(), task))
    }

    fn sponsor(self) -> garrick_sched::Handle {
        self.handle.sponsor()
    }

    fn path(&self) -> Option<&ActorPath> {
        self.cx.given_path()
    }

    fn send_in_turn<M: 'static>(self, to: &Address<M>, msg: M) -> Result<(), M> {
        InTurn(self.cx).send_in_turn(to, msg)
    }

    fn spawned<M, A>(result: Result<Address<M>, A>) -> Address<M> {
        InTurn::<N>::spawned(result)
    }
}

impl<T> Takes<T> for &Handle
where
    T: Task + Send,
    T::Message: Send,
{
    fn take_any(self, task: T) -> Result<Address<T::Message>, SpawnError<T>> {
        self.take(task)
    }
}

impl<T: Task> Takes<T> for &Local {
    fn take_any(self, task: T) -> Result<Address<T::Message>, SpawnError<T>> {
        Ok(self.spawn_task(task))
    }
}

impl<N, T> Takes<T> for InTurn<'_, N>
where
    N: 'static,
    T: Task + Send,
    T::Message: Send,
{
    #[inline]
    fn take_any(self, task: T) -> Result<Address<T::Message>, SpawnError<T>> {
        self.take(task)
    }
}

impl<N, T> Takes<T> for InTurnOn<'_, '_, N>
where
    N: 'static,
    T: Task + Send,
    T::Message: Send,
{
    fn take_any(self, task: T) -> Result<Address<T::Message>, SpawnError<T>> {
        self.take(task)
    }
}

/// An adapter that lets the code of mailboxes spawn tasks at a [`Place`].
pub(super) struct At<P>(pub(super) P);

impl<P: Place> Ground for At<P> {
    fn sponsor(&self) -> garrick_sched::Handle {
        self.0.sponsor()
    }
}

impl<P: Place> Spawns for At<P> {
    fn spawn_task<T>(&self, task: T) -> Result<Address<T::Message>, SpawnError<T>>
    where
        T: Task + Send,
        T::Message: Send,
    {
        self.0.take(task)
    }
}
