//! Futures whose results are sent to an actor as messages.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;

use garrick_sched::{Address, Turn};

use super::context::AsyncContext;
use super::incoming::Incoming;
use super::piped::{self, Lead, PipeError, Work};
use crate::beside::pipes::Pipes;
use crate::model::context::Context;
use crate::quiet::Contained;

/// A future that will run concurrently with an actor, and its connection to this actor.
struct Job<Fut, M, F> {
    future: Contained<Fut>,
    lead: Arc<Lead<M, F>>,
}

impl<Fut, M, F> Work for Job<Fut, M, F>
where
    Fut: Send + 'static,
    M: 'static,
    F: 'static,
    Arc<Lead<M, F>>: Send,
{
    type Of = Fut;
}

/// Waits until the number of running futures is below the limit of the actor. Then runs the future,
/// and sends its result to the actor.
async fn run<Fut, M, F>(job: Job<Fut, M, F>, own: Incoming<Infallible>)
where
    Fut: Future,
    M: Send + 'static,
    F: FnMut(Result<Fut::Output, PipeError>) -> Option<M>,
{
    let Some(_entered) = job.lead.enter(&own).await else {
        return;
    };
    let place = job.lead.pipes.room().take().await;
    let result = job.future.await;
    drop(place);
    job.lead.give(Ok(result));
}

fn start<N, M, Fut, F>(
    turn: &Turn<'_, N>,
    to: Address<M>,
    pipes: Arc<Pipes>,
    future: Fut,
    convert: F,
) where
    N: 'static,
    M: Send + 'static,
    Fut: Future + Send + 'static,
    F: FnOnce(Result<Fut::Output, PipeError>) -> M + Send + 'static,
{
    let mut convert = Some(convert);
    let lead = Lead::new(to, pipes, move |result| {
        convert.take().map(|convert| convert(result))
    });
    let told = lead.clone();
    let on_panic = move |error| {
        told.give(Err(error));
    };
    let future = Contained::new(future);
    drop(piped::spawn(turn, Job { future, lead }, run, on_panic));
}

impl<M: 'static> Context<'_, M> {
    /// Runs a future concurrently with this actor.
    ///
    /// The actor receives the result as a message, which `into_message` creates. Until then, the
    /// actor handles other messages. If the future panics, `into_message` gets a [`PipeError`]. The
    /// panic is reported like the panic of an actor.
    ///
    /// The future is polled by the workers of the system or [`Local`](crate::Local) that runs the
    /// actor. No other async runtime is needed. The future can await asks, channels, locks and
    /// anything else that does not need the I/O or the timers of a runtime such as tokio. A
    /// [driver](crate::system::Builder::driver) makes these available too. The future starts when
    /// the turn commits. If the turn is undone, the future is dropped.
    ///
    /// **Limit.** At most 64 futures of one actor are polled concurrently.
    /// [`Spawn::pipe_limit`](crate::spawn::Spawn::pipe_limit) sets a different limit. When the
    /// limit is reached, further futures wait, and usually start in the order in which they were
    /// piped. The number of waiting futures is unbounded. This number grows without limit if, on
    /// average, futures are piped faster than they complete.
    ///
    /// **Cancellation.** When the actor stops, fails or is replaced by its supervisor, all of its
    /// futures are dropped, and their results are not delivered. Results that are already in the
    /// mailbox remain there. A future keeps the actor alive until its result has been sent.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::future::PipeError;
    /// use garrick_actor::{Actor, Context, Local, Next, Reply, behavior};
    ///
    /// struct Sum(u32);
    ///
    /// enum Msg {
    ///     Add(garrick_actor::Ask<u32>, garrick_actor::Ask<u32>),
    ///     Fetched(Result<u32, PipeError>),
    /// }
    ///
    /// impl Actor for Sum {
    ///     type Msg = Msg;
    ///     type Outcome = Next;
    ///
    ///     fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) -> Next {
    ///         match msg {
    ///             Msg::Add(one, other) => cx.pipe(
    ///                 async { one.await.unwrap_or(0) + other.await.unwrap_or(0) },
    ///                 Msg::Fetched,
    ///             ),
    ///             Msg::Fetched(Ok(n)) => self.0 += n,
    ///             Msg::Fetched(Err(error)) => return cx.fail(error),
    ///         }
    ///         Next::Continue
    ///     }
    /// }
    ///
    /// let local = Local::new()?;
    /// let answers = local.spawn(behavior(|reply: Reply<u32>, _| {
    ///     reply.send(21);
    /// }));
    /// let sum = local.spawn(Sum(0));
    /// sum.send(Msg::Add(
    ///     answers.ask(|reply| reply),
    ///     answers.ask(|reply| reply),
    /// ))
    /// .unwrap();
    /// local.run();
    /// assert_eq!(local.handle().failures(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pipe<Fut, F>(&self, future: Fut, into_message: F)
    where
        M: Send,
        Fut: Future + Send + 'static,
        F: FnOnce(Result<Fut::Output, PipeError>) -> M + Send + 'static,
    {
        start(
            self.turn(),
            self.address(),
            self.pipes(),
            future,
            into_message,
        );
    }
}

impl<M: Send + 'static> AsyncContext<M> {
    /// Runs a future concurrently with this actor, like [`Context::pipe`]. The actor receives the
    /// result as a message. The future starts when the current poll commits. If no poll of this
    /// actor is in progress on the calling thread, the future starts soon, without another poll. In
    /// a turn of another actor, it starts only if that turn commits.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::{Incoming, System};
    ///
    /// let system = System::new()?;
    /// let (told, heard) = std::sync::mpsc::channel();
    /// let actor = system.spawn(move |mut mailbox: Incoming<u32>| async move {
    ///     mailbox
    ///         .context()
    ///         .pipe(async { 6 * 7 }, |result| result.unwrap_or(0));
    ///     told.send(mailbox.recv().await).unwrap();
    /// })?;
    /// assert_eq!(heard.recv()?, Some(42));
    /// # drop(actor);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pipe<Fut, F>(&self, future: Fut, into_message: F)
    where
        Fut: Future + Send + 'static,
        F: FnOnce(Result<Fut::Output, PipeError>) -> M + Send + 'static,
    {
        let to = self.address();
        self.at_end(move |turn| {
            let pipes = Pipes::of(to.id());
            start(turn, to, pipes, future, into_message);
        });
    }
}
