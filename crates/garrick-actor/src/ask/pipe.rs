//! What comes later, as a message to oneself: an answer, or whatever a callback is told.
//!
//! A [`Reply`] that leads to an actor is a callback: giving it an answer sends a message, and dropping it sends one
//! that says so. An [`Ask`] that is under way already is waited for by a small task, which its waker wakes with a
//! message.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll, Wake, Waker};

use garrick_sched::{Address, Ask, Flow, NoReply, Reply, SendError, Task, Turn};

use crate::ask::within::AskWithin;
use crate::model::context::Context;

/// An answer that is under way, to a question that was asked by [`Address::ask`] or
/// [`Handle::ask_within`](crate::Handle::ask_within).
pub trait Pending<R>: sealed::Pending<R> {}

impl<R, A: sealed::Pending<R>> Pending<R> for A {}

mod sealed {
    use super::{Ask, AskWithin, Future, NoReply};

    /// No other future is accepted: a task that waits for one is no executor.
    pub trait Pending<R>: Future<Output = Result<R, NoReply>> + Unpin + Send + 'static {}

    impl<R: Send + 'static> Pending<R> for Ask<R> {}
    impl<R: Send + 'static> Pending<R> for AskWithin<R> {}
}

/// Waits for an answer, and gives it to an actor.
struct Pipe<R, A, G> {
    ask: A,
    /// Taken when the answer is there. The pipe need not stop then: nobody can reach it any more.
    give: Option<G>,
    answer: PhantomData<fn(R)>,
}

/// Wakes a pipe. Sent in a turn that is undone, it is dropped like all that the turn has sent; but the answer is there,
/// so it sends itself once more.
struct Knock(Option<Address<Self>>);

impl Knock {
    fn at(pipe: &Address<Self>) {
        if let Err(SendError(mut knock)) = pipe.send(Self(Some(pipe.clone()))) {
            // A pipe whose system has ended waits for nothing.
            knock.0 = None;
        }
    }
}

impl Drop for Knock {
    fn drop(&mut self) {
        if let Some(pipe) = self.0.take() {
            Self::at(&pipe);
        }
    }
}

/// The pipe, as what wakes it.
struct Tap(Address<Knock>);

impl Wake for Tap {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        Knock::at(&self.0);
    }
}

impl<R, A, G> Pipe<R, A, G>
where
    R: 'static,
    A: Pending<R>,
    G: FnOnce(Result<R, NoReply>) + 'static,
{
    fn look(&mut self, turn: &Turn<'_, Knock>) -> Flow {
        if let Some(give) = self.give.take() {
            // Until the answer is there, the waker keeps this task alive.
            let waker = Waker::from(Arc::new(Tap(turn.address())));
            let mut context = task::Context::from_waker(&waker);
            match Pin::new(&mut self.ask).poll(&mut context) {
                Poll::Ready(answer) => give(answer),
                Poll::Pending => self.give = Some(give),
            }
        }
        Flow::Continue
    }
}

impl<R, A, G> Task for Pipe<R, A, G>
where
    R: 'static,
    A: Pending<R>,
    G: FnOnce(Result<R, NoReply>) + 'static,
{
    type Message = Knock;
    const STARTS: bool = true;

    fn start(&mut self, turn: &Turn<'_, Knock>) -> Flow {
        self.look(turn)
    }

    fn receive(&mut self, mut knock: Knock, turn: &Turn<'_, Knock>) -> Flow {
        knock.0 = None;
        self.look(turn)
    }
}

impl<M: 'static> Context<'_, M> {
    /// A [`Reply`] that leads to this actor: whoever gives it an answer, from wherever, sends this actor what
    /// `convert` makes of it; whoever drops it without one sends what `convert` makes of [`NoReply::Dropped`].
    /// So anything that takes a callback can answer an actor.
    ///
    /// The conversion is done by whoever answers, and must not capture anything, which the compiler checks.
    ///
    /// # Examples
    /// ```
    /// use std::thread;
    /// use garrick_actor::{Actor, Context, NoReply, Reply, System};
    ///
    /// struct Reader(Option<Reply<usize>>);
    ///
    /// enum Msg {
    ///     CountBytes(Reply<usize>),
    ///     Counted(Result<usize, NoReply>),
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
    ///                 let counted = cx.reply(Msg::Counted);
    ///                 thread::spawn(move || counted.send(std::fs::read("Cargo.toml").map_or(0, |b| b.len())));
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
    /// let system = System::new()?;
    /// let reader = system.spawn(Reader(None))?;
    /// assert!(reader.ask(Msg::CountBytes).wait()? > 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reply<R, F>(&self, convert: F) -> Reply<R>
    where
        M: Send,
        R: 'static,
        F: FnOnce(Result<R, NoReply>) -> M + Copy + Send + 'static,
    {
        Reply::to_task(self.address(), convert)
    }

    /// Lets the answer of an ask that is under way come to this actor, as what `convert` makes of it. If the turn is
    /// undone, so is the ask, and nothing comes.
    ///
    /// An actor that asks by itself does better with [`Context::ask`] or [`Context::ask_within`]; this is for asks that
    /// somebody else has made, as the typed handles of `#[garrick::actor]` do. It is cheaper than
    /// [`Context::pipe`], which takes any future, and counts for no limit.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::{Actor, Ask, Context, Local, NoReply, Reply};
    ///
    /// struct Sum(u32);
    ///
    /// enum Msg {
    ///     Add(Ask<u32>),
    ///     Answer(u32, Result<u32, NoReply>),
    /// }
    ///
    /// impl Actor for Sum {
    ///     type Msg = Msg;
    ///     type Outcome = ();
    ///
    ///     fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) {
    ///         match msg {
    ///             Msg::Add(ask) => cx.pipe_answer(ask, |answer| Msg::Answer(2, answer)),
    ///             Msg::Answer(factor, answer) => {
    ///                 self.0 += factor * answer.unwrap_or(0);
    ///                 assert_eq!(self.0, 42);
    ///             }
    ///         }
    ///     }
    /// }
    ///
    /// let local = Local::new()?;
    /// let answers = local.spawn_behavior(|reply: Reply<u32>, _| {
    ///     reply.send(21);
    /// });
    /// local.spawn(Sum(0)).send(Msg::Add(answers.ask(|reply| reply))).unwrap();
    /// local.run();
    /// assert_eq!(local.handle().failures(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pipe_answer<R, F>(&self, ask: impl Pending<R>, convert: F)
    where
        M: Send,
        R: 'static,
        F: FnOnce(Result<R, NoReply>) -> M + Send + 'static,
    {
        let to = self.address();
        let give = move |answer| {
            // An actor that has stopped does not miss the answer.
            let _ = to.send(convert(answer));
        };
        self.turn().spawn(Pipe {
            ask,
            give: Some(give),
            answer: PhantomData,
        });
    }
}
