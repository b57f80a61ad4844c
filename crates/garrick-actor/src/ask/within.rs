//! Asks with a time limit.
//!
//! Each ask has a deadline, a small separate task between the asker and the asked actor. The
//! [`Reply`] in the question leads to the deadline. The timing wheel of the worker also sends a
//! message to the deadline when the time limit has passed. The deadline passes the first of these
//! two messages to the asker and drops the second one. So the asker receives exactly one answer.
//!
//! ```text
//!            question, with a Reply that leads to the deadline
//!   asker ------------------------------------------------------> asked
//!     ^                                                             |
//!     |  answer, once                 answer: perhaps late or never |
//!     +------------------- deadline <-------------------------------+
//!                              ^
//!                              |  time is over, from the timing wheel
//! ```
//!
//! The deadline is allocated in a pooled block of memory, like the question and the answer. The
//! deadline is dropped when the answer has arrived, or when the time limit has passed and the
//! [`Reply`] has been dropped.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{self, Poll};
use std::time::Duration;

use garrick_sched::{Address, Ask, Circle, Flow, NoReply, Reply, Task, TaskId, Timer, Turn, nanos};

use crate::ask::waits::{self, Wait};
use crate::model::context::Context;
use crate::system::handle::Handle;

/// A message to the task that implements a question's time limit (a [`Deadline`]).
enum Heard<R> {
    /// The answer, or an error if there is no answer.
    Answer(Result<R, NoReply>),
    /// The time limit has passed.
    TimeOver,
}

/// The task that implements the time limit of a question from an actor. `N` is the type of the
/// question.
struct Deadline<N, R, G> {
    /// The closure that sends the answer to the asker, and the [`Wait`] that keeps the question in
    /// the wait-for graph. `None` once the answer has been sent.
    give: Option<(G, Wait)>,
    /// Timer that sends `TimeOver`. Set to `None` after a turn has cancelled the timer, if this
    /// turn does not panic.
    timer: Option<Timer>,
    types: PhantomData<fn(N, R)>,
}

impl<N, R, G> Task for Deadline<N, R, G>
where
    N: 'static,
    R: 'static,
    G: FnOnce(Result<R, NoReply>) + 'static,
{
    type Message = Heard<R>;
    const INTERNAL: bool = true;

    fn receive(&mut self, heard: Heard<R>, _: &Turn<'_, Heard<R>>) -> Flow {
        if let Some((give, wait)) = self.give.take() {
            let answer = match heard {
                Heard::Answer(answer) => answer,
                Heard::TimeOver => {
                    let none = no_reply(wait.circle());
                    #[cfg(feature = "tracing")]
                    crate::span::timed_out::<N, R, G>(none);
                    Err(none)
                }
            };
            drop(wait);
            if let Some(timer) = &self.timer {
                timer.cancel();
            }
            give(answer);
            self.timer = None;
        }
        // The deadline lives until the reply is gone, because the reply may still be answered.
        Flow::Continue
    }
}

impl<N, R, G> Drop for Deadline<N, R, G> {
    fn drop(&mut self) {
        if let Some(timer) = &self.timer {
            timer.cancel();
        }
    }
}

/// A message to the task that implements the time limit of a question from outside of the actors (a
/// [`DeadlineOutside`]).
enum HeardOutside<R: 'static> {
    /// The reply that leads to the asker. This message arrives first.
    Asker(Reply<Result<R, NoReply>>),
    /// The answer, or an error if there is no answer.
    Answer(Result<R, NoReply>),
    /// The time limit has passed.
    TimeOver,
}

/// The task that implements the time limit of a question from outside of the actors. It sets its
/// timer in its first turn, because a timer cannot be set earlier.
struct DeadlineOutside<R: 'static> {
    timeout: Duration,
    asked: TaskId,
    /// Reply that leads to the asker. `None` before the first message, and after the answer has
    /// been sent.
    asker: Option<Reply<Result<R, NoReply>>>,
    timer: Option<Timer>,
}

impl<R: Send + 'static> Task for DeadlineOutside<R> {
    type Message = HeardOutside<R>;
    const INTERNAL: bool = true;

    fn receive(&mut self, heard: HeardOutside<R>, turn: &Turn<'_, HeardOutside<R>>) -> Flow {
        if let HeardOutside::Asker(asker) = heard {
            self.asker = Some(asker);
            let timer = self.timer.insert(turn.timer());
            let deadline = turn.now().saturating_add(nanos(self.timeout));
            // The deadline does not stop, so it accepts the message.
            let _ = turn.set_timer(timer, deadline, &turn.address(), HeardOutside::TimeOver);
        } else if let Some(asker) = self.asker.take() {
            if let Some(timer) = self.timer.take() {
                timer.cancel();
            }
            asker.send(match heard {
                HeardOutside::Answer(answer) => answer,
                _ => Err(no_reply(waits::circle_from(self.asked))),
            });
        }
        Flow::Continue
    }
}

/// Returns the error for a question that was not answered in time. `circle` contains the circle of
/// waiting actors, if there was one.
fn no_reply(circle: Option<Circle>) -> NoReply {
    circle.map_or(NoReply::TimedOut, NoReply::Circle)
}

impl<M: 'static> Context<'_, M> {
    /// Asks another actor, like [`Context::ask`], with a time limit.
    ///
    /// This actor receives exactly one message, within `timeout`. `convert` creates the message
    /// from the answer, from [`NoReply::TimedOut`], or from [`NoReply::Dropped`] in the cases
    /// listed for [`Context::ask`]. An answer that arrives after the timeout is dropped.
    ///
    /// Actors can wait for each other in a circle: each of them answers only after it has received
    /// the answer of the next one. With [`Context::ask`], they wait forever. With timeouts, the
    /// actor with the earliest deadline receives [`NoReply::Circle`], which lists the actors in the
    /// circle. If that actor then answers the question that it was asked, the other actors receive
    /// their answers one after another. A circle is detected only if all of its actors asked with a
    /// timeout.
    ///
    /// `convert` may capture any values, because a helper task calls it.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use garrick_actor::{Actor, Address, Context, Local, NoReply, Reply};
    ///
    /// /// Keeps every question and never answers.
    /// struct Mute(Vec<Reply<u32>>);
    ///
    /// impl Actor for Mute {
    ///     type Msg = Reply<u32>;
    ///     type Outcome = ();
    ///
    ///     fn receive(&mut self, reply: Reply<u32>, _: &mut Context<'_, Self::Msg>) {
    ///         self.0.push(reply);
    ///     }
    /// }
    ///
    /// struct Asker(Address<Reply<u32>>);
    ///
    /// enum Msg {
    ///     Begin,
    ///     Answer(u8, Result<u32, NoReply>),
    /// }
    ///
    /// impl Actor for Asker {
    ///     type Msg = Msg;
    ///     type Outcome = ();
    ///
    ///     fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) {
    ///         match msg {
    ///             Msg::Begin => {
    ///                 let number = 7;
    ///                 cx.ask_within(Duration::ZERO, &self.0, |reply| reply, move |answer| {
    ///                     Msg::Answer(number, answer)
    ///                 });
    ///             }
    ///             Msg::Answer(number, answer) => {
    ///                 assert_eq!((number, answer), (7, Err(NoReply::TimedOut)));
    ///             }
    ///         }
    ///     }
    /// }
    ///
    /// let local = Local::new()?;
    /// let mute = local.spawn(Mute(Vec::new()));
    /// local.spawn(Asker(mute)).send(Msg::Begin).unwrap();
    /// local.run();
    /// assert_eq!(local.handle().failures(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ask_within<N, R, F>(
        &self,
        timeout: Duration,
        to: &Address<N>,
        msg: impl FnOnce(Reply<R>) -> N,
        convert: F,
    ) where
        M: Send,
        N: 'static,
        R: Send + 'static,
        F: FnOnce(Result<R, NoReply>) -> M + Send + 'static,
    {
        let asker = self.address();
        let wait = Wait::enter(&asker, to);
        let give = move |answer| {
            // The send fails if the asker has stopped. In this case, it does not need the answer.
            let _ = asker.send_promised(convert(answer));
        };
        let turn = self.turn();
        let timer = turn.timer();
        let deadline = turn.spawn(Deadline::<N, _, _> {
            give: Some((give, wait)),
            timer: Some(timer.clone()),
            types: PhantomData,
        });
        // The deadline does not stop, so it accepts the message.
        let time_over = turn.now().saturating_add(nanos(timeout));
        let _ = turn.set_timer(&timer, time_over, &deadline, Heard::TimeOver);
        // A question that cannot be sent is dropped, and its reply then answers `NoReply::Dropped`.
        let _ = turn.send(to, msg(Reply::to_task(deadline, Heard::Answer)));
    }
}

impl Handle {
    /// Asks an actor with a time limit.
    ///
    /// The returned future can be awaited in any async runtime, because a worker of this system
    /// provides the timer. On a thread that runs no actors, you can call [`AskWithin::wait`]
    /// instead.
    ///
    /// If no answer arrives within `timeout`, the result is [`NoReply::TimedOut`]. The result is
    /// [`NoReply::Circle`] if the actor cannot answer because actors are waiting for each other.
    /// The result is [`NoReply::Dropped`] if the actor has stopped, if it fails before it answers,
    /// or if the system shuts down.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use garrick_actor::{Reply, System, behavior};
    ///
    /// let system = System::new()?;
    /// let double = system.spawn(behavior(|(n, reply): (u32, Reply<u32>), _| {
    ///     reply.send(2 * n);
    /// }))?;
    /// let answer = system
    ///     .handle()
    ///     .ask_within(Duration::from_secs(60), &double, |reply| (21, reply));
    /// assert_eq!(answer.wait(), Ok(42));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ask_within<N, R>(
        &self,
        timeout: Duration,
        to: &Address<N>,
        msg: impl FnOnce(Reply<R>) -> N,
    ) -> AskWithin<R>
    where
        N: 'static,
        R: Send + 'static,
    {
        let deadline = self.spawn_task(DeadlineOutside {
            timeout,
            asked: to.id(),
            asker: None,
            timer: None,
        });
        let Ok(deadline) = deadline else {
            return AskWithin { ask: None };
        };
        // The deadline receives the asker first, because the question is sent only after this
        // message.
        let ask = deadline.ask(HeardOutside::Asker);
        // A question that cannot be sent is dropped, and its reply then answers `NoReply::Dropped`.
        let _ = to.send(msg(Reply::to_task(deadline, HeardOutside::Answer)));
        AskWithin { ask: Some(ask) }
    }
}

/// A pending question with a time limit, which [`Handle::ask_within`] returns. Await it, or call
/// [`AskWithin::wait`] on a thread that runs no actors.
///
/// # Cancel safety
/// This future is cancel safe. The answer is not lost if the future is not polled for some time.
/// The future can be dropped at any time, and its answer is then discarded.
#[must_use = "the answer is lost unless you await the ask or call `wait`"]
pub struct AskWithin<R: 'static> {
    /// Pending answer. The sender of this answer is the task that implements the time limit of the
    /// question. `None` if no answer can arrive because the system has shut down.
    ask: Option<Ask<Result<R, NoReply>>>,
}

impl<R: 'static> AskWithin<R> {
    /// Blocks the thread until the answer arrives.
    ///
    /// # Errors
    /// - [`NoReply::TimedOut`] or [`NoReply::Circle`] if the answer did not arrive in time.
    /// - [`NoReply::Dropped`] if the question was dropped without an answer.
    /// - [`NoReply::OnWorker`], without waiting, if an actor calls this method. The actor that
    ///   should answer might run on the same worker, which would be blocked.
    pub fn wait(self) -> Result<R, NoReply> {
        match self.ask {
            Some(ask) => ask.wait().flatten(),
            None => Err(NoReply::Dropped),
        }
    }
}

impl<R: 'static> Future for AskWithin<R> {
    type Output = Result<R, NoReply>;

    fn poll(mut self: Pin<&mut Self>, context: &mut task::Context<'_>) -> Poll<Self::Output> {
        match &mut self.ask {
            Some(ask) => Pin::new(ask).poll(context).map(Result::flatten),
            None => Poll::Ready(Err(NoReply::Dropped)),
        }
    }
}

impl<R: 'static> fmt::Debug for AskWithin<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AskWithin").field(&self.ask).finish()
    }
}
