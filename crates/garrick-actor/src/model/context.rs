//! The operations of an actor while it handles a message.

use std::fmt;

use garrick_sched::{Address, Ended, Nanos, NoReply, Reply, SendError, Turn, Watch};

use crate::beside::Beside;

/// The turn under way, as seen by its actor. `M` is the message type of that actor.
///
/// Effects requested through it are staged. They take place when the turn ends in
/// [`Next::Continue`](crate::Next::Continue) or [`Next::Stop`](crate::Next::Stop). They vanish if
/// it ends in [`Next::Undo`](crate::Next::Undo) or a panic.
pub struct Context<'a, M> {
    turn: &'a Turn<'a, M>,
    /// State that wrappers of the actor lend to the turn. Most actors have none.
    beside: Option<&'a Beside<'a, M>>,
}

impl<'a, M: 'static> Context<'a, M> {
    #[inline]
    pub(crate) fn new(turn: &'a Turn<'a, M>) -> Self {
        Self { turn, beside: None }
    }

    /// Returns a context of the same turn with the state that a wrapper lends to it.
    pub(crate) fn with<'b>(&self, beside: &'b Beside<'b, M>) -> Context<'b, M>
    where
        'a: 'b,
    {
        Context {
            turn: self.turn,
            beside: Some(beside),
        }
    }

    /// Returns another context of the same turn, for a type that wraps the context.
    #[inline]
    pub(crate) fn again(&self) -> Self {
        Self { ..*self }
    }

    /// Returns the state that wrappers have lent to the turn.
    #[inline]
    pub(crate) fn beside(&self) -> Beside<'a, M> {
        self.beside.copied().unwrap_or(Beside::NONE)
    }

    #[inline]
    pub(crate) fn turn(&self) -> &'a Turn<'a, M> {
        self.turn
    }

    /// Sends `msg` to `to`.
    ///
    /// # Errors
    /// Returns the message if the actor is known to have stopped.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::{Actor, Address, Context, Local, Next};
    ///
    /// struct Halve(Address<u32>);
    ///
    /// impl Actor for Halve {
    ///     type Msg = u32;
    ///     type Outcome = Next;
    ///
    ///     fn receive(&mut self, n: u32, cx: &mut Context<'_, u32>) -> Next {
    ///         match cx.send(&self.0, n / 2) {
    ///             Ok(()) => Next::Continue,
    ///             Err(_) => Next::Stop,
    ///         }
    ///     }
    /// }
    ///
    /// let local = Local::new()?;
    /// let print = local.spawn_behavior(|n: u32, _| {
    ///     assert_eq!(n, 21);
    /// });
    /// local.spawn(Halve(print)).send(42)?;
    /// local.run();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn send<N: 'static>(&self, to: &Address<N>, msg: N) -> Result<(), SendError<N>> {
        self.turn.send(to, msg)
    }

    /// Returns the address of the actor whose turn this is.
    #[inline]
    #[must_use]
    pub fn address(&self) -> Address<M> {
        self.turn.address()
    }

    /// Notifies this actor when another actor ends. The notice is a message that `convert` creates
    /// from the [`Ended`] value. It arrives once, after everything that the other actor has sent
    /// before. If the other actor has ended already, the notice comes at once ([`Ended::Before`]).
    /// A watch made in a turn that is undone has no effect.
    ///
    /// The watch keeps this actor alive until the notice is sent. It does not keep the other actor
    /// alive.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::{Actor, Address, Context, Ended, Local, Next};
    ///
    /// struct Widow;
    ///
    /// enum Msg {
    ///     Watch(Address<u32>),
    ///     Ended(Ended),
    /// }
    ///
    /// impl Actor for Widow {
    ///     type Msg = Msg;
    ///     type Outcome = Next;
    ///
    ///     fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) -> Next {
    ///         match msg {
    ///             Msg::Watch(whom) => {
    ///                 let _ = cx.watch(&whom, Msg::Ended);
    ///                 Next::Continue
    ///             }
    ///             Msg::Ended(ended) => {
    ///                 assert_eq!(ended, Ended::Stopped);
    ///                 Next::Stop
    ///             }
    ///         }
    ///     }
    /// }
    ///
    /// let local = Local::new()?;
    /// let mortal = local.spawn_behavior(|_: u32, _| Next::Stop);
    /// let widow = local.spawn(Widow);
    /// widow.send(Msg::Watch(mortal.clone())).unwrap();
    /// local.run();
    /// mortal.send(7)?;
    /// local.run();
    /// assert!(widow.is_stopped());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn watch<N: 'static>(
        &self,
        whom: &Address<N>,
        convert: impl FnOnce(Ended) -> M + Send + 'static,
    ) -> Watch
    where
        M: Send,
    {
        self.turn.watch(whom, convert)
    }

    /// Asks another actor. Sends it the message that `msg` creates from the [`Reply`]. The answer
    /// arrives at this actor as the message that `convert` creates from it. An ask costs two
    /// ordinary sends.
    ///
    /// The answer is [`NoReply::Dropped`] if the other actor has stopped, if it fails before it
    /// answers, or if this very turn is undone. The conversion runs in the other actor, so it must
    /// not capture anything. The compiler checks this.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::{Actor, Address, Context, Local, NoReply, Reply};
    ///
    /// struct Double;
    ///
    /// impl Actor for Double {
    ///     type Msg = (u32, Reply<u32>);
    ///     type Outcome = ();
    ///
    ///     fn receive(&mut self, (n, reply): (u32, Reply<u32>), _: &mut Context<'_, Self::Msg>) {
    ///         reply.send(2 * n);
    ///     }
    /// }
    ///
    /// struct Asker(Address<(u32, Reply<u32>)>);
    ///
    /// enum Msg {
    ///     Begin,
    ///     Doubled(Result<u32, NoReply>),
    /// }
    ///
    /// impl Actor for Asker {
    ///     type Msg = Msg;
    ///     type Outcome = ();
    ///
    ///     fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) {
    ///         match msg {
    ///             Msg::Begin => cx.ask(&self.0, |reply| (21, reply), Msg::Doubled),
    ///             Msg::Doubled(answer) => assert_eq!(answer, Ok(42)),
    ///         }
    ///     }
    /// }
    ///
    /// let local = Local::new()?;
    /// let double = local.spawn(Double);
    /// local.spawn(Asker(double)).send(Msg::Begin).unwrap();
    /// local.run();
    /// assert_eq!(local.handle().failures(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn ask<N, R, F>(&self, to: &Address<N>, msg: impl FnOnce(Reply<R>) -> N, convert: F)
    where
        M: Send,
        N: 'static,
        R: 'static,
        F: FnOnce(Result<R, NoReply>) -> M + Copy + Send + 'static,
    {
        let reply = Reply::to_task(self.address(), convert);
        // A refused message is dropped, and its reply then answers `NoReply::Dropped`.
        let _ = self.send(to, msg(reply));
    }

    /// Calls `f`, which may block the thread: for a file, a database, a lock or a long computation.
    /// Meanwhile another thread runs the other actors of this worker, and messages to this actor
    /// wait.
    ///
    /// `f` runs outside the turn. Messages that `f` sends are sent at once, before those of this
    /// turn, and stay sent if the turn is undone. `f` cannot use the context, and so must be
    /// `Send`. Messages that the turn sends, before `f` and after it, are delivered when it
    /// commits, in the order of sending.
    ///
    /// `garrick bench blocking` measures the cost of a call. At most
    /// [`Builder::blocking_threads`](crate::Builder::blocking_threads) turns of a system can block
    /// this way at once. One more turn keeps its worker while it blocks. An actor with
    /// [`Actor::BLOCKS`](crate::Actor::BLOCKS) waits without a worker instead. A turn also keeps
    /// its worker if that worker is pinned or has a driver, and in a [`Local`](crate::Local).
    ///
    /// # Panics
    /// Panics if `f` panics. The turn is then undone, as by any other panic.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::{Actor, Context, Reply, System};
    ///
    /// /// Reads files, one after the other.
    /// struct Reader;
    ///
    /// impl Actor for Reader {
    ///     type Msg = (String, Reply<std::io::Result<String>>);
    ///     type Outcome = ();
    ///     const BLOCKS: bool = true;
    ///
    ///     fn receive(&mut self, (path, reply): Self::Msg, cx: &mut Context<'_, Self::Msg>) {
    ///         reply.send(cx.blocking(|| std::fs::read_to_string(&path)));
    ///     }
    /// }
    ///
    /// let system = System::builder().workers(1).start()?;
    /// let reader = system.spawn(Reader)?;
    /// let text = reader.ask(|reply| ("no such file".to_owned(), reply)).wait()?;
    /// assert!(text.is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    /// The closure cannot use the context:
    /// ```compile_fail,E0277
    /// use garrick_actor::{Address, Context};
    ///
    /// fn wrong(cx: &mut Context<'_, u32>, to: &Address<u32>) {
    ///     cx.blocking(|| cx.send(to, 1).is_ok());
    /// }
    /// ```
    pub fn blocking<R>(&self, f: impl FnOnce() -> R + Send) -> R {
        self.turn.blocking(f)
    }

    /// Returns the time of the world that this actor runs in, in nanoseconds since the world began.
    #[must_use]
    pub fn now(&self) -> Nanos {
        self.turn.now()
    }
}

impl<M> fmt::Debug for Context<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.turn.fmt(f)
    }
}
