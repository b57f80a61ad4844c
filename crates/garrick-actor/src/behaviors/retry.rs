//! A service that asks another service again until it gets a good answer or no tries are left.

use std::fmt;
use std::time::Duration;

use garrick_sched::{Nanos, Reply, nanos};

use super::random::{Random, STEP};
use super::service::{Answer, Request, Service};
use crate::model::actor::Actor;
use crate::model::context::Context;

/// Creates a service that asks `service`. If there is no answer, or an answer that [`Retry::when`]
/// defines as bad, the new service asks again after a pause.
///
/// The pause is random, with an upper limit that doubles with each try up to a maximum. This method
/// is called "full jitter" (Brooker, "Exponential Backoff and Jitter", AWS Architecture Blog,
/// 2015). Full jitter prevents askers that failed at the same time from retrying at the same time.
///
/// For each question, an actor is created that exists until the question is answered or no tries
/// are left. Each try costs a clone of the question and three additional sends. Each try after the
/// first one also costs a timer. The tries of one question never overlap. So if the service neither
/// answers nor drops the reply, the question is never tried again. To prevent this, wrap the
/// service in a [`timeout`](super::timeout()) first.
///
/// If the last try yields a bad answer, the asker receives this answer. If the last try yields no
/// answer, the asker receives none. A service that has stopped is not asked again.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use garrick_actor::{Actor, Context, System, behaviors::{self, Request}};
///
/// /// Works every third time.
/// struct Moody(u32);
///
/// impl Actor for Moody {
///     type Msg = Request<(), u32>;
///     type Outcome = ();
///
///     fn receive(&mut self, ((), reply): Self::Msg, _: &mut Context<'_, Self::Msg>) {
///         self.0 += 1;
///         if self.0 % 3 == 0 {
///             reply.send(self.0);
///         }
///     }
/// }
///
/// let system = System::new()?;
/// let moody = system.spawn(Moody(0))?;
/// let steady = behaviors::retry(moody)
///     .tries(3)
///     .backoff(Duration::from_micros(10), Duration::from_millis(1));
/// let steady = system.spawn(steady)?;
/// assert_eq!(steady.ask(|reply| ((), reply)).wait(), Ok(3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn retry<Q, R>(service: Service<Q, R>) -> Retry<Q, R>
where
    Q: Clone + Send + 'static,
    R: Send + 'static,
{
    Retry {
        service,
        policy: Policy {
            tries: 3,
            ceiling: nanos(Duration::from_millis(10)),
            ceiling_max: nanos(Duration::from_secs(1)),
            is_bad: |_| false,
        },
        asked: 0,
    }
}

/// A service with retries, created by [`retry`]. To change its settings, call its methods before
/// you spawn it.
pub struct Retry<Q, R: 'static> {
    service: Service<Q, R>,
    policy: Policy<R>,
    /// Number of questions so far. Used to give each question a different sequence of random
    /// numbers.
    asked: u64,
}

struct Policy<R> {
    tries: u32,
    /// Upper limit of the pause before the second try.
    ceiling: Nanos,
    ceiling_max: Nanos,
    is_bad: fn(&R) -> bool,
}

impl<Q, R> Retry<Q, R> {
    /// Sets the maximum number of tries for each question, including the first one. The default is
    /// 3 tries.
    ///
    /// # Panics
    /// Panics if `tries` is 0.
    #[track_caller]
    #[must_use]
    pub fn tries(mut self, tries: u32) -> Self {
        assert!(
            tries > 0,
            "a retry needs at least one try for each question"
        );
        self.policy.tries = tries;
        self
    }

    /// Sets the pauses between the tries. Each pause is random. The pause before the second try has
    /// the upper limit `first`. The upper limit doubles with each try, but never exceeds `max`. The
    /// defaults are 10 ms and 1 s.
    #[must_use]
    pub fn backoff(mut self, first: Duration, max: Duration) -> Self {
        self.policy.ceiling = nanos(first);
        self.policy.ceiling_max = nanos(max);
        self
    }

    /// Sets a function that returns true for bad answers. After a bad answer, the question is tried
    /// again. By default, every answer is good.
    #[must_use]
    pub fn when(mut self, is_bad: fn(&R) -> bool) -> Self {
        self.policy.is_bad = is_bad;
        self
    }
}

impl<Q, R> Actor for Retry<Q, R>
where
    Q: Clone + Send + 'static,
    R: Send + 'static,
{
    type Msg = Request<Q, R>;
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, (question, reply): Self::Msg, cx: &mut Context<'_, Self::Msg>) {
        self.asked += 1;
        let errand = cx.spawn(Errand {
            service: self.service.clone(),
            question,
            reply: Some(reply),
            policy: self.policy,
            random: Random::new(cx.now().wrapping_add(self.asked.wrapping_mul(STEP))),
        });
        // The errand has just been spawned, so it accepts the message.
        let _ = cx.send(&errand, Step::Ask);
    }
}

enum Step<R> {
    /// Asks the service now.
    Ask,
    Answered(Answer<R>),
}

/// An actor that asks one question until it is answered or no tries are left.
struct Errand<Q, R: 'static> {
    service: Service<Q, R>,
    question: Q,
    /// Reply to the asker. `None` once the question has been answered or no tries are left.
    reply: Option<Reply<R>>,
    /// Copy of the settings for this question. In the copy, `tries` is the number of remaining
    /// tries, and `ceiling` is the upper limit of the next pause.
    policy: Policy<R>,
    random: Random,
}

impl<Q, R> Errand<Q, R>
where
    Q: Clone + Send + 'static,
    R: Send + 'static,
{
    fn ask(&mut self, cx: &Context<'_, Step<R>>) {
        self.policy.tries -= 1;
        let question = self.question.clone();
        cx.ask(&self.service, |reply| (question, reply), Step::Answered);
    }

    fn answered(&mut self, answer: Answer<R>, cx: &Context<'_, Step<R>>) {
        let is_over = self.policy.tries == 0 || self.service.is_stopped();
        match answer {
            Ok(answer) if is_over || !(self.policy.is_bad)(&answer) => {
                if let Some(reply) = self.reply.take() {
                    reply.send(answer);
                }
            }
            _ if is_over => self.reply = None,
            _ => self.wait(cx),
        }
    }

    fn wait(&mut self, cx: &Context<'_, Step<R>>) {
        let ceiling = self.policy.ceiling.min(self.policy.ceiling_max);
        let pause = Duration::from_nanos(self.random.up_to(ceiling));
        self.policy.ceiling = ceiling.saturating_mul(2);
        // This actor has not stopped, so it accepts the message.
        let _ = cx.send_after(pause, &cx.address(), Step::Ask);
    }
}

impl<Q, R> Actor for Errand<Q, R>
where
    Q: Clone + Send + 'static,
    R: Send + 'static,
{
    type Msg = Step<R>;
    type Outcome = ();
    const INTERNAL: bool = true;
    const STARTS: bool = false;

    fn receive(&mut self, step: Step<R>, cx: &mut Context<'_, Step<R>>) {
        match step {
            Step::Ask => self.ask(cx),
            Step::Answered(answer) => self.answered(answer, cx),
        }
    }
}

impl<R> Clone for Policy<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Policy<R> {}

impl<Q, R> fmt::Debug for Retry<Q, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retry")
            .field("service", &self.service)
            .field("tries", &self.policy.tries)
            .field("ceiling_ns", &self.policy.ceiling)
            .field("ceiling_ns_max", &self.policy.ceiling_max)
            .finish_non_exhaustive()
    }
}
