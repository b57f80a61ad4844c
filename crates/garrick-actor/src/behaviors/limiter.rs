//! A rate limiter.
//!
//! The limiter is a token bucket (Turner, "New Directions in Communications", 1986), implemented by
//! the generic cell rate algorithm (ITU-T I.371). Instead of a number of tokens, the limiter stores
//! a point in time, which each message moves forward:
//!
//! ```text
//!      now        full            a message goes if now >= full - (burst - 1) * every,
//!   ----|----------|------> time  and makes full = max(now, full) + every:
//!       <--- tokens missing --->  the time at which the bucket would be full
//! ```

use std::any::type_name;
use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use garrick_sched::{Address, Nanos, count_left_letters, nanos};

use super::front::Front;
use crate::model::actor::Actor;
use crate::model::context::Context;
use crate::model::next::Next;
use crate::quiet::Several;

/// Creates an actor that forwards messages to `to` at an average rate of at most one message per
/// `every`. Messages that arrive faster wait in the limiter, in order.
///
/// [`Limiter::waiting`] sets the maximum number of waiting messages. If this number has been
/// reached, a new message becomes a dead letter. If the new message contains a
/// [`Reply`](crate::Reply), the asker gets `NoReply::Dropped`. If the target has stopped, the
/// limiter stops too, and the current message and all waiting messages become dead letters.
///
/// Each message costs two additional sends. While messages are waiting, a timer is running for the
/// next one. Waiting messages are forwarded even after the last address of the limiter has been
/// dropped.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use garrick_actor::{Local, behavior, behaviors};
///
/// let local = Local::new()?;
/// let (to, heard) = std::sync::mpsc::channel();
/// let listener = local.spawn(behavior(move |n: u32, _| {
///     to.send(n).unwrap();
/// }));
/// let limiter = behaviors::limiter(listener, Duration::from_micros(100)).burst(2);
/// let limiter = local.spawn(limiter);
/// for n in 0..4 {
///     limiter.send(n)?;
/// }
/// local.run_until(|| heard.try_iter().any(|n| n == 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn limiter<M: Send + 'static>(to: Address<M>, every: Duration) -> Limiter<M> {
    let core = Core {
        to,
        every: nanos(every),
        tolerance: 0,
        waiting_max: 1024,
        full: 0,
        waiting: Several::default(),
    };
    Limiter {
        front: Front::new(core, Entry::Pass),
    }
}

/// A rate limiter, created by [`limiter`]. To change its settings, call its methods before you
/// spawn it.
pub struct Limiter<M: Send + 'static> {
    front: Front<M, Core<M>>,
}

impl<M: Send + 'static> Limiter<M> {
    fn set(mut self, change: impl FnOnce(&mut Core<M>)) -> Self {
        if let Some(core) = self.front.core_mut() {
            change(core);
        }
        self
    }

    /// Sets the burst: the number of messages that the limiter forwards at once, without a delay,
    /// if it has been idle for long enough. The default is 1.
    ///
    /// # Panics
    /// Panics if `burst` is 0.
    #[track_caller]
    #[must_use]
    pub fn burst(self, burst: u32) -> Self {
        assert!(burst > 0, "the burst of a limiter must be at least 1");
        self.set(|core| core.tolerance = core.every.saturating_mul(Nanos::from(burst - 1)))
    }

    /// Sets the maximum number of waiting messages. The default is 1024.
    #[must_use]
    pub fn waiting(self, waiting_max: usize) -> Self {
        self.set(|core| core.waiting_max = waiting_max)
    }
}

impl<M: Send + 'static> Actor for Limiter<M> {
    type Msg = M;
    type Outcome = Next;

    fn started(&mut self, cx: &mut Context<'_, M>) -> Next {
        self.front.started(cx)
    }

    #[inline]
    fn receive(&mut self, msg: M, cx: &mut Context<'_, M>) -> Next {
        self.front.receive(msg, cx)
    }
}

/// A message to the core, which is the actor that does the work of the limiter.
enum Entry<M> {
    Pass(M),
    /// The delay of the oldest waiting message is over. While any message is waiting, exactly one
    /// `Due` is pending.
    Due,
}

struct Core<M> {
    to: Address<M>,
    /// Minimum average time between two forwarded messages.
    every: Nanos,
    /// The duration `(burst - 1) * every`. If this duration is subtracted from `full`, the result
    /// is the earliest time at which the next message may be forwarded.
    tolerance: Nanos,
    waiting_max: usize,
    /// Time at which the token bucket of the limiter will be full if no further message arrives.
    full: Nanos,
    /// Waiting messages, oldest first. There are at most `waiting_max` of them.
    waiting: Several<VecDeque<M>>,
}

impl<M: Send + 'static> Core<M> {
    /// Returns the earliest time at which the next message may be forwarded.
    fn next(&self) -> Nanos {
        self.full.saturating_sub(self.tolerance)
    }

    fn pass(&mut self, msg: M, cx: &Context<'_, Entry<M>>) -> Next {
        self.full = self.full.max(cx.now()).saturating_add(self.every);
        let next = cx.relay(&self.to, msg);
        if next == Next::Stop {
            self.waiting.drain(..).for_each(|msg| cx.dead_letter(msg));
        }
        next
    }

    fn arrive(&mut self, msg: M, cx: &Context<'_, Entry<M>>) -> Next {
        if self.waiting.is_empty() && cx.now() >= self.next() {
            return self.pass(msg, cx);
        }
        if self.waiting.len() >= self.waiting_max {
            cx.dead_letter(msg);
            return Next::Continue;
        }
        if self.waiting.is_empty() {
            self.wait(cx);
        }
        self.waiting.push_back(msg);
        Next::Continue
    }

    fn due(&mut self, cx: &Context<'_, Entry<M>>) -> Next {
        while cx.now() >= self.next() {
            let Some(msg) = self.waiting.pop_front() else {
                return Next::Continue;
            };
            if self.pass(msg, cx) == Next::Stop {
                return Next::Stop;
            }
        }
        if !self.waiting.is_empty() {
            self.wait(cx);
        }
        Next::Continue
    }

    fn wait(&self, cx: &Context<'_, Entry<M>>) {
        let pause = Duration::from_nanos(self.next().saturating_sub(cx.now()));
        // This actor has not stopped, so it accepts the message.
        let _ = cx.send_after(pause, &cx.address(), Entry::Due);
    }
}

impl<M: Send + 'static> Actor for Core<M> {
    type Msg = Entry<M>;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, entry: Entry<M>, cx: &mut Context<'_, Entry<M>>) -> Next {
        match entry {
            Entry::Pass(msg) => self.arrive(msg, cx),
            Entry::Due => self.due(cx),
        }
    }

    fn is_letter(entry: &Entry<M>) -> bool {
        matches!(entry, Entry::Pass(_))
    }
}

impl<M> Drop for Core<M> {
    fn drop(&mut self) {
        // The system ends.
        count_left_letters(type_name::<M>, self.waiting.len() as u64);
    }
}

impl<M: Send + 'static> fmt::Debug for Limiter<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limiter")
            .field("front", &self.front)
            .finish()
    }
}
