//! The result of a future as a message.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;

use garrick_sched::{Address, Turn};

use super::context::AsyncContext;
use super::incoming::Incoming;
use super::piped::{self, Lead, PipeError};
use crate::beside::pipes::Pipes;
use crate::model::context::Context;

/// A future to be piped, and its way to the actor.
struct Job<Fut, M, F> {
    future: Fut,
    lead: Arc<Lead<M, F>>,
}

/// Waits for a place, then for the future.
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
    drop(piped::spawn(turn, Job { future, lead }, run, on_panic));
}

impl<M: 'static> Context<'_, M> {
    /// Runs `future` beside this actor. Its result arrives as the message that `into_message`
    /// creates from it. Meanwhile the actor handles other messages. A panic of the future becomes a
    /// [`PipeError`], and is reported like that of an actor.
    ///
    /// The future is polled in a separate cell on the actor's sponsor, by no other executor and on
    /// no other thread. It can be any future that needs no driver: asks, channels, locks. It starts
    /// when the turn ends well. A turn that is undone starts nothing.
    ///
    /// **Limit.** At most 64 futures of one actor are polled at once, or the limit set by
    /// [`Spawn::pipe_limit`](crate::spawn::Spawn::pipe_limit). The others wait for a place, usually
    /// the oldest first. The number of waiting futures has no bound: do not pipe faster than the
    /// futures end in the long run.
    ///
    /// **When the actor ends**, by stopping, by failing or because its supervisor replaces it, all
    /// its futures under way are dropped, and none of their results arrive. A result that is in the
    /// mailbox already stays there. Until the result has come the future keeps the actor alive.
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
    /// Runs `future` beside this actor, like [`Context::pipe`]. Its result arrives as a message. It
    /// starts when this poll ends well.
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
