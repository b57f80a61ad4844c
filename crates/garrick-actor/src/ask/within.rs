//! Asks whose answer comes in time, or not at all.
//!
//! Between the asker and whoever is asked stands a deadline, a small task of its own: the question's
//! [`Reply`] leads to it, and so does a message out of its worker's timing wheel. What comes first is the
//! answer; whatever comes later is dropped. So exactly one answer comes.
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
//! The deadline lies in a pooled block, as the question and the answer do. It goes when the answer has come, or when the time is over and
//! the [`Reply`] is gone.

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

/// What a deadline hears.
enum Heard<R> {
    /// The answer, or that there will be none.
    Answer(Result<R, NoReply>),
    /// The time is over.
    TimeOver,
}

/// The deadline of an actor's question `N`: passes on what comes first.
struct Deadline<N, R, G> {
    /// Gives the answer to the asker, who waits for it; none once it was given.
    give: Option<(G, Wait)>,
    /// Sends it that the time is over; none once it was cancelled by a turn that has not panicked.
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
        // It lives until the reply is gone, which may still come to an answer.
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

/// What the deadline of a question from outside hears.
enum HeardOutside<R: 'static> {
    /// Whom to answer, before anything else.
    Asker(Reply<Result<R, NoReply>>),
    /// As in [`Heard`].
    Answer(Result<R, NoReply>),
    /// As in [`Heard`].
    TimeOver,
}

/// The deadline of a question from outside, which cannot set a timer before its first turn.
struct DeadlineOutside<R: 'static> {
    timeout: Duration,
    asked: TaskId,
    /// None before the question and once it was answered.
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
            // It does not stop, so it takes the message.
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

/// Why there was no answer in time.
fn no_reply(circle: Option<Circle>) -> NoReply {
    circle.map_or(NoReply::TimedOut, NoReply::Circle)
}

impl<M: 'static> Context<'_, M> {
    /// Asks another actor as [`Context::ask`] does, and waits no longer than `timeout` for the answer.
    /// Exactly one message comes: the answer, or [`NoReply::TimedOut`], and then a late answer is dropped; or
    /// [`NoReply::Dropped`] as for [`Context::ask`].
    ///
    /// Actors that ask each other in a circle, each of them holding its own answer back for the other's, wait
    /// for ever with [`Context::ask`]. With a timeout the circle ends at whichever of them was to wait
    /// shortest, and unravels from there: that one gets [`NoReply::Circle`], which names all of them, as far as they
    /// asked with a timeout.
    ///
    /// The conversion is done by this actor's side, so it may capture something.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use garrick_actor::{Actor, Address, Context, Local, NoReply, Reply};
    ///
    /// /// Keeps every question to itself.
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
            // An asker that has stopped does not miss the answer.
            let _ = asker.send(convert(answer));
        };
        let turn = self.turn();
        let timer = turn.timer();
        let deadline = turn.spawn(Deadline::<N, _, _> {
            give: Some((give, wait)),
            timer: Some(timer.clone()),
            types: PhantomData,
        });
        // It does not stop, so it takes the message.
        let time_over = turn.now().saturating_add(nanos(timeout));
        let _ = turn.set_timer(&timer, time_over, &deadline, Heard::TimeOver);
        // A question that comes back is dropped, and its reply answers that nobody does.
        let _ = turn.send(to, msg(Reply::to_task(deadline, Heard::Answer)));
    }
}

impl Handle {
    /// Asks an actor, and waits no longer than `timeout` for the answer. The time is kept by one of this
    /// system's workers, so the answer can be awaited in any executor; it can be waited for by a plain thread
    /// as well.
    ///
    /// The answer is [`NoReply::TimedOut`] once the time is over, or [`NoReply::Circle`] if those asked wait for one
    /// another, and [`NoReply::Dropped`] if the actor has
    /// stopped, fails before it answers, or if the system ends.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use garrick_actor::{NoReply, Reply, System};
    ///
    /// let system = System::new()?;
    /// let double = system.spawn_behavior(|(n, reply): (u32, Reply<u32>), _| {
    ///     reply.send(2 * n);
    /// })?;
    /// let answer = system.handle().ask_within(Duration::from_secs(60), &double, |reply| (21, reply));
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
        // The deadline hears of the asker first, because the question is put only afterwards.
        let ask = deadline.ask(HeardOutside::Asker);
        // A question that comes back is dropped, and its reply answers that nobody does.
        let _ = to.send(msg(Reply::to_task(deadline, HeardOutside::Answer)));
        AskWithin { ask: Some(ask) }
    }
}

/// A question with a timeout under way, made by [`Handle::ask_within`]: await its answer, or wait for it on a
/// plain thread.
///
/// Dropping it is fine at any time.
///
/// # Cancel safety
/// One that is polled again later loses nothing. One that is dropped loses its answer only.
#[must_use = "an ask that nobody waits for is a plain send"]
pub struct AskWithin<R: 'static> {
    /// What the deadline answers; none if the system had ended, so that nobody does.
    ask: Option<Ask<Result<R, NoReply>>>,
}

impl<R: 'static> AskWithin<R> {
    /// Waits for the answer, parked.
    ///
    /// # Errors
    /// - [`NoReply::TimedOut`] or [`NoReply::Circle`] if it did not come in time;
    /// - [`NoReply::Dropped`] if there is none;
    /// - [`NoReply::OnWorker`] at once if called by an actor, whose worker might be the one to answer.
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
