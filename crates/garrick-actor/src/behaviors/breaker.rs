//! A circuit breaker: spares a service that fails.
//!
//! ```text
//!              failures in a row                     rest is over
//!   Closed ------------------------> Open  <------------------------> HalfOpen
//!     ^                                       a probe fails              |
//!     +------------------------------------------------------------------+
//!                                 all probes succeed
//! ```
//!
//! After Nygard, "Release It!" (2nd ed. 2018), chapter 5, and Fowler, "CircuitBreaker" (2014). The
//! state changes when a question or an answer comes, by the world's clock. There are no timers.

use std::fmt;
use std::time::Duration;

use garrick_sched::{Address, Nanos, Reply, nanos};

use super::front::Front;
use super::service::{Answer, Request, Service, ask_for};
use crate::model::actor::Actor;
use crate::model::context::Context;
use crate::model::next::Next;

/// Creates a service that asks `service`, but refuses questions for a while after some failures in
/// a row. Then it lets some probes through before it trusts the service again. A failure is a
/// question without an answer, or with a bad answer.
///
/// Refusing drops the reply at once. A question is also refused while the probes are out. If no
/// answer to the probes comes for as long as the rest, new probes are let through. An answer to a
/// question from before the last change of state is passed on, but does not count.
///
/// Each question let through creates an actor that takes its answer to the asker. It costs that
/// actor and four more messages. A refused question costs one message.
///
/// The breaker stops when it finds that the service has stopped. A service that keeps replies
/// forever does not count as a failure, unless it is behind a [`timeout`](super::timeout()).
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use garrick_actor::behaviors::{self, Request};
/// use garrick_actor::{Local, NoReply, behavior};
///
/// let local = Local::new()?;
/// // It gives no answers.
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

/// The actor created by [`breaker`], and its settings.
pub struct Breaker<Q, R>
where
    Q: Send + 'static,
    R: Send + 'static,
{
    front: Front<Request<Q, R>, Core<Q, R>>,
}

/// The state of a [`breaker`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Circuit {
    /// Questions are let through.
    Closed,
    /// Questions are refused.
    Open,
    /// Probes are let through, and other questions are refused.
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

    /// Sets how many failures in a row open the circuit. 5 by default.
    ///
    /// # Panics
    /// Panics if `failures` is 0.
    #[track_caller]
    #[must_use]
    pub fn failures(self, failures: u32) -> Self {
        assert!(failures > 0, "a circuit opens after at least one failure");
        self.set(|core| core.failures_max = failures)
    }

    /// Sets how long questions are refused before probes are let through. 1 s by default.
    #[must_use]
    pub fn rest(self, rest: Duration) -> Self {
        self.set(|core| core.rest = nanos(rest))
    }

    /// Sets how many probes are let through, all of which must succeed. 1 by default.
    ///
    /// # Panics
    /// Panics if `probes` is 0.
    #[track_caller]
    #[must_use]
    pub fn probes(self, probes: u32) -> Self {
        assert!(probes > 0, "without a probe a circuit stays open for ever");
        self.set(|core| core.probes = probes)
    }

    /// Sets which answers are failures, though they are passed on. None by default.
    #[must_use]
    pub fn when(self, is_bad: fn(&R) -> bool) -> Self {
        self.set(|core| core.is_bad = is_bad)
    }

    /// Sets the observer that is notified of every change of state.
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

/// A message to the breaker itself.
enum Entry<Q, R: 'static> {
    Asked(Request<Q, R>),
    /// The result of a question of this period.
    Verdict {
        period: u64,
        is_good: bool,
    },
}

#[derive(Clone, Copy)]
enum State {
    Closed {
        /// Failures in a row.
        failures: u32,
    },
    Open {
        until: Nanos,
    },
    HalfOpen {
        /// Time when probes without an answer are given up.
        until: Nanos,
        /// Number of probes let through.
        out: u32,
        /// Number of probes that succeeded.
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
    /// Number of changes of state.
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
        // An observer that has stopped does not need the message.
        let gone = |observer: &Address<_>| cx.send(observer, circuit).is_err();
        if self.observer.as_ref().is_some_and(gone) {
            self.observer = None;
        }
    }

    /// Returns true if one more question may be asked now.
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

/// Takes one answer to the asker, and reports its quality to the breaker.
struct Witness<Q, R: 'static> {
    breaker: Address<Entry<Q, R>>,
    period: u64,
    is_bad: fn(&R) -> bool,
    /// Reply to the asker. `None` once it has been used.
    reply: Option<Reply<R>>,
}

impl<Q, R> Actor for Witness<Q, R>
where
    Q: Send + 'static,
    R: Send + 'static,
{
    type Msg = Answer<R>;
    type Outcome = ();
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
