//! Time: how long it took, later, and no longer than.

use std::time::Duration;

use garrick_sched::{Address, Nanos, Reply, SendError};

use super::service::{Answer, Request, Service, ask_for};
use super::stateless::stateless;
use crate::actor::{Actor, Next};
use crate::context::Context;

/// A service that asks `service`, and says with its answer how long that took by the world's clock. The seed's
/// `timing`, which it put around what it measured.
///
/// Stateless; each question makes an actor that waits for its answer. Costs that and two more messages, whose time
/// is measured too. There is no answer if the service gives none.
///
/// # Examples
/// ```
/// use garrick_actor::{Contramap, Local, behaviors};
///
/// let local = Local::new()?;
/// let constant = local.spawn(behaviors::constant("done"));
/// let service = local.spawn(constant.contramap(|((), reply)| reply));
/// let timed = local.spawn(behaviors::timer(service));
/// let asked = timed.ask(|reply| ((), reply));
/// local.run();
/// let (done, took) = asked.wait()?;
/// println!("{done} in {took:?}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn timer<Q, R>(service: Service<Q, R>) -> impl Actor<Msg = Request<Q, (R, Duration)>> + Send
where
    Q: Send + 'static,
    R: Send + 'static,
{
    stateless(move |(question, reply): Request<Q, (R, Duration)>, cx| {
        let stopwatch = cx.spawn(Stopwatch {
            began: cx.now(),
            reply: Some(reply),
        });
        ask_for(cx, &service, question, &stopwatch);
        Next::Continue
    })
}

struct Stopwatch<R: 'static> {
    began: Nanos,
    /// None once it has been used.
    reply: Option<Reply<(R, Duration)>>,
}

impl<R: Send + 'static> Actor for Stopwatch<R> {
    type Msg = Answer<R>;

    fn receive(&mut self, answer: Answer<R>, cx: &mut Context<'_, Answer<R>>) -> Next {
        if let Some(reply) = self.reply.take()
            && let Ok(answer) = answer
        {
            let took = Duration::from_nanos(cx.now().saturating_sub(self.began));
            reply.send((answer, took));
        }
        Next::Continue
    }
}

/// Passes every message on to `to` once `by` has passed. The seed's `send-after`, as a pipe.
///
/// Messages stay in order. Stateless: those under way are with the timers, and arrive even if this has ended.
/// Costs a timer. Stops when it finds that the target has stopped; that message is a dead letter.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use garrick_actor::{Local, Next, behaviors};
///
/// let local = Local::new()?;
/// let (done, is_done) = std::sync::mpsc::channel();
/// let target = local.spawn_behavior(move |_: &(), _| {
///     done.send(()).unwrap();
///     Next::Continue
/// });
/// let later = local.spawn(behaviors::delay(target, Duration::from_micros(50)));
/// later.send(())?;
/// local.run_until(|| is_done.try_recv().is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn delay<M: Send + 'static>(to: Address<M>, by: Duration) -> impl Actor<Msg = M> + Send {
    stateless(
        move |msg, cx: &Context<'_, M>| match cx.send_after(by, &to, msg) {
            Ok(()) => Next::Continue,
            Err(SendError(msg)) => {
                cx.dead_letter(msg);
                Next::Stop
            }
        },
    )
}

/// A service that asks `service`, and gives no answer if there is none once `after` has passed. The seed's
/// `timed-service`.
///
/// The service is not told that nobody waits for it any more. What it answers later vanishes.
///
/// Stateless; each question makes an actor that lasts until `after` has passed, even if the answer comes sooner,
/// and so do a timer and its message. Costs those and two more messages.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use garrick_actor::{Actor, Context, Local, Next, NoReply, Reply, behaviors::{self, Request}};
///
/// /// Keeps its replies and never answers.
/// struct Hoarder(Vec<Reply<u32>>);
///
/// impl Actor for Hoarder {
///     type Msg = Request<(), u32>;
///
///     fn receive(&mut self, ((), reply): Self::Msg, _: &mut Context<'_, Self::Msg>) -> Next {
///         self.0.push(reply);
///         Next::Continue
///     }
/// }
///
/// let system = garrick_actor::System::new()?;
/// let hoarder = system.spawn(Hoarder(Vec::new()))?;
/// let timed = system.spawn(behaviors::timeout(hoarder, Duration::from_millis(1)))?;
/// assert_eq!(timed.ask(|reply| ((), reply)).wait(), Err(NoReply::Dropped));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn timeout<Q, R>(
    service: Service<Q, R>,
    after: Duration,
) -> impl Actor<Msg = Request<Q, R>> + Send
where
    Q: Send + 'static,
    R: Send + 'static,
{
    stateless(move |(question, reply): Request<Q, R>, cx| {
        let patience = cx.spawn(Patience { reply: Some(reply) });
        let answered = Reply::to_task(patience.clone(), Patient::Answered);
        // A request that comes back is dropped, and its reply answers that nobody does.
        let _ = cx.send(&service, (question, answered));
        let _ = cx.send_after(after, &patience, Patient::Over);
        Next::Continue
    })
}

enum Patient<R> {
    Answered(Answer<R>),
    Over,
}

struct Patience<R: 'static> {
    /// None once it has been used.
    reply: Option<Reply<R>>,
}

impl<R: Send + 'static> Actor for Patience<R> {
    type Msg = Patient<R>;

    fn receive(&mut self, msg: Patient<R>, _: &mut Context<'_, Patient<R>>) -> Next {
        if let Some(reply) = self.reply.take()
            && let Patient::Answered(Ok(answer)) = msg
        {
            reply.send(answer);
        }
        Next::Continue
    }
}
