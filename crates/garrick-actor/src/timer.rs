//! Delayed and periodic messages. A timer ends when it has no more messages to send, when it is
//! cancelled, or when the actor that started it stops. A message that is sent by `send_after`
//! cannot be cancelled, and is sent even if the sending actor has stopped.
//!
//! A delayed message waits in the timing wheel of a worker. A periodic timer also has a small
//! separate task, the alarm, which creates each message when the message is due. Cancelling a timer
//! removes it from the wheel.
//!
//! ```text
//!   start_timer:  wheel --- message ------------------------------------> receiver
//!   send_every:   wheel --- Due ---> alarm --- message, each time ------> receiver
//!                   ^                  |
//!                   '---- set again ---'
//! ```
//!
//! Each deadline of a periodic timer is the previous deadline plus the period, even if the timer
//! runs late. So the deadlines do not drift. If several deadlines have passed when the timer runs,
//! a single message is sent for all of them. The closure that creates the message receives the
//! number of periods.

use std::fmt;
use std::time::Duration;

use garrick_sched::{Address, Flow, Nanos, SendError, Task, Timer, TrySendError, Turn, nanos};

use crate::model::context::Context;
use crate::quiet;

/// A message to the task of a periodic timer (its [`Alarm`]): the deadline has passed.
struct Due;

/// The task of a periodic timer. The timing wheel contains a message to this task. This message
/// keeps the task alive.
struct Alarm<N, F> {
    timer: Timer,
    to: Address<N>,
    make: F,
    period: Nanos,
    /// Time of the next message.
    deadline: Nanos,
    /// Number of periods for which no message could be sent because the receiver's mailbox was
    /// full. Set to zero when a message is sent.
    missed: u64,
}

impl<N, F> Task for Alarm<N, F>
where
    N: 'static,
    F: FnMut(u64) -> N + 'static,
{
    type Message = Due;
    const INTERNAL: bool = true;

    fn receive(&mut self, _: Due, turn: &Turn<'_, Due>) -> Flow {
        if self.timer.is_cancelled() {
            return Flow::Stop;
        }
        let late = turn.now().saturating_sub(self.deadline);
        let periods = 1 + late / self.period;
        self.deadline = self
            .deadline
            .saturating_add(self.period.saturating_mul(periods));
        self.missed += periods;
        let goes_on = match self.to.try_send((self.make)(self.missed)) {
            Ok(()) => {
                self.missed = 0;
                true
            }
            // The next message also counts this period. A door in front of a full mailbox need not
            // show that the mailbox is bounded.
            Err(TrySendError::Full(msg) | TrySendError::Stopped(msg)) => {
                quiet::drop(msg);
                !self.to.is_stopped()
            }
        };
        if goes_on && self.set(turn, &turn.address()).is_ok() {
            Flow::Continue
        } else {
            // The receiver has stopped.
            Flow::Stop
        }
    }

    fn is_letter(_: &Due) -> bool {
        false
    }
}

impl<N, F> Alarm<N, F> {
    fn set<M: 'static>(
        &self,
        turn: &Turn<'_, M>,
        alarm: &Address<Due>,
    ) -> Result<(), SendError<Due>> {
        turn.set_timer(&self.timer, self.deadline, alarm, Due)
    }
}

impl<N, F> Drop for Alarm<N, F> {
    /// Cancels the timer. So once the task of the timer has ended, [`Timer::is_cancelled`] returns
    /// true.
    fn drop(&mut self) {
        self.timer.cancel();
    }
}

/// The error returned when a periodic timer cannot be started. Contains the message, or the closure
/// that creates the messages.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SendEveryError<T> {
    /// The period is zero. A period must be at least one nanosecond.
    ZeroPeriod(T),
    /// The receiver has stopped.
    Stopped(T),
}

impl<M: 'static> Context<'_, M> {
    /// Sends `msg` to `to` after `delay`. The resolution is about 10 us.
    ///
    /// The message is sent even if this actor has stopped in the meantime. The pending message
    /// keeps the receiver alive. Use [`Context::start_timer`] for a message that can be cancelled,
    /// or that must not be sent after this actor has stopped.
    ///
    /// # Errors
    /// Returns the message if the receiver is known to have stopped.
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
    ///     type Outcome = Next;
    ///
    ///     fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) -> Next {
    ///         match msg {
    ///             Msg::SwitchOn => cx
    ///                 .send_after(Duration::ZERO, &cx.address(), Msg::Boils)
    ///                 .is_ok(),
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
    pub fn send_after<N: Send + 'static>(
        &self,
        delay: Duration,
        to: &Address<N>,
        msg: N,
    ) -> Result<(), SendError<N>> {
        self.turn().send_after(delay, to, msg)
    }

    /// Starts a timer that sends `msg` to `to` after `delay`. No message is sent if the timer is
    /// cancelled or this actor stops before `delay` has passed.
    ///
    /// # Errors
    /// Returns the message if the receiver is known to have stopped.
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
    ///     type Outcome = Next;
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
        self.turn().start_own_timer(delay, to, msg)
    }

    /// Starts a timer that sends a clone of `msg` to `to` every `period`.
    ///
    /// The first message is sent after one period. The timer runs until it is cancelled, this actor
    /// stops, or the receiver stops.
    ///
    /// Deadlines do not drift: each deadline is the previous deadline plus `period`. If the worker
    /// is busy for several periods, a single message is sent for all of them. The next message is
    /// then sent at its regular deadline. If the receiver's mailbox is full at a deadline, no
    /// message is sent for that deadline.
    ///
    /// A timer keeps its receiver alive. So an actor that sends itself periodic messages lives
    /// until it stops itself or cancels the timer, even if all other addresses of the actor have
    /// been dropped.
    ///
    /// # Errors
    /// Returns a [`SendEveryError`] with the message if the period is zero or the receiver is known
    /// to have stopped.
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
    ///     type Outcome = Next;
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

    /// Starts a periodic timer that calls `make` to create each message. In all other respects,
    /// this method works like [`Context::send_every`].
    ///
    /// The argument of `make` is the number of periods since the last message was sent. This number
    /// is 1 unless the timer runs late or the receiver's mailbox was full.
    ///
    /// # Errors
    /// Returns a [`SendEveryError`] with the closure if the period is zero or the receiver is known
    /// to have stopped.
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
        let turn = self.turn();
        let period = nanos(period);
        let deadline = turn.now().saturating_add(period);
        let timer = Timer::repeating();
        let alarm = turn.spawn(Alarm {
            timer: timer.clone(),
            to: to.clone(),
            make,
            period,
            deadline,
            missed: 0,
        });
        // The alarm is new, so it accepts the message.
        let _ = turn.set_own_timer(&timer, deadline, &alarm, Due);
        timer
    }
}

/// Returns the constructor of the error if no timer can be started with this period and this
/// receiver. Returns `None` if a timer can be started.
fn refusal<N: 'static, T>(period: Duration, to: &Address<N>) -> Option<fn(T) -> SendEveryError<T>> {
    if period.is_zero() {
        Some(SendEveryError::ZeroPeriod)
    } else if to.is_stopped() {
        Some(SendEveryError::Stopped)
    } else {
        None
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
            Self::ZeroPeriod(_) => {
                "cannot send periodic messages with a period of zero: the minimum is 1 ns"
            }
            Self::Stopped(_) => "cannot send periodic messages: the receiver has stopped",
        })
    }
}

impl<T> std::error::Error for SendEveryError<T> {}
