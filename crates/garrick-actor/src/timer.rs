//! Messages for later: once, or again and again, until cancelled or until who asked for them has ended.
//!
//! A timer is a small task of its own. A message out of its worker's timing wheel tells it that its time has come,
//! another one that it is cancelled, and what it does then, it does once or never. It is told to cancel by the
//! [`Timer`], or by the death notice of the actor that started it.
//!
//! ```text
//!   who started it --- Cancel ---> timer --- message, each time ---> receiver
//!                                   ^  |
//!                                   +--+ Due, from the timing wheel
//! ```
//!
//! Each deadline of a periodic timer is the one before plus the period, whatever the time is when the timer runs: it
//! does not drift. Deadlines that have passed by then are left out, and told with the next message.

use std::fmt;
use std::time::Duration;

use garrick_sched::{Address, Flow, Nanos, SendError, Task, Turn, Watch};

use crate::context::Context;

/// What a timer hears.
enum Word {
    /// Its time has come.
    Due,
    /// It is not wanted any more.
    Cancel,
    /// The watch of the actor that started it, to be given up when the timer is over.
    Watched(Watch),
}

/// What a timer does when its time has come.
trait Ring: 'static {
    /// Does it at the time of `turn`; the next deadline, if there is one.
    fn ring(&mut self, turn: &Turn<'_, Word>) -> Option<Nanos>;
}

/// A timer as a task.
struct Alarm<B> {
    /// None once it is over: it was cancelled, or has rung for the last time. It does not stop then, because what is
    /// still to come out of the wheel would be a dead letter.
    bell: Option<B>,
    /// The watch of the actor that started it.
    watch: Option<Watch>,
}

impl<B: Ring> Alarm<B> {
    fn end(&mut self) {
        self.bell = None;
        if let Some(watch) = self.watch.take() {
            watch.cancel();
        }
    }

    fn ring(&mut self, turn: &Turn<'_, Word>) {
        let Some(bell) = &mut self.bell else { return };
        match bell.ring(turn) {
            Some(deadline) => set(turn, deadline, &turn.address()),
            None => self.end(),
        }
    }
}

impl<B: Ring> Task for Alarm<B> {
    type Message = Word;

    fn receive(&mut self, word: Word, turn: &Turn<'_, Word>) -> Flow {
        match word {
            Word::Due => self.ring(turn),
            Word::Cancel => self.end(),
            Word::Watched(watch) if self.bell.is_some() => self.watch = Some(watch),
            Word::Watched(watch) => watch.cancel(),
        }
        Flow::Continue
    }
}

/// Has a timer told when its time has come.
fn set<M: 'static>(turn: &Turn<'_, M>, deadline: Nanos, alarm: &Address<Word>) {
    let left = Duration::from_nanos(deadline.saturating_sub(turn.now()));
    // An alarm does not stop, so it takes the message.
    let _ = turn.send_after(left, alarm, Word::Due);
}

fn nanos(time: Duration) -> Nanos {
    Nanos::try_from(time.as_nanos()).unwrap_or(Nanos::MAX)
}

/// Rings once.
struct Once<N> {
    to: Address<N>,
    /// Taken when it rings.
    msg: Option<N>,
}

impl<N: 'static> Ring for Once<N> {
    fn ring(&mut self, turn: &Turn<'_, Word>) -> Option<Nanos> {
        if let Some(msg) = self.msg.take() {
            // A receiver that has stopped is not to be told any more.
            let _ = turn.send(&self.to, msg);
        }
        None
    }
}

/// Rings again and again.
struct Every<N, F> {
    to: Address<N>,
    make: F,
    period: Nanos,
    /// When it is to ring next.
    deadline: Nanos,
}

impl<N, F> Ring for Every<N, F>
where
    N: 'static,
    F: FnMut(u64) -> N + 'static,
{
    fn ring(&mut self, turn: &Turn<'_, Word>) -> Option<Nanos> {
        let late = turn.now().saturating_sub(self.deadline);
        let periods = 1 + late / self.period;
        self.deadline = self
            .deadline
            .saturating_add(self.period.saturating_mul(periods));
        let msg = (self.make)(periods);
        turn.send(&self.to, msg).ok().map(|()| self.deadline)
    }
}

/// A timer under way, made by [`Context::start_timer`] or [`Context::send_every`].
///
/// It may be kept or dropped: dropping it changes nothing. The timer ends when it is cancelled, when the actor that
/// started it has ended, and when the receiver has stopped.
#[derive(Clone)]
pub struct Timer {
    alarm: Address<Word>,
}

impl Timer {
    /// Ends the timer. Inside of a turn this is staged: if the turn is undone, the timer goes on.
    ///
    /// A message that the timer has sent already still arrives.
    ///
    /// # Examples
    /// See [`Context::send_every`].
    pub fn cancel(&self) {
        // One whose system has ended is over.
        let _ = self.alarm.send(Word::Cancel);
    }
}

/// Why no periodic timer was started; what was to be sent comes back, or what was to make it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SendEveryError<T> {
    /// The period was zero; it must be at least a nanosecond.
    ZeroPeriod(T),
    /// The receiver has stopped.
    Stopped(T),
}

impl<M: 'static> Context<'_, M> {
    /// Sends `msg` to `to` once `delay` has passed, to the timers' resolution of some 10 us. Until then the message
    /// keeps its receiver alive. It arrives even if this actor has ended by then; [`Context::start_timer`] is for
    /// one that does not, or that may be cancelled.
    ///
    /// # Errors
    /// Gives the message back if the receiver is known to have stopped.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use garrick_actor::{Actor, Context, Local, Next};
    ///
    /// struct Kettle;
    ///
    /// #[derive(PartialEq)]
    /// enum Msg {
    ///     SwitchOn,
    ///     Boils,
    /// }
    ///
    /// impl Actor for Kettle {
    ///     type Msg = Msg;
    ///
    ///     fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) -> Next {
    ///         match msg {
    ///             Msg::SwitchOn => cx.send_after(Duration::ZERO, &cx.address(), Msg::Boils).is_ok(),
    ///             Msg::Boils => return Next::Stop,
    ///         };
    ///         Next::Continue
    ///     }
    /// }
    ///
    /// let local = Local::new()?;
    /// let kettle = local.spawn(Kettle);
    /// kettle.send(Msg::SwitchOn).unwrap();
    /// local.run();
    /// assert!(kettle.is_stopped());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn send_after<N: 'static>(
        &self,
        delay: Duration,
        to: &Address<N>,
        msg: N,
    ) -> Result<(), SendError<N>> {
        self.turn().send_after(delay, to, msg)
    }

    /// Starts a timer that sends `msg` to `to` once `delay` has passed, unless it is cancelled or this actor ends before.
    ///
    /// # Errors
    /// Gives the message back if the receiver is known to have stopped.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use garrick_actor::{Actor, Context, Local, Next, Timer};
    ///
    /// #[derive(Default)]
    /// struct Order {
    ///     lapses: Option<Timer>,
    /// }
    ///
    /// enum Msg {
    ///     Placed,
    ///     Paid,
    ///     Lapsed,
    /// }
    ///
    /// impl Actor for Order {
    ///     type Msg = Msg;
    ///
    ///     fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) -> Next {
    ///         match msg {
    ///             Msg::Placed => {
    ///                 let in_time = Duration::from_secs(600);
    ///                 self.lapses = cx.start_timer(in_time, &cx.address(), Msg::Lapsed).ok();
    ///             }
    ///             Msg::Paid => {
    ///                 if let Some(timer) = &self.lapses {
    ///                     timer.cancel();
    ///                 }
    ///             }
    ///             Msg::Lapsed => return Next::Stop,
    ///         }
    ///         Next::Continue
    ///     }
    /// }
    ///
    /// let local = Local::new()?;
    /// let order = local.spawn(Order::default());
    /// order.send(Msg::Placed).unwrap();
    /// order.send(Msg::Paid).unwrap();
    /// local.run();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn start_timer<N>(
        &self,
        delay: Duration,
        to: &Address<N>,
        msg: N,
    ) -> Result<Timer, SendError<N>>
    where
        N: Send + 'static,
    {
        if to.is_stopped() {
            return Err(SendError(msg));
        }
        let deadline = self.now().saturating_add(nanos(delay));
        let (to, msg) = (to.clone(), Some(msg));
        Ok(self.start(deadline, Once { to, msg }))
    }

    /// Starts a timer that sends a clone of `msg` to `to` every `period`, for the first time when one period has passed;
    /// until it is cancelled, this actor ends, or the receiver stops.
    ///
    /// Deadlines do not drift: each is the one before plus `period`. When messages cannot be sent in time, because the
    /// worker is busy, one message is sent for all the periods that have passed, and the next one comes at its own time.
    ///
    /// A timer keeps its receiver alive. One whose receiver is the actor itself, which nobody else can reach, goes on
    /// until the actor stops or cancels it.
    ///
    /// # Errors
    /// [`SendEveryError`] gives the message back, if the period is zero or the receiver is known to have stopped.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use garrick_actor::{Actor, Context, Local, Next, Timer};
    ///
    /// #[derive(Default)]
    /// struct Clock {
    ///     ticks: u32,
    ///     timer: Option<Timer>,
    /// }
    ///
    /// #[derive(Clone)]
    /// enum Msg {
    ///     Start,
    ///     Tick,
    /// }
    ///
    /// impl Actor for Clock {
    ///     type Msg = Msg;
    ///
    ///     fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) -> Next {
    ///         match msg {
    ///             Msg::Start => {
    ///                 let period = Duration::from_micros(50);
    ///                 self.timer = cx.send_every(period, &cx.address(), Msg::Tick).ok();
    ///             }
    ///             Msg::Tick => self.ticks += 1,
    ///         }
    ///         if self.ticks == 3 && let Some(timer) = self.timer.take() {
    ///             timer.cancel();
    ///             return Next::Stop;
    ///         }
    ///         Next::Continue
    ///     }
    /// }
    ///
    /// let local = Local::new()?;
    /// let clock = local.spawn(Clock::default());
    /// clock.send(Msg::Start).unwrap();
    /// while !clock.is_stopped() {
    ///     local.run();
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn send_every<N>(
        &self,
        period: Duration,
        to: &Address<N>,
        msg: N,
    ) -> Result<Timer, SendEveryError<N>>
    where
        N: Clone + Send + 'static,
    {
        if let Some(error) = refusal(period, to) {
            return Err(error(msg));
        }
        Ok(self.start_every(period, to, move |_| msg.clone()))
    }

    /// As [`Context::send_every`], with messages that `make` makes; it is told how many periods have passed since
    /// the last one, which is 1 unless the timer is late.
    ///
    /// # Errors
    /// [`SendEveryError`] gives the closure back, if the period is zero or the receiver is known to have stopped.
    pub fn send_every_with<N, F>(
        &self,
        period: Duration,
        to: &Address<N>,
        make: F,
    ) -> Result<Timer, SendEveryError<F>>
    where
        N: Send + 'static,
        F: FnMut(u64) -> N + Send + 'static,
    {
        if let Some(error) = refusal(period, to) {
            return Err(error(make));
        }
        Ok(self.start_every(period, to, make))
    }

    fn start_every<N, F>(&self, period: Duration, to: &Address<N>, make: F) -> Timer
    where
        N: Send + 'static,
        F: FnMut(u64) -> N + Send + 'static,
    {
        let period = nanos(period);
        let deadline = self.now().saturating_add(period);
        let to = to.clone();
        self.start(
            deadline,
            Every {
                to,
                make,
                period,
                deadline,
            },
        )
    }

    fn start<B: Ring + Send>(&self, deadline: Nanos, bell: B) -> Timer {
        let turn = self.turn();
        let alarm = turn.spawn(Alarm {
            bell: Some(bell),
            watch: None,
        });
        set(turn, deadline, &alarm);
        let cancelled = alarm.clone();
        let watch = self.address().watch(move |_| {
            // An alarm does not stop before its system ends.
            let _ = cancelled.send(Word::Cancel);
        });
        let _ = turn.send(&alarm, Word::Watched(watch));
        Timer { alarm }
    }
}

/// Why there can be no such timer, if there is a reason.
fn refusal<N: 'static, T>(period: Duration, to: &Address<N>) -> Option<fn(T) -> SendEveryError<T>> {
    if period.is_zero() {
        Some(SendEveryError::ZeroPeriod)
    } else if to.is_stopped() {
        Some(SendEveryError::Stopped)
    } else {
        None
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Timer").field(&self.alarm).finish()
    }
}

impl<T> fmt::Debug for SendEveryError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ZeroPeriod(_) => "ZeroPeriod(..)",
            Self::Stopped(_) => "Stopped(..)",
        })
    }
}

impl<T> fmt::Display for SendEveryError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ZeroPeriod(_) => "a period must be at least a nanosecond, not zero",
            Self::Stopped(_) => "the receiver of the periodic message has stopped",
        })
    }
}

impl<T> std::error::Error for SendEveryError<T> {}
