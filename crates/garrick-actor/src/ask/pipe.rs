//! Answers and callbacks that send a message to an actor.
//!
//! A [`Reply`] that leads to an actor is a callback. Answering the reply sends a message to the
//! actor. Dropping the reply sends a message with [`NoReply::Dropped`]. A pending [`Ask`] is polled
//! by a small task. When the ask completes, it calls the waker of this task. The waker sends a
//! message to the task, so that the task polls the ask again.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll, Wake, Waker};

use garrick_sched::{Address, Ask, Flow, NoReply, Reply, SendError, Task, Turn};

use crate::ask::within::AskWithin;
use crate::model::context::Context;

/// Implemented by the pending asks that [`Address::ask`] and
/// [`Handle::ask_within`](crate::Handle::ask_within) return. [`Context::pipe_answer`] accepts these
/// types. No other type can implement this trait.
pub trait Pending<R>: sealed::Pending<R> {}

impl<R, A: sealed::Pending<R>> Pending<R> for A {}

mod sealed {
    use super::{Ask, AskWithin, Future, NoReply};

    /// Implemented only by `Ask` and `AskWithin`, so that `Context::pipe_answer` accepts no other
    /// futures. The task that polls the ask does not support arbitrary futures.
    pub trait Pending<R>: Future<Output = Result<R, NoReply>> + Unpin + Send + 'static {}

    impl<R: Send + 'static> Pending<R> for Ask<R> {}
    impl<R: Send + 'static> Pending<R> for AskWithin<R> {}
}

/// A task that waits for an answer and sends it to an actor.
struct Pipe<R, A, G> {
    ask: A,
    /// Closure that sends the answer to the actor. `None` once the answer has arrived. When this
    /// field is `None`, no address leads to the task any more, so the task need not stop itself.
    give: Option<G>,
    answer: PhantomData<fn(R)>,
}

/// A message that tells a [`Pipe`] to poll its ask again. If the turn that sends the message is
/// undone, the message is dropped, although the answer has arrived. Therefore the destructor sends
/// the message again.
struct Knock(Option<Address<Self>>);

impl Knock {
    fn at(pipe: &Address<Self>) {
        if let Err(SendError(mut knock)) = pipe.send(Self(Some(pipe.clone()))) {
            // The system of the pipe has ended, so nothing is waiting for the knock.
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

/// The waker of the task that polls an ask. It sends a [`Knock`] to this task.
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
            // The waker keeps this task alive until the answer arrives.
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
    const INTERNAL: bool = true;
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
    /// Returns a [`Reply`] whose answer is sent to this actor as a message. Use this reply to
    /// receive the result of an API that takes a callback.
    ///
    /// When the reply is answered, this actor receives the message that `convert` creates from the
    /// answer. If the reply is dropped without an answer, `convert` gets [`NoReply::Dropped`].
    ///
    /// The code that answers or drops the reply also runs `convert`. A `convert` that captures
    /// values is a compile-time error.
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
    ///                 thread::spawn(move || {
    ///                     counted.send(std::fs::read("Cargo.toml").map_or(0, |b| b.len()))
    ///                 });
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

    /// Sends this actor a message when the pending ask `ask` completes. `convert` creates the
    /// message from the answer, or from the error if there is no answer.
    ///
    /// This method does not block. If the turn is undone, the ask is dropped and no message
    /// arrives.
    ///
    /// Use this method for asks that are created by other code, such as the typed handles of
    /// `#[garrick::actor]`. An actor that creates the ask itself should use [`Context::ask`] or
    /// [`Context::ask_within`]. This method is cheaper than [`Context::pipe`], which accepts any
    /// future. The ask does not count towards the limit on piped futures.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::{Actor, Ask, Context, Local, NoReply, Reply, behavior};
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
    /// let answers = local.spawn(behavior(|reply: Reply<u32>, _| {
    ///     reply.send(21);
    /// }));
    /// local
    ///     .spawn(Sum(0))
    ///     .send(Msg::Add(answers.ask(|reply| reply)))
    ///     .unwrap();
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
            // The send fails if the actor has stopped. In this case, it does not need the answer.
            let _ = to.send_promised(convert(answer));
        };
        self.turn().spawn(Pipe {
            ask,
            give: Some(give),
            answer: PhantomData,
        });
    }
}
