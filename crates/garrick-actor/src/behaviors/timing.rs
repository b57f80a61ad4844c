//! Behaviors that measure or limit how long an answer takes, and a behavior that delays messages.

use std::any::type_name;
use std::collections::VecDeque;
use std::time::Duration;

use garrick_sched::{Address, Nanos, Reply, SendError, Timer, count_left_letters, nanos};

use super::passage::passage;
use super::service::{Answer, Request, Service};
use crate::mailbox::Mailbox;
use crate::model::actor::Actor;
use crate::model::context::Context;
use crate::model::next::Next;
use crate::quiet::Several;
use crate::system::handle::Handle;

/// Creates a service that asks `service` and returns the answer together with the time that the
/// answer took.
///
/// The returned service is a [door](crate::behaviors#doors-and-actors). For each question, the
/// system `on` runs an additional actor, which waits for the answer. Each question also costs two
/// additional sends, which are not included in the measured time. If `service` does not answer, the
/// asker gets no answer.
///
/// # Examples
/// ```
/// use garrick_actor::{Local, behaviors};
///
/// let local = Local::new()?;
/// let service = behaviors::constant("done").contramap(|((), reply)| reply);
/// let timed = behaviors::timer(&local.handle(), service);
/// let asked = timed.ask(|reply| ((), reply));
/// local.run();
/// let (done, took) = asked.wait()?;
/// println!("{done} in {took:?}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn timer<Q, R>(on: &Handle, service: Service<Q, R>) -> Service<Q, (R, Duration)>
where
    Q: Send + 'static,
    R: Send + 'static,
{
    let on = on.clone();
    passage(move |(question, reply): Request<Q, (R, Duration)>| {
        let stopwatch = Stopwatch {
            service: service.clone(),
            began: 0,
            reply: Some(reply),
        };
        // If the system has ended, the reply is dropped with the actor.
        if let Ok(stopwatch) = on.spawn(stopwatch) {
            let _ = stopwatch.send(Watched::Begin(question));
        }
        Ok(())
    })
}

enum Watched<Q, R> {
    Begin(Q),
    Answered(Answer<R>),
}

struct Stopwatch<Q, R: 'static> {
    service: Service<Q, R>,
    began: Nanos,
    /// Reply to the asker. `None` once an answer has been sent or the reply has been dropped.
    reply: Option<Reply<(R, Duration)>>,
}

impl<Q: Send + 'static, R: Send + 'static> Actor for Stopwatch<Q, R> {
    type Msg = Watched<Q, R>;
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, msg: Watched<Q, R>, cx: &mut Context<'_, Self::Msg>) {
        match msg {
            Watched::Begin(question) => {
                self.began = cx.now();
                cx.ask(&self.service, |reply| (question, reply), Watched::Answered);
            }
            Watched::Answered(answer) => {
                if let Some(reply) = self.reply.take()
                    && let Ok(answer) = answer
                {
                    let took = Duration::from_nanos(cx.now().saturating_sub(self.began));
                    reply.send((answer, took));
                }
            }
        }
    }
}

/// Creates an actor that forwards every message to `to` after the delay `by`.
///
/// Messages stay in order, even if this actor moves to another worker or system. Delayed messages
/// wait in a second actor, which does not move. So they are delivered even if this actor stops
/// while they wait. Each message costs two additional sends. While messages are waiting, a timer is
/// running for the oldest one. If the target has stopped when this actor receives a message, this
/// actor stops too, and the message becomes a dead letter.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use garrick_actor::{Local, behavior, behaviors};
///
/// let local = Local::new()?;
/// let (done, is_done) = std::sync::mpsc::channel();
/// let target = local.spawn(behavior(move |(), _| {
///     done.send(()).unwrap();
/// }));
/// let later = local.spawn(behaviors::delay(target, Duration::from_micros(50)));
/// later.send(())?;
/// local.run_until(|| is_done.try_recv().is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn delay<M: Send + 'static>(to: Address<M>, by: Duration) -> impl Actor<Msg = M> + Send {
    Delay {
        to,
        by: nanos(by),
        line: None,
    }
}

struct Delay<M> {
    to: Address<M>,
    by: Nanos,
    /// Actor that holds the waiting messages. `None` before the first message.
    line: Option<Address<Waiting<M>>>,
}

impl<M: Send + 'static> Delay<M> {
    /// Spawns the actor that holds the waiting messages.
    fn open(&self, cx: &Context<'_, M>) -> Address<Waiting<M>> {
        let line = Line {
            to: self.to.clone(),
            by: self.by,
            waiting: Several::default(),
        };
        // Messages wait in the line, not in its mailbox, so a bound would have no use.
        cx.actor(line).mailbox(Mailbox::unbounded()).spawn()
    }
}

impl<M: Send + 'static> Actor for Delay<M> {
    type Msg = M;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, msg: M, cx: &mut Context<'_, M>) -> Next {
        if self.to.is_stopped() {
            cx.dead_letter(msg);
            return Next::Stop;
        }
        let line = self.line.take().unwrap_or_else(|| self.open(cx));
        if let Err(SendError(refused)) = cx.send(&line, Waiting::Arrived(msg)) {
            // The line has stopped or failed, or its system has ended while this actor has moved to
            // another one.
            let line = self.open(cx);
            let next = cx.relay(&line, refused);
            self.line = Some(line);
            return next;
        }
        self.line = Some(line);
        Next::Continue
    }
}

/// A message to the [`Line`] of a [`delay`].
enum Waiting<M> {
    Arrived(M),
    /// The oldest waiting message may be due. While messages are waiting, one `Due` is pending.
    Due,
}

/// The actor that holds the waiting messages of a [`delay`], oldest first, with the times at which
/// they are due.
///
/// One actor with one timer holds all of them, because messages in separate timers could overtake
/// each other: each worker has its own timers, and the actor of the [`delay`] may move to another
/// worker.
struct Line<M> {
    to: Address<M>,
    by: Nanos,
    waiting: Several<VecDeque<(Nanos, M)>>,
}

impl<M: Send + 'static> Line<M> {
    /// Forwards all messages that are due, and sets a timer for the next one.
    fn due(&mut self, cx: &Context<'_, Waiting<M>>) -> Next {
        let now = cx.now();
        while let Some((due, msg)) = self.waiting.pop_front() {
            if due > now {
                self.waiting.push_front((due, msg));
                wait(due - now, cx);
                break;
            }
            // Like the message of a timer, a message that was accepted goes beyond the bound of a
            // full mailbox.
            if let Err(SendError(msg)) = self.to.send_promised(msg)
                && let Err(SendError(msg)) = cx.skip(&self.to, msg)
            {
                cx.dead_letter(msg);
                return Next::Stop;
            }
        }
        Next::Continue
    }
}

/// Sets the timer of a [`Line`].
fn wait<M: Send + 'static>(pause: Nanos, cx: &Context<'_, Waiting<M>>) {
    // This actor has not stopped, so it accepts the message.
    let _ = cx.send_after(Duration::from_nanos(pause), &cx.address(), Waiting::Due);
}

impl<M: Send + 'static> Actor for Line<M> {
    type Msg = Waiting<M>;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, entry: Waiting<M>, cx: &mut Context<'_, Waiting<M>>) -> Next {
        match entry {
            Waiting::Arrived(msg) => {
                if self.waiting.is_empty() {
                    wait(self.by, cx);
                }
                let due = cx.now().saturating_add(self.by);
                self.waiting.push_back((due, msg));
                Next::Continue
            }
            Waiting::Due => self.due(cx),
        }
    }

    fn is_letter(entry: &Waiting<M>) -> bool {
        matches!(entry, Waiting::Arrived(_))
    }

    fn name() -> &'static str {
        type_name::<Delay<M>>()
    }
}

impl<M> Drop for Line<M> {
    fn drop(&mut self) {
        // The target has stopped, or the system ends.
        let count = self.waiting.len() as u64;
        count_left_letters(type_name::<M>, count);
    }
}

/// Creates a service that asks `service` and waits at most `after` for the answer.
///
/// If there is no answer within this time, the asker's reply is dropped. `service` is not notified
/// that the answer is no longer needed. An answer that arrives after this time is dropped.
///
/// The returned service is a [door](crate::behaviors#doors-and-actors). For each question, an actor
/// is created on the system `on`, and a timer is started. Each question also costs two additional
/// sends.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use garrick_actor::behaviors::{self, Request};
/// use garrick_actor::{Actor, Context, NoReply, Reply, System};
///
/// /// Keeps its replies and never answers.
/// struct Hoarder(Vec<Reply<u32>>);
///
/// impl Actor for Hoarder {
///     type Msg = Request<(), u32>;
///     type Outcome = ();
///
///     fn receive(&mut self, ((), reply): Self::Msg, _: &mut Context<'_, Self::Msg>) {
///         self.0.push(reply);
///     }
/// }
///
/// let system = System::new()?;
/// let hoarder = system.spawn(Hoarder(Vec::new()))?;
/// let timed = behaviors::timeout(&system.handle(), hoarder, Duration::from_millis(1));
/// assert_eq!(timed.ask(|reply| ((), reply)).wait(), Err(NoReply::Dropped));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn timeout<Q, R>(on: &Handle, service: Service<Q, R>, after: Duration) -> Service<Q, R>
where
    Q: Send + 'static,
    R: Send + 'static,
{
    let on = on.clone();
    passage(move |(question, reply): Request<Q, R>| {
        let patience = Patience {
            service: service.clone(),
            after,
            reply: Some(reply),
            timer: None,
        };
        // If the system has ended, the reply is dropped with the actor.
        if let Ok(patience) = on.spawn(patience) {
            let _ = patience.send(Patient::Begin(question));
        }
        Ok(())
    })
}

enum Patient<Q, R> {
    Begin(Q),
    Answered(Answer<R>),
    Over,
}

struct Patience<Q, R: 'static> {
    service: Service<Q, R>,
    after: Duration,
    /// Reply to the asker. `None` once an answer has been sent or the reply has been dropped.
    reply: Option<Reply<R>>,
    timer: Option<Timer>,
}

impl<Q: Send + 'static, R: Send + 'static> Actor for Patience<Q, R> {
    type Msg = Patient<Q, R>;
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, msg: Patient<Q, R>, cx: &mut Context<'_, Self::Msg>) {
        match msg {
            Patient::Begin(question) => {
                cx.ask(&self.service, |reply| (question, reply), Patient::Answered);
                // This actor has not stopped, so it accepts the message.
                let over = cx.start_timer(self.after, &cx.address(), Patient::Over);
                self.timer = over.ok();
            }
            Patient::Answered(answer) => {
                if let Some(timer) = self.timer.take() {
                    timer.cancel();
                }
                if let Some(reply) = self.reply.take()
                    && let Ok(answer) = answer
                {
                    reply.send(answer);
                }
            }
            Patient::Over => self.reply = None,
        }
    }
}
