//! Asks whose answer comes in time, or not at all.
//!
//! A deadline, which is a small separate task, stands between the asker and the asked actor. The
//! question's [`Reply`] leads to it, and so does a message from its worker's timing wheel. The
//! first of the two becomes the answer. The later one is dropped. So exactly one answer arrives.
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
//! The deadline lives in a pooled block, as the question and the answer do. It ends when the answer
//! has arrived, or when the time is over and the [`Reply`] is gone.

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

/// A message to a deadline.
enum Heard<R> {
    /// The answer, or the notice that there will be none.
    Answer(Result<R, NoReply>),
    /// The time is over.
    TimeOver,
}

/// The deadline of an actor's question `N`. Passes on the first result.
struct Deadline<N, R, G> {
    /// Gives the answer to the waiting asker. `None` once the answer was given.
    give: Option<(G, Wait)>,
    /// Timer that sends `TimeOver`. `None` once a turn that did not panic has cancelled it.
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

/// A message to the deadline of a question from outside.
enum HeardOutside<R: 'static> {
    /// The asker to answer. Arrives before anything else.
    Asker(Reply<Result<R, NoReply>>),
    /// The answer, like [`Heard::Answer`].
    Answer(Result<R, NoReply>),
    /// The time is over, like [`Heard::TimeOver`].
    TimeOver,
}

/// The deadline of a question from outside. It cannot set a timer before its first turn.
struct DeadlineOutside<R: 'static> {
    timeout: Duration,
    asked: TaskId,
    /// `None` before the question, and once it was answered.
    asker: Option<Reply<Result<R, NoReply>>>,
    timer: Option<Timer>,
}

impl<R: Send + 'static> Task for DeadlineOutside<R> {
    type Message = HeardOutside<R>;

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

/// Returns the reason why there was no answer in time.
fn no_reply(circle: Option<Circle>) -> NoReply {
    circle.map_or(NoReply::TimedOut, NoReply::Circle)
}

impl<M: 'static> Context<'_, M> {
    /// Asks another actor, like [`Context::ask`], and waits at most `timeout` for the answer.
    /// Exactly one message arrives: the answer, or [`NoReply::TimedOut`], or [`NoReply::Dropped`]
    /// in the cases of [`Context::ask`]. An answer that comes after the timeout is dropped.
    ///
    /// Actors that ask each other in a circle, and each hold their answer back for the other's,
    /// wait forever with [`Context::ask`]. With timeouts, the circle ends at the actor with the
    /// earliest deadline. This actor gets [`NoReply::Circle`], which names all actors in the circle
    /// that asked with a timeout. The others then get their answers in turn.
    ///
    /// The conversion runs on this actor's side, so it may capture values.
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
            // The send fails if the asker has stopped. It does not need the answer then.
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
        // A refused question is dropped, and its reply then answers `NoReply::Dropped`.
        let _ = turn.send(to, msg(Reply::to_task(deadline, Heard::Answer)));
    }
}

impl Handle {
    /// Asks an actor, and waits at most `timeout` for the answer. A worker of this system keeps the
    /// time, so the answer can be awaited in any executor. A plain thread can also wait for it.
    ///
    /// The answer is [`NoReply::TimedOut`] once the time is over, or [`NoReply::Circle`] if the
    /// asked actors wait for each other. It is [`NoReply::Dropped`] if the actor has stopped, if it
    /// fails before it answers, or if the system ends.
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
        // The deadline receives the asker first, because the question is sent only afterwards.
        let ask = deadline.ask(HeardOutside::Asker);
        // A refused question is dropped, and its reply then answers `NoReply::Dropped`.
        let _ = to.send(msg(Reply::to_task(deadline, HeardOutside::Answer)));
        AskWithin { ask: Some(ask) }
    }
}

/// A question with a timeout under way, created by [`Handle::ask_within`]. Await its answer, or
/// wait for it on a plain thread.
///
/// It can be dropped at any time.
///
/// # Cancel safety
/// An ask that is polled again later loses nothing. An ask that is dropped loses only its answer.
#[must_use = "an ask that nobody waits for is a plain send"]
pub struct AskWithin<R: 'static> {
    /// The deadline's answer. `None` if the system had ended, so that there will be no answer.
    ask: Option<Ask<Result<R, NoReply>>>,
}

impl<R: 'static> AskWithin<R> {
    /// Waits for the answer. Parks the thread.
    ///
    /// # Errors
    /// - [`NoReply::TimedOut`] or [`NoReply::Circle`] if the answer did not arrive in time.
    /// - [`NoReply::Dropped`] if there is no answer.
    /// - [`NoReply::OnWorker`] at once if called by an actor, whose worker might have to run the
    ///   answer.
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
