//! The operations of an actor while it handles a message.

use std::any::Any;
use std::fmt::{self, Debug};
use std::time::SystemTime;

use garrick_sched::{Address, BatchError, Ended, Nanos, Pending, SendError, Turn, Watch};

use crate::beside::Beside;
use crate::note;

/// The current turn of an actor. `M` is the message type of the actor.
///
/// Effects that are requested through a context are staged. If the turn returns
/// [`Next::Continue`](crate::Next::Continue) or [`Next::Stop`](crate::Next::Stop), the turn
/// *commits*: the effects take place. If the turn returns [`Next::Undo`](crate::Next::Undo) or
/// [`Next::Fail`](crate::Next::Fail), or panics, the turn is *undone*: the effects are discarded.
pub struct Context<'a, M> {
    turn: &'a Turn<'a, M>,
    /// State of the options with which the actor was spawned, such as a stash. Most actors have no
    /// options.
    beside: Option<&'a Beside>,
}

impl<'a, M: 'static> Context<'a, M> {
    #[inline]
    pub(crate) fn new(turn: &'a Turn<'a, M>) -> Self {
        Self { turn, beside: None }
    }

    /// Returns another context of the same turn. The new context contains `beside`, the state of
    /// the actor's options.
    #[inline(always)]
    pub(crate) fn with<'b>(&self, beside: &'b Beside) -> Context<'b, M>
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

    /// Returns the state of the options with which the actor was spawned. Returns `None` if there
    /// are no options.
    #[inline]
    pub(crate) fn beside(&self) -> Option<&'a Beside> {
        self.beside
    }

    #[inline]
    pub(crate) fn turn(&self) -> &'a Turn<'a, M> {
        self.turn
    }

    /// Sends `msg` to `to` if this turn commits.
    ///
    /// # Errors
    /// Returns the message if the receiver is known to have stopped.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::{Actor, Address, Context, Local, Next, behavior};
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
    /// let print = local.spawn(behavior(|n: u32, _| {
    ///     assert_eq!(n, 21);
    /// }));
    /// local.spawn(Halve(print)).send(42)?;
    /// local.run();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn send<N: 'static>(&self, to: &Address<N>, msg: N) -> Result<(), SendError<N>> {
        self.turn.send(to, msg)
    }

    /// Records a fact about this actor, for the properties that a simulation checks. If this turn
    /// is undone, nothing is recorded. Outside of a simulation, the fact is dropped.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::{Actor, Context};
    ///
    /// #[derive(Debug)]
    /// struct Elected(u64);
    ///
    /// struct Member;
    ///
    /// impl Actor for Member {
    ///     type Msg = u64;
    ///     type Outcome = ();
    ///
    ///     fn receive(&mut self, term: u64, cx: &mut Context<'_, u64>) {
    ///         cx.note(Elected(term));
    ///     }
    /// }
    /// ```
    #[inline]
    pub fn note<F: Any + Debug + Send>(&self, fact: F) {
        note::note(fact);
    }

    /// Delays the commit of this turn. After the turn has ended, `decide` is called, as documented
    /// for `garrick_sched::Turn::commit_later`.
    ///
    /// # Panics
    /// Panics if the actor is not declared with `COMMITS_LATER`. May panic in
    /// [`Actor::started`](crate::Actor::started).
    #[doc(hidden)]
    #[track_caller]
    pub fn commit_later(&self, decide: impl FnOnce(Pending) + 'static) {
        self.turn.commit_later(decide);
    }

    /// Returns true if this turn has called [`Context::commit_later`], so that another piece of
    /// code decides when the turn commits.
    #[doc(hidden)]
    #[must_use]
    pub fn commits_later(&self) -> bool {
        self.turn.commits_later()
    }

    /// Takes the next message of this actor, so that one turn handles several messages, as
    /// documented for `garrick_sched::Turn::next_message`. Messages that were kept during a restart
    /// come first, then the messages of the mailbox. Returns `None` if there is no further message,
    /// or if the actor has a receive timeout.
    #[doc(hidden)]
    #[must_use]
    pub fn next_message(&self) -> Option<M> {
        self.turn.next_message()
    }

    /// Forbids further calls of [`Context::next_message`] in this turn.
    #[doc(hidden)]
    pub fn take_no_more(&self) {
        self.turn.take_no_more();
    }

    /// Returns the address of this actor.
    #[inline]
    #[must_use]
    pub fn address(&self) -> Address<M> {
        self.turn.address()
    }

    /// Watches the actor `whom`. When `whom` stops for any reason, this actor receives one message,
    /// which `convert` creates from an [`Ended`] value.
    ///
    /// This message arrives after all messages that `whom` has sent to this actor. If `whom` has
    /// already stopped, the message is sent immediately, with [`Ended::Before`]. If this turn is
    /// undone, the watch has no effect.
    ///
    /// The watch keeps this actor alive until the message is sent. The watch does not keep `whom`
    /// alive.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::{Actor, Address, Context, Ended, Local, Next, behavior};
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
    /// let mortal = local.spawn(behavior(|_: u32, _| Next::Stop));
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

    /// Sends all of `msgs` to `to`, in order, and returns how many messages were sent. The messages
    /// are delivered when the turn commits, and are discarded if the turn is undone.
    ///
    /// # Errors
    /// Returns a [`BatchError`] if the receiver is known to have stopped. The error contains the
    /// messages that were not accepted.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::{Local, behavior};
    ///
    /// let local = Local::new()?;
    /// let sum = local.spawn(behavior(|n: u32, _| {
    ///     assert!(n < 100);
    /// }));
    /// let hundred = local.spawn(behavior(move |(): (), cx| {
    ///     assert_eq!(cx.send_batch(&sum, 0..100).ok(), Some(100));
    /// }));
    /// hundred.send(())?;
    /// local.run();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn send_batch<N, I>(
        &self,
        to: &Address<N>,
        msgs: I,
    ) -> Result<usize, BatchError<I::IntoIter>>
    where
        N: 'static,
        I: IntoIterator<Item = N>,
    {
        self.turn.send_batch(to, msgs)
    }

    /// Calls `f`, which may block the thread or compute for a long time. For example, `f` can read
    /// a file, query a database or acquire a lock.
    ///
    /// While `f` runs, another thread runs the other actors of this worker. Messages to this actor
    /// wait until the turn is over.
    ///
    /// `f` is not part of the turn. Messages that `f` sends are delivered immediately, before the
    /// messages of this turn, even if the turn is undone later. `f` must be `Send`, so it cannot
    /// use the context. Messages that the turn sends before and after the call of `f` are delivered
    /// in order when the turn commits.
    ///
    /// The command `garrick bench blocking` measures the cost of a call. At most
    /// [`Builder::blocking_threads`](crate::system::Builder::blocking_threads) turns of a system
    /// can block this way at the same time. When this limit is reached, a call in another turn
    /// blocks its worker. To prevent this, set [`Actor::BLOCKS`](crate::Actor::BLOCKS) to true: the
    /// actor then waits without occupying a worker. In a [`Local`](crate::Local), and on a worker
    /// that is [pinned](crate::system::Builder::pin_to) or has a
    /// [driver](crate::system::Builder::driver), a call always blocks the worker.
    ///
    /// # Panics
    /// Panics if `f` panics. The turn is then undone, as after any other panic.
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
    /// The closure cannot use the context, because another thread runs the worker meanwhile. Do not
    /// bypass this check by a wrapper that makes any value `Send`, even on the same thread: using
    /// the context in the closure would be a data race.
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

    /// Returns true if another message waits in the mailbox of this actor. Messages that are in
    /// transit from other threads do not count. An actor that collects messages in batches can
    /// process its batch when this method returns false.
    #[must_use]
    pub fn has_more(&self) -> bool {
        self.turn.has_more()
    }

    /// Returns the current date and time, according to the clock of the actor's
    /// [`World`](crate::system::World). In a simulation, this is the simulated time.
    #[must_use]
    pub fn date(&self) -> SystemTime {
        self.turn.date()
    }

    /// Returns the current time in nanoseconds, according to the clock of the actor's
    /// [`World`](crate::system::World).
    #[must_use]
    pub fn now(&self) -> Nanos {
        self.turn.now()
    }

    /// Returns the current time by the clock that is used for leases between machines. This clock
    /// also runs while the machine sleeps.
    #[doc(hidden)]
    #[must_use]
    pub fn lease_now(&self) -> Nanos {
        self.turn.lease_now()
    }
}

impl<M> fmt::Debug for Context<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.turn.fmt(f)
    }
}
