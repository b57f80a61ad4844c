//! Blocking work whose result returns to the actor as a message.
//!
//! Blocking work must start only if the turn that requests it commits. Therefore the turn spawns a
//! small actor that starts the work. A turn that is undone spawns no actor, so the work does not
//! start.

use garrick_core::quiet;
use std::error::Error;
use std::fmt;

use garrick_actor::{Actor, Context, Internal, Next};
use tokio::runtime::Handle;

/// The error that an actor receives when its blocking work has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlockingError {
    /// The blocking work panicked. The value contains the message of the panic.
    Panicked(String),
    /// The actor does not run in a tokio runtime, because its system was not built with
    /// [`Tokio`](crate::Tokio). This error cannot occur with [`SpawnBlocking::spawn_blocking_on`].
    NoRuntime,
    /// The tokio runtime was shut down before the blocking work began.
    Ended,
}

impl fmt::Display for BlockingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panicked(message) => write!(f, "the blocking work panicked: {message}"),
            Self::NoRuntime => f.write_str(
                "the actor is not in a tokio runtime: build its system with the driver `Tokio`, or pass a runtime",
            ),
            Self::Ended => f.write_str("the tokio runtime was shut down before the blocking work began"),
        }
    }
}

impl Error for BlockingError {}

/// An extension of [`Context`] for actors that run blocking work on another thread.
pub trait SpawnBlocking<M> {
    /// Runs `work` on a separate thread after the turn has committed. Then `convert` converts the
    /// result of `work` into a message to this actor.
    ///
    /// Until the message is sent, the work holds an address of the actor. So the actor stays alive
    /// even if all of its other addresses are dropped. If the actor stops before the message is
    /// sent, for example because of a failure, the message is dropped.
    ///
    /// Async actors do not need this method, because they can use
    /// `tokio::task::spawn_blocking(work).await`.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::{Actor, Context, Reply};
    /// use garrick_tokio::{BlockingError, SpawnBlocking};
    ///
    /// struct Reader(Option<Reply<usize>>);
    ///
    /// enum Msg {
    ///     CountBytes(Reply<usize>),
    ///     Counted(Result<usize, BlockingError>),
    /// }
    ///
    /// impl Actor for Reader {
    ///     type Msg = Msg;
    ///     type Outcome = ();
    ///
    ///     fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) {
    ///         match msg {
    ///             Msg::CountBytes(reply) => {
    ///                 self.0 = Some(reply);
    ///                 let count = || std::fs::read("Cargo.toml").map_or(0, |bytes| bytes.len());
    ///                 cx.spawn_blocking(count, Msg::Counted);
    ///             }
    ///             Msg::Counted(count) => {
    ///                 if let (Some(reply), Ok(count)) = (self.0.take(), count) {
    ///                     reply.send(count);
    ///                 }
    ///             }
    ///         }
    ///     }
    /// }
    ///
    /// let system = garrick_tokio::system()?;
    /// let reader = system.spawn(Reader(None))?;
    /// assert!(reader.ask(Msg::CountBytes).wait()? > 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn spawn_blocking<R, W, C>(&self, work: W, convert: C)
    where
        R: 'static,
        W: FnOnce() -> R + Send + 'static,
        C: FnOnce(Result<R, BlockingError>) -> M + Send + 'static;

    /// Runs `work` like [`spawn_blocking`](Self::spawn_blocking), but on the threads of `runtime`.
    /// Use this method for actors of a system that was not built with [`Tokio`](crate::Tokio).
    fn spawn_blocking_on<R, W, C>(&self, runtime: &Handle, work: W, convert: C)
    where
        R: 'static,
        W: FnOnce() -> R + Send + 'static,
        C: FnOnce(Result<R, BlockingError>) -> M + Send + 'static;
}

impl<M: Send + 'static> SpawnBlocking<M> for Context<'_, M> {
    fn spawn_blocking<R, W, C>(&self, work: W, convert: C)
    where
        R: 'static,
        W: FnOnce() -> R + Send + 'static,
        C: FnOnce(Result<R, BlockingError>) -> M + Send + 'static,
    {
        spawn(self, None, work, convert);
    }

    fn spawn_blocking_on<R, W, C>(&self, runtime: &Handle, work: W, convert: C)
    where
        R: 'static,
        W: FnOnce() -> R + Send + 'static,
        C: FnOnce(Result<R, BlockingError>) -> M + Send + 'static,
    {
        spawn(self, Some(runtime.clone()), work, convert);
    }
}

fn spawn<M, R, W, C>(cx: &Context<'_, M>, runtime: Option<Handle>, work: W, convert: C)
where
    M: Send + 'static,
    R: 'static,
    W: FnOnce() -> R + Send + 'static,
    C: FnOnce(Result<R, BlockingError>) -> M + Send + 'static,
{
    let to = cx.address();
    let give = move |result| {
        // If the actor has stopped, the message is dropped.
        let _ = to.send(convert(result));
    };
    drop(cx.spawn(Internal(Errand {
        runtime,
        work: Some((work, Box::new(give))),
    })));
}

type Give<R> = Box<dyn FnOnce(Result<R, BlockingError>) + Send>;

/// An obligation to deliver a result to the actor. If the promise is dropped,
/// [`BlockingError::Ended`] is delivered instead. A promise is created when the work is passed to
/// the tokio runtime. If the turn that requested the work is undone, no promise is created, and no
/// result is delivered.
struct Promise<R>(Option<Give<R>>);

impl<R> Promise<R> {
    fn new(give: Give<R>) -> Self {
        Self(Some(give))
    }

    fn keep(mut self, result: Result<R, BlockingError>) {
        if let Some(give) = self.0.take() {
            give(result);
        }
    }
}

impl<R> Drop for Promise<R> {
    fn drop(&mut self) {
        if let Some(give) = self.0.take() {
            // A runtime drops all work that has not begun. A panic of one conversion must not
            // prevent it from dropping the rest.
            let _ = quiet::call(|| give(Err(BlockingError::Ended)));
        }
    }
}

/// A small actor that starts blocking work in its own turn, after the turn that requested the work
/// has committed.
struct Errand<W, R> {
    /// The tokio runtime whose threads run the work, or `None` for the current runtime.
    runtime: Option<Handle>,
    /// The work, and the function that delivers its result. This field is `None` after the work has
    /// been passed to the tokio runtime.
    work: Option<(W, Give<R>)>,
}

impl<W, R> Actor for Errand<W, R>
where
    R: 'static,
    W: FnOnce() -> R + Send + 'static,
{
    type Msg = ();
    type Outcome = Next;

    fn started(&mut self, _: &mut Context<'_, ()>) -> Next {
        let runtime = self.runtime.take().or_else(|| Handle::try_current().ok());
        match (self.work.take(), runtime) {
            (Some((work, give)), Some(runtime)) => {
                let promise = Promise::new(give);
                runtime.spawn_blocking(move || promise.keep(run(work)));
            }
            (Some((_, give)), None) => give(Err(BlockingError::NoRuntime)),
            (None, _) => {}
        }
        Next::Stop
    }

    fn receive(&mut self, (): (), _: &mut Context<'_, ()>) -> Next {
        Next::Stop
    }
}

fn run<R>(work: impl FnOnce() -> R) -> Result<R, BlockingError> {
    quiet::call(work).map_err(|panic| BlockingError::Panicked(panic.message()))
}
