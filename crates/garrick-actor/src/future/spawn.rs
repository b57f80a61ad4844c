//! Spawning async actors, on a system, on a thread, and in a turn.

use std::any::type_name;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use garrick_sched::{Address, SpawnError};

use super::actor::{AsyncActor, NameOf, run};
use super::body::{Body, Named};
use super::gate::{self, Entry};
use super::incoming::Incoming;
use super::shared::{Receives, Shared, Word, tell_at};
use crate::model::context::Context;
use crate::system::handle::Handle;
use crate::system::local::Local;
use crate::system::pool::System;

/// The name of a function's future.
struct NameOfFuture<F>(PhantomData<fn(F)>);

impl<F: 'static> Named for NameOfFuture<F> {
    fn name() -> &'static str {
        type_name::<F>()
    }
}

/// An actor that is still to be spawned, made of `D`.
struct Plan<M: Send + 'static, D, Fut, N> {
    body: Body<M, D, Fut, N>,
    entry: Arc<Entry<M>>,
    shared: Arc<Shared<M>>,
}

impl<M, D, Fut, N> Plan<M, D, Fut, N>
where
    M: Send + 'static,
    D: 'static,
    Fut: Future<Output = ()> + 'static,
    N: Named,
{
    fn new(receives: Receives, data: D, make: fn(D, Incoming<M>) -> Fut) -> Self {
        let shared = Shared::new(receives);
        Self {
            body: Body::new(shared.clone(), data, make),
            entry: Entry::first(&shared),
            shared,
        }
    }

    /// Spawns the actor on a sponsor.
    fn spawn(self, sponsor: &Handle) -> Result<Address<M>, SpawnError<D>>
    where
        D: Send,
        Fut: Send,
    {
        match sponsor.spawn_task(self.body) {
            Ok(body) => Ok(begin(&self.shared, self.entry, body)),
            Err(SpawnError(mut body)) => {
                let data = body.take_data();
                Err(SpawnError(data.expect("it has not started")))
            }
        }
    }

    /// Spawns the actor in a turn, if the turn ends well.
    fn spawn_in<N2: 'static>(self, cx: &Context<'_, N2>) -> Address<M>
    where
        D: Send,
        Fut: Send,
    {
        let body = cx.turn().spawn(self.body);
        // A body that has not begun accepts the message.
        let _ = cx.turn().send(&body, Word::START);
        self.entry.set(body);
        gate::address(self.entry)
    }

    /// Spawns the actor on the caller's thread.
    fn spawn_here(self, local: &Local) -> Address<M> {
        let body = local.spawn_task(self.body);
        begin(&self.shared, self.entry, body)
    }
}

/// Starts an actor that was spawned outside a turn, or independently of the turn's end.
fn begin<M: Send + 'static>(
    shared: &Arc<Shared<M>>,
    entry: Arc<Entry<M>>,
    body: Address<Word<M>>,
) -> Address<M> {
    tell_at(&body, Word::ring(shared));
    entry.set(body);
    gate::address(entry)
}

/// Returns the plan of a function.
fn of_function<M, F, Fut>(function: F) -> Plan<M, F, Fut, NameOfFuture<Fut>>
where
    M: Send + 'static,
    F: FnOnce(Incoming<M>) -> Fut + 'static,
    Fut: Future<Output = ()> + 'static,
{
    Plan::new(Receives::AsItLikes, function, |function, mailbox| {
        function(mailbox)
    })
}

/// Returns the plan of an actor.
fn of_actor<A: AsyncActor>(
    actor: A,
) -> Plan<A::Msg, A, impl Future<Output = ()> + Send + 'static, NameOf<A>> {
    Plan::new(Receives::ByHand, actor, run::<A>)
}

impl Handle {
    /// Spawns a function as an actor. The function gets its mailbox and returns its future. The
    /// actor ends when the future does.
    ///
    /// # Errors
    /// Returns the function if the system is shutting down.
    ///
    /// # Examples
    /// See [`System::spawn_async`].
    pub fn spawn_async<M, F, Fut>(&self, actor: F) -> Result<Address<M>, SpawnError<F>>
    where
        M: Send + 'static,
        F: FnOnce(Incoming<M>) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        of_function(actor).spawn(self)
    }

    /// Spawns an actor whose handlers await.
    ///
    /// # Errors
    /// Returns the actor if the system is shutting down.
    ///
    /// # Examples
    /// See [`AsyncActor`].
    pub fn spawn_async_actor<A: AsyncActor>(
        &self,
        actor: A,
    ) -> Result<Address<A::Msg>, SpawnError<A>> {
        of_actor(actor).spawn(self)
    }
}

impl System {
    /// Spawns a function as an actor. The function gets its mailbox and returns its future, which
    /// is the whole actor. The actor ends when the future does, when it is asked to stop, and with
    /// its system. The future is then dropped in its current state, on its worker. When the last
    /// address is gone the actor does not end by itself: [`Incoming::recv`] returns `None`.
    ///
    /// Each poll of the future is a [turn](crate::Context). Messages sent between two awaits that
    /// have to wait are delivered when the poll returns. A panic undoes the effects that its poll
    /// has staged, and ends the actor.
    ///
    /// # Errors
    /// Returns the function if the system is shutting down. Only an actor of the system can see
    /// this.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::{Incoming, Reply, System};
    ///
    /// let system = System::new()?;
    /// let sum = system.spawn_async(|mut mailbox: Incoming<(u64, Reply<u64>)>| async move {
    ///     let mut sum = 0;
    ///     while let Some((n, reply)) = mailbox.recv().await {
    ///         sum += n;
    ///         reply.send(sum);
    ///     }
    /// })?;
    /// assert_eq!(sum.ask(|reply| (2, reply)).wait(), Ok(2));
    /// assert_eq!(sum.ask(|reply| (3, reply)).wait(), Ok(5));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn spawn_async<M, F, Fut>(&self, actor: F) -> Result<Address<M>, SpawnError<F>>
    where
        M: Send + 'static,
        F: FnOnce(Incoming<M>) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.handle().spawn_async(actor)
    }

    /// Spawns an actor whose handlers await.
    ///
    /// # Errors
    /// Returns the actor in the cases of [`System::spawn_async`].
    ///
    /// # Examples
    /// See [`AsyncActor`].
    pub fn spawn_async_actor<A: AsyncActor>(
        &self,
        actor: A,
    ) -> Result<Address<A::Msg>, SpawnError<A>> {
        self.handle().spawn_async_actor(actor)
    }
}

impl<N: 'static> Context<'_, N> {
    /// Spawns a function that returns a future as an actor, on this worker. See
    /// [`System::spawn_async`]. If the turn is undone, the function is not called.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::{Incoming, Local};
    ///
    /// let local = Local::new()?;
    /// let parent = local.spawn_behavior(|n: u32, cx| {
    ///     let child = cx.spawn_async(|mut mailbox: Incoming<u32>| async move {
    ///         assert_eq!(mailbox.recv().await, Some(2));
    ///         assert_eq!(mailbox.recv().await, None);
    ///     });
    ///     let _ = cx.send(&child, n + 1);
    /// });
    /// parent.send(1)?;
    /// local.run();
    /// assert_eq!(local.handle().failures(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn spawn_async<M, F, Fut>(&self, actor: F) -> Address<M>
    where
        M: Send + 'static,
        F: FnOnce(Incoming<M>) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        of_function(actor).spawn_in(self)
    }

    /// Spawns an actor whose handlers await, on this worker. If the turn is undone, the actor is
    /// dropped.
    ///
    /// # Examples
    /// See [`AsyncActor`].
    pub fn spawn_async_actor<A: AsyncActor>(&self, actor: A) -> Address<A::Msg> {
        of_actor(actor).spawn_in(self)
    }
}

impl Local {
    /// Spawns a function that returns a future as an actor, on this thread. Neither needs to be
    /// `Send`, but the messages do. See [`System::spawn_async`].
    ///
    /// # Examples
    /// ```
    /// use std::{cell::Cell, rc::Rc};
    /// use garrick_actor::{Incoming, Local};
    ///
    /// let local = Local::new()?;
    /// let sum = Rc::new(Cell::new(0));
    /// let seen = sum.clone();
    /// let add = local.spawn_async(|mut mailbox: Incoming<u32>| async move {
    ///     while let Some(n) = mailbox.recv().await {
    ///         sum.set(sum.get() + n);
    ///     }
    /// });
    /// add.send(2)?;
    /// add.send(3)?;
    /// local.run();
    /// assert_eq!(seen.get(), 5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn spawn_async<M, F, Fut>(&self, actor: F) -> Address<M>
    where
        M: Send + 'static,
        F: FnOnce(Incoming<M>) -> Fut + 'static,
        Fut: Future<Output = ()> + 'static,
    {
        of_function(actor).spawn_here(self)
    }

    /// Spawns an actor whose handlers await, on this thread. Write an actor that is not `Send` as a
    /// function for [`Local::spawn_async`].
    ///
    /// # Examples
    /// See [`AsyncActor`].
    pub fn spawn_async_actor<A: AsyncActor>(&self, actor: A) -> Address<A::Msg> {
        of_actor(actor).spawn_here(self)
    }
}
