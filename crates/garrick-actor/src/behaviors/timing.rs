//! Behaviors that measure or limit how long an answer takes, and a behavior that delays messages.

use std::time::Duration;

use garrick_sched::{Address, Nanos, Reply, SendError, Timer};

use super::passage::passage;
use super::service::{Answer, Request, Service};
use crate::model::actor::Actor;
use crate::model::context::Context;
use crate::model::next::Next;
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
/// Messages stay in order. Delayed messages are stored in the timers of the system, so they are
/// delivered even if this actor stops while they wait. Each message costs one additional send and a
/// timer. If the target has stopped when this actor receives a message, this actor stops too, and
/// the message becomes a dead letter.
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
    Delay { to, by }
}

struct Delay<M> {
    to: Address<M>,
    by: Duration,
}

impl<M: Send + 'static> Actor for Delay<M> {
    type Msg = M;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, msg: M, cx: &mut Context<'_, M>) -> Next {
        match cx.send_after(self.by, &self.to, msg) {
            Ok(()) => Next::Continue,
            Err(SendError(msg)) => {
                cx.dead_letter(msg);
                Next::Stop
            }
        }
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
