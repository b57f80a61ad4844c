//! Spawning of actors with options.

use std::fmt;
use std::marker::PhantomData;
use std::num::NonZero;
use std::time::Duration;

use garrick_sched::{Address, SpawnError};

use super::kind::{Handles, SpawnAt, Spawnable};
use super::options::{More, Own, Plain, Set, Settle};
use super::place::{InTurn, Place};
use crate::extras::receive_timeout::Timeout;
use crate::failure::path::ActorPath;
use crate::mailbox::Mailbox;
use crate::model::context::Context;
use crate::system::handle::Handle;
use crate::system::local::Local;
use crate::system::pool::System;

/// A builder that spawns an actor with options. Call [`System::actor`], [`Handle::actor`],
/// [`Local::actor`] or [`Context::actor`] to create it, and [`Spawn::spawn`] to spawn the actor.
///
/// The type parameters are the [place](Place), the actor, the [kind](Spawnable) of the actor, the
/// options and the mailbox. The compiler infers them. Setting an option that this kind of actor
/// does not support is a compile-time error.
///
/// # Examples
/// ```
/// use garrick_actor::mailbox::{Mailbox, OnFull};
/// use garrick_actor::{System, behavior};
///
/// let system = System::new()?;
/// let printer = system
///     .actor(behavior(|line: String, _| println!("{line}")))
///     .named("printer")
///     .mailbox(Mailbox::bounded(100, OnFull::Wait)?)
///     .spawn()?;
/// printer.send("hello".to_owned())?;
/// system.shutdown();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
/// An async actor does not support a stash:
/// ```compile_fail,E0277
/// use garrick_actor::{Incoming, System};
///
/// async fn ignore(mut mailbox: Incoming<u32>) {
///     while mailbox.recv().await.is_some() {}
/// }
///
/// System::new().unwrap().actor(ignore).stash(64);
/// ```
#[must_use = "call `spawn` to spawn the actor"]
pub struct Spawn<P, A, K, X = Plain, B = Own> {
    pub(super) place: P,
    pub(super) actor: A,
    pub(super) options: X,
    pub(super) mailbox: B,
    kind: PhantomData<fn(K)>,
}

impl<P, A, K> Spawn<P, A, K> {
    fn new(place: P, actor: A) -> Self {
        Self {
            place,
            actor,
            options: Plain,
            mailbox: Own,
            kind: PhantomData,
        }
    }
}

impl<P, A, K, X, B> Spawn<P, A, K, X, B> {
    fn with<X2>(self, with: impl FnOnce(X) -> X2) -> Spawn<P, A, K, X2, B> {
        Spawn {
            place: self.place,
            actor: self.actor,
            options: with(self.options),
            mailbox: self.mailbox,
            kind: PhantomData,
        }
    }
}

impl<P, A, K, X, B> Spawn<P, A, K, X, B>
where
    P: Place,
    A: Spawnable<K>,
    X: More<A::Msg>,
{
    /// Names the actor. The name is a part of the actor's [`ActorPath`], which appears in reports
    /// of the actor's failures.
    ///
    /// If the actor has a supervisor, its path begins with the path of the supervisor. Otherwise,
    /// if the actor is spawned by an actor that has a name, its path begins with the path of that
    /// actor.
    ///
    /// # Panics
    /// Panics if the name is empty, or contains `/`, `#` or a control character.
    ///
    /// # Examples
    /// [`ActorPath`] has an example.
    #[track_caller]
    pub fn named(self, name: impl Into<String>) -> Spawn<P, A, K, X::More, B> {
        let name = name.into();
        ActorPath::check(&name);
        self.with(|options| options.set(|options| options.name = Some(name)))
    }

    /// Sets the system that runs the actor. If the actor is spawned during a turn, and `system` has
    /// already begun to shut down, the actor runs on the system of the spawning actor instead.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::{System, behavior};
    ///
    /// let (near, far) = (
    ///     System::new()?,
    ///     System::builder().name("far").workers(1).start()?,
    /// );
    /// let far_handle = far.handle();
    /// let parent = near.spawn(behavior(move |(): (), cx| {
    ///     let child = cx
    ///         .actor(behavior(|(): (), cx| {
    ///             assert_eq!(cx.sponsor().name(), "far")
    ///         }))
    ///         .on(&far_handle)
    ///         .spawn();
    ///     let _ = cx.send(&child, ());
    /// }))?;
    /// parent.send(())?;
    /// near.shutdown();
    /// far.shutdown();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on(self, system: &Handle) -> Spawn<P::On<'_>, A, K, X, B> {
        Spawn {
            place: self.place.on(system),
            actor: self.actor,
            options: self.options,
            mailbox: self.mailbox,
            kind: PhantomData,
        }
    }

    /// Sets the mailbox of the actor. The default mailbox is unbounded and delivers messages in the
    /// order of arrival.
    ///
    /// # Examples
    /// [`Mailbox`] has an example.
    pub fn mailbox(self, mailbox: Mailbox<A::Msg>) -> Spawn<P, A, K, X, Mailbox<A::Msg>>
    where
        K: Handles,
    {
        Spawn {
            place: self.place,
            actor: self.actor,
            options: self.options,
            mailbox,
            kind: PhantomData,
        }
    }

    /// Sets the capacity of the actor's [stash](Context::stash), in messages. The default is 1,024.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::{Local, behavior};
    ///
    /// let local = Local::new()?;
    /// let keeps_one = local.actor(behavior(|n: u32, cx| {
    ///     assert_eq!(cx.stash(n).is_ok(), n == 1);
    /// }));
    /// let keeps_one = keeps_one.stash(1).spawn();
    /// keeps_one.send(1)?;
    /// keeps_one.send(2)?;
    /// local.run();
    /// assert_eq!(local.handle().failures(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stash(self, capacity: usize) -> Spawn<P, A, K, X::More, B>
    where
        K: Handles,
    {
        self.with(|options| options.set(|options| options.stash = Some(capacity)))
    }

    /// Sets a receive timeout. If the actor receives no message for the duration `timeout`, it
    /// receives the message that `make` creates.
    ///
    /// The time is measured from the actor's last message, or from its start if there was none. A
    /// message whose turn is undone does not restart the time. After the message that `make`
    /// created, the timeout starts again only when the actor receives a message that `make` did not
    /// create, or calls [`Context::set_receive_timeout`].
    ///
    /// There is one exception. If another message is waiting or being handled when the timeout
    /// expires, the message that `make` created is handled after that message, and then it does
    /// start the timeout again.
    ///
    /// If `make` panics, the panic is reported and no message is sent for this timeout.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use garrick_actor::{Actor, Context, Local, Next};
    ///
    /// struct Session;
    ///
    /// enum Msg {
    ///     Request,
    ///     Idle,
    /// }
    ///
    /// impl Actor for Session {
    ///     type Msg = Msg;
    ///     type Outcome = Next;
    ///
    ///     fn receive(&mut self, msg: Msg, _: &mut Context<'_, Msg>) -> Next {
    ///         match msg {
    ///             Msg::Request => Next::Continue,
    ///             Msg::Idle => Next::Stop,
    ///         }
    ///     }
    /// }
    ///
    /// let local = Local::new()?;
    /// let timeout = Duration::from_millis(1);
    /// let session = local
    ///     .actor(Session)
    ///     .receive_timeout(timeout, || Msg::Idle)
    ///     .spawn();
    /// session.send(Msg::Request).unwrap();
    /// while !session.is_stopped() {
    ///     local.run();
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn receive_timeout(
        self,
        timeout: Duration,
        make: impl Fn() -> A::Msg + Send + Sync + 'static,
    ) -> Spawn<P, A, K, Set<A::Msg, true>, B>
    where
        K: Handles,
        A::Msg: Send,
    {
        let timeout = Timeout::new(timeout, make);
        self.with(|options| options.set_timed(|options| options.receive_timeout = Some(timeout)))
    }

    /// Sets how many futures of the actor can run at the same time. The limit applies to the
    /// futures that the actor starts with [`Context::pipe`]. When the limit is reached, each new
    /// future waits until one of the running futures completes. The default is 64.
    ///
    /// # Examples
    /// ```
    /// use std::num::NonZero;
    /// use garrick_actor::{Local, behavior};
    ///
    /// let local = Local::new()?;
    /// let one_by_one = local
    ///     .actor(behavior(|n: u32, cx| {
    ///         if n < 10 {
    ///             cx.pipe(async move { n + 10 }, |n| n.unwrap_or(0));
    ///         }
    ///     }))
    ///     .pipe_limit(NonZero::<usize>::MIN)
    ///     .spawn();
    /// (0..10).for_each(|n| one_by_one.send(n).unwrap());
    /// local.run();
    /// # Ok::<(), garrick_actor::StartError>(())
    /// ```
    pub fn pipe_limit(self, limit: NonZero<usize>) -> Spawn<P, A, K, X::More, B>
    where
        K: Handles,
    {
        self.with(|options| options.set(|options| options.pipe_limit = Some(limit.get())))
    }
}

impl<P: Place, A, K, X, B> Spawn<P, A, K, X, B> {
    /// Spawns the actor. The type of the result depends on the place where the actor is spawned.
    /// The table at [`Place`] lists the types.
    ///
    /// If the place is a system, the worker is chosen as follows. If the caller runs on a worker of
    /// that system, the actor runs on the same worker. Otherwise, the actor runs on an idle worker.
    /// If no worker is idle, the workers are chosen in round-robin order.
    ///
    /// If the actor is spawned during a turn and the turn is undone, the actor is dropped without
    /// having received a message.
    ///
    /// # Errors
    /// Returns the actor if the place is a system that is shutting down.
    pub fn spawn(mut self) -> P::Spawned<A::Msg, A>
    where
        A: SpawnAt<K, X, B, P>,
        X: Settle,
    {
        self.options.settle(self.place.path());
        let spawned = self.actor.spawn_at(self.options, self.mailbox, self.place);
        P::spawned(spawned)
    }
}

impl<P, A, K, X, B> fmt::Debug for Spawn<P, A, K, X, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spawn").finish_non_exhaustive()
    }
}

impl Handle {
    /// Returns a builder that spawns an actor on this system, with options.
    ///
    /// # Examples
    /// [`Spawn`] has an example.
    pub fn actor<K, A: Spawnable<K>>(&self, actor: A) -> Spawn<&Self, A, K> {
        Spawn::new(self, actor)
    }

    /// Spawns an actor on this system.
    ///
    /// If the caller runs on a worker of this system, the actor runs on the same worker. Otherwise,
    /// the actor runs on an idle worker. If no worker is idle, the workers are chosen in
    /// round-robin order.
    ///
    /// # Errors
    /// Returns the actor if the system is shutting down. If an actor of this system calls this
    /// method during a turn, the method never returns this error.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::{System, behavior};
    ///
    /// let system = System::new()?;
    /// let handle = system.handle();
    /// system.shutdown_now();
    /// assert!(handle.spawn(behavior(|_: (), _| ())).is_err());
    /// # Ok::<(), garrick_actor::StartError>(())
    /// ```
    pub fn spawn<'s, K, A>(&'s self, actor: A) -> Result<Address<A::Msg>, SpawnError<A>>
    where
        A: SpawnAt<K, Plain, Own, &'s Self>,
    {
        actor.spawn_at(Plain, Own, self).map_err(SpawnError)
    }
}

impl System {
    /// Returns a builder that spawns an actor on this system, with options.
    ///
    /// # Examples
    /// [`Spawn`] has an example.
    pub fn actor<K, A: Spawnable<K>>(&self, actor: A) -> Spawn<&Handle, A, K> {
        self.as_handle().actor(actor)
    }

    /// Spawns an actor on this system.
    ///
    /// If the caller runs on a worker of this system, the actor runs on the same worker. Otherwise,
    /// the actor runs on an idle worker. If no worker is idle, the workers are chosen in
    /// round-robin order.
    ///
    /// # Errors
    /// Returns the actor if the system is shutting down. If an actor of this system calls this
    /// method during a turn, the method never returns this error.
    pub fn spawn<'s, K, A>(&'s self, actor: A) -> Result<Address<A::Msg>, SpawnError<A>>
    where
        A: SpawnAt<K, Plain, Own, &'s Handle>,
    {
        self.as_handle().spawn(actor)
    }
}

impl Local {
    /// Returns a builder that spawns an actor on this thread, with options.
    ///
    /// # Examples
    /// [`Spawn`] has an example.
    pub fn actor<K, A: Spawnable<K>>(&self, actor: A) -> Spawn<&Self, A, K> {
        Spawn::new(self, actor)
    }

    /// Spawns an actor on this thread. The actor need not be `Send`.
    pub fn spawn<'s, K, A>(&'s self, actor: A) -> Address<A::Msg>
    where
        A: SpawnAt<K, Plain, Own, &'s Self>,
    {
        <&Self>::spawned(actor.spawn_at(Plain, Own, self))
    }
}

impl<N: 'static> Context<'_, N> {
    /// Returns a builder that spawns an actor, with options. By default, the actor runs on the
    /// worker that runs this turn.
    ///
    /// # Examples
    /// [`Spawn::on`] has an example.
    pub fn actor<K, A: Spawnable<K>>(&self, actor: A) -> Spawn<InTurn<'_, N>, A, K> {
        Spawn::new(InTurn(self), actor)
    }

    /// Spawns an actor on the worker that runs this turn. If the turn is undone, the actor is
    /// dropped without having received a message.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::{Local, Next, behavior};
    ///
    /// let local = Local::new()?;
    /// let parent = local.spawn(behavior(|n: u32, cx| {
    ///     let child = cx.spawn(behavior(|n: u32, _| {
    ///         assert_eq!(n, 2);
    ///         Next::Stop
    ///     }));
    ///     let _ = cx.send(&child, n + 1);
    /// }));
    /// parent.send(1)?;
    /// local.run();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn spawn<'s, K, A>(&'s self, actor: A) -> Address<A::Msg>
    where
        A: SpawnAt<K, Plain, Own, InTurn<'s, N>>,
    {
        InTurn::<N>::spawned(actor.spawn_at(Plain, Own, InTurn(self)))
    }
}
