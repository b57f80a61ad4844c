//! A circuit breaker, which stops sending questions to a service that fails.
//!
//! ```text
//!              failures in a row                     rest is over
//!   Closed ------------------------> Open  <------------------------> HalfOpen
//!     ^                                       a probe fails              |
//!     +------------------------------------------------------------------+
//!                                 all probes succeed
//! ```
//!
//! The design follows Nygard, "Release It!" (2nd ed. 2018), chapter 5, and Fowler, "CircuitBreaker"
//! (2014). There are no timers. The breaker reads the clock and changes its state when a question
//! or an answer arrives.

use std::fmt;
use std::time::Duration;

use garrick_sched::{Address, Nanos, Reply, nanos};

use super::front::Front;
use super::service::{Answer, Request, Service, ask_for};
use crate::model::actor::Actor;
use crate::model::context::Context;
use crate::model::next::Next;

/// Creates a service that passes questions to `service`. After several consecutive failures of
/// `service`, the breaker refuses all questions for some time.
///
/// After this time, the breaker first passes a few questions as probes. If all probes succeed, the
/// breaker passes all questions again. If a probe fails, the breaker refuses all questions again. A
/// failure is a question whose reply was dropped without an answer, or an answer that
/// [`Breaker::when`] defines as bad.
///
/// The reply of a refused question is dropped immediately. While the breaker is waiting for the
/// answers to its probes, it refuses all other questions. If the probes are not answered within the
/// time set by [`Breaker::rest`], the breaker passes new probes. If the state of the circuit
/// changes before a question is answered, the answer still goes to the asker. However, the breaker
/// does not count this answer as a success or a failure.
///
/// For each question that is passed to the service, an actor is created, which passes the answer to
/// the asker. The question also costs four additional sends. A refused question costs one
/// additional send.
///
/// If the service has stopped, the breaker stops when it receives the next question. If the service
/// neither answers a question nor drops the reply, this does not count as a failure. To count such
/// questions as failures, wrap the service in a [`timeout`](super::timeout()) first.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use garrick_actor::behaviors::{self, Request};
/// use garrick_actor::{Local, NoReply, behavior};
///
/// let local = Local::new()?;
/// // This service drops all questions.
/// let broken = behaviors::sink::<Request<(), u32>>();
/// let log = local.spawn(behavior(|now: behaviors::Circuit, _| {
///     println!("the circuit is {now:?}");
///     garrick_actor::Next::Continue
/// }));
/// let breaker = behaviors::breaker(broken)
///     .failures(2)
///     .rest(Duration::from_secs(3600))
///     .notify(log);
/// let breaker = local.spawn(breaker);
/// for _ in 0..5 {
///     let asked = breaker.ask(|reply| ((), reply));
///     local.run();
///     assert_eq!(asked.wait(), Err(NoReply::Dropped));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn breaker<Q, R>(service: Service<Q, R>) -> Breaker<Q, R>
where
    Q: Send + 'static,
    R: Send + 'static,
{
    let core = Core {
        service,
        failures_max: 5,
        rest: nanos(Duration::from_secs(1)),
        probes: 1,
        is_bad: |_| false,
        observer: None,
        state: State::Closed { failures: 0 },
        period: 0,
    };
    Breaker {
        front: Front::new(core, Entry::Asked),
    }
}

/// A circuit breaker, created by [`breaker`]. To change its settings, call its methods before you
/// spawn it.
pub struct Breaker<Q, R>
where
    Q: Send + 'static,
    R: Send + 'static,
{
    front: Front<Request<Q, R>, Core<Q, R>>,
}

/// The state of a circuit [`breaker`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Circuit {
    /// All questions are passed to the service.
    Closed,
    /// All questions are refused.
    Open,
    /// A few questions are passed to the service as probes. All other questions are refused.
    HalfOpen,
}

impl<Q, R> Breaker<Q, R>
where
    Q: Send + 'static,
    R: Send + 'static,
{
    fn set(mut self, change: impl FnOnce(&mut Core<Q, R>)) -> Self {
        if let Some(core) = self.front.core_mut() {
            change(core);
        }
        self
    }

    /// Sets the number of consecutive failures after which the circuit opens and refuses questions.
    /// The default is 5.
    ///
    /// # Panics
    /// Panics if `failures` is 0.
    #[track_caller]
    #[must_use]
    pub fn failures(self, failures: u32) -> Self {
        assert!(
            failures > 0,
            "a breaker needs at least one failure to open its circuit"
        );
        self.set(|core| core.failures_max = failures)
    }

    /// Sets how long the breaker refuses questions before it passes probes (questions that test the
    /// service) to the service. The default is 1 s.
    #[must_use]
    pub fn rest(self, rest: Duration) -> Self {
        self.set(|core| core.rest = nanos(rest))
    }

    /// Sets the number of probes, which are questions that test the service. All probes must
    /// succeed to close the circuit, so that all questions are passed again. The default is 1.
    ///
    /// # Panics
    /// Panics if `probes` is 0.
    #[track_caller]
    #[must_use]
    pub fn probes(self, probes: u32) -> Self {
        assert!(
            probes > 0,
            "a breaker needs at least one probe to close its circuit"
        );
        self.set(|core| core.probes = probes)
    }

    /// Sets a function that returns true for answers that count as failures. Such answers are still
    /// passed to the asker. By default, every answer counts as a success.
    #[must_use]
    pub fn when(self, is_bad: fn(&R) -> bool) -> Self {
        self.set(|core| core.is_bad = is_bad)
    }

    /// Sets an observer. Whenever the state of the breaker changes, the breaker sends the new state
    /// to the observer. If the bounded mailbox of the observer is full, the observer misses this
    /// change, and the message becomes a dead letter.
    #[must_use]
    pub fn notify(self, observer: Address<Circuit>) -> Self {
        self.set(|core| core.observer = Some(observer))
    }
}

impl<Q, R> Actor for Breaker<Q, R>
where
    Q: Send + 'static,
    R: Send + 'static,
{
    type Msg = Request<Q, R>;
    type Outcome = Next;

    fn started(&mut self, cx: &mut Context<'_, Self::Msg>) -> Next {
        self.front.started(cx)
    }

    #[inline]
    fn receive(&mut self, request: Self::Msg, cx: &mut Context<'_, Self::Msg>) -> Next {
        self.front.receive(request, cx)
    }
}

/// A message to the core, which is the actor that does the work of the breaker.
enum Entry<Q, R: 'static> {
    Asked(Request<Q, R>),
    /// The result of a question. `period` is the number of state changes ([`Core::period`]) at the
    /// time when the question was asked.
    Verdict {
        period: u64,
        is_good: bool,
    },
}

#[derive(Clone, Copy)]
enum State {
    Closed {
        /// Number of consecutive failures of the service.
        failures: u32,
    },
    Open {
        until: Nanos,
    },
    HalfOpen {
        /// Time from which the breaker passes new probes, even if the current probes have not been
        /// answered.
        until: Nanos,
        /// Number of probes that were passed to the service since the state became `HalfOpen`.
        out: u32,
        /// Number of probes that succeeded since the state became `HalfOpen`.
        passed: u32,
    },
}

struct Core<Q, R: 'static> {
    service: Service<Q, R>,
    failures_max: u32,
    rest: Nanos,
    probes: u32,
    is_bad: fn(&R) -> bool,
    observer: Option<Address<Circuit>>,
    state: State,
    /// Number of times that the state has changed.
    period: u64,
}

impl<Q, R> Core<Q, R>
where
    Q: Send + 'static,
    R: Send + 'static,
{
    fn change(&mut self, state: State, cx: &Context<'_, Entry<Q, R>>) {
        self.state = state;
        self.period += 1;
        let circuit = match state {
            State::Closed { .. } => Circuit::Closed,
            State::Open { .. } => Circuit::Open,
            State::HalfOpen { .. } => Circuit::HalfOpen,
        };
        // An observer that has stopped does not need the message. An observer whose mailbox is full
        // misses only this message.
        let gone = |observer: &Address<_>| cx.send_or_skip(observer, circuit).is_err();
        if self.observer.as_ref().is_some_and(gone) {
            self.observer = None;
        }
    }

    /// Returns true if a question may be passed to the service now.
    fn admits(&mut self, cx: &Context<'_, Entry<Q, R>>) -> bool {
        let now = cx.now();
        let probing = State::HalfOpen {
            until: now.saturating_add(self.rest),
            out: 0,
            passed: 0,
        };
        match self.state {
            State::Closed { .. } => return true,
            State::Open { until } if now >= until => self.change(probing, cx),
            State::HalfOpen { until, out, .. } if now >= until && out == self.probes => {
                self.change(probing, cx);
            }
            State::Open { .. } | State::HalfOpen { .. } => {}
        }
        match &mut self.state {
            State::HalfOpen { out, .. } if *out < self.probes => {
                *out += 1;
                true
            }
            _ => false,
        }
    }

    fn asked(&mut self, (question, reply): Request<Q, R>, cx: &Context<'_, Entry<Q, R>>) -> Next {
        if self.service.is_stopped() {
            return Next::Stop;
        }
        if self.admits(cx) {
            let witness = cx.spawn(Witness {
                breaker: cx.address(),
                period: self.period,
                is_bad: self.is_bad,
                reply: Some(reply),
            });
            ask_for(&self.service, question, &witness);
        }
        Next::Continue
    }

    fn failed(&mut self, cx: &Context<'_, Entry<Q, R>>) {
        if let State::Closed { failures } = &mut self.state {
            *failures += 1;
            if *failures < self.failures_max {
                return;
            }
        }
        let until = cx.now().saturating_add(self.rest);
        self.change(State::Open { until }, cx);
    }

    fn succeeded(&mut self, cx: &Context<'_, Entry<Q, R>>) {
        match &mut self.state {
            State::Closed { failures } => *failures = 0,
            State::HalfOpen { passed, .. } => {
                *passed += 1;
                if *passed == self.probes {
                    self.change(State::Closed { failures: 0 }, cx);
                }
            }
            State::Open { .. } => unreachable!("nothing is asked in this period"),
        }
    }
}

impl<Q, R> Actor for Core<Q, R>
where
    Q: Send + 'static,
    R: Send + 'static,
{
    type Msg = Entry<Q, R>;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, entry: Entry<Q, R>, cx: &mut Context<'_, Self::Msg>) -> Next {
        match entry {
            Entry::Asked(request) => return self.asked(request, cx),
            Entry::Verdict { period, .. } if period != self.period => {}
            Entry::Verdict { is_good: true, .. } => self.succeeded(cx),
            Entry::Verdict { is_good: false, .. } => self.failed(cx),
        }
        Next::Continue
    }
}

/// An actor that passes one answer to the asker, and reports to the breaker whether the answer is
/// good.
struct Witness<Q, R: 'static> {
    breaker: Address<Entry<Q, R>>,
    period: u64,
    is_bad: fn(&R) -> bool,
    /// Reply to the asker. `None` once an answer has been sent or the reply has been dropped.
    reply: Option<Reply<R>>,
}

impl<Q, R> Actor for Witness<Q, R>
where
    Q: Send + 'static,
    R: Send + 'static,
{
    type Msg = Answer<R>;
    type Outcome = ();
    const INTERNAL: bool = true;
    const STARTS: bool = false;

    fn receive(&mut self, answer: Answer<R>, cx: &mut Context<'_, Answer<R>>) {
        let is_good = answer.as_ref().is_ok_and(|answer| !(self.is_bad)(answer));
        let period = self.period;
        // A breaker that has stopped keeps no count.
        let _ = cx.send(&self.breaker, Entry::Verdict { period, is_good });
        if let Some(reply) = self.reply.take()
            && let Ok(answer) = answer
        {
            reply.send(answer);
        }
    }
}

impl<Q, R> fmt::Debug for Breaker<Q, R>
where
    Q: Send + 'static,
    R: Send + 'static,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Breaker")
            .field("front", &self.front)
            .finish()
    }
}
