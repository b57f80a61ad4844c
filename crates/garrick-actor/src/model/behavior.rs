//! Actors written as closures, whose only state is the behavior that they become.
//!
//! A behavior is a function of one message. Becoming replaces it for the next message. A function
//! that does not change its captured variables leaves no trace when its turn is undone: the turn
//! happens completely or not at all. Changes to captured variables stay, as changes to an actor's
//! fields do. The function owns the message, which is dropped with the turn however the turn ends.
//! A [`Reply`](crate::Reply) in the message then answers
//! [`NoReply::Dropped`](crate::NoReply::Dropped).

use std::fmt;
use std::mem;
use std::ops::{Deref, DerefMut};

use crate::model::actor::Actor;
use crate::model::context::Context;
use crate::model::next::Next;
use crate::model::outcome::Outcome;
use crate::quiet;

type Function<M> = dyn FnMut(M, &mut BehaviorContext<'_, M>) -> Next + Send;

/// An actor made of a closure by [`behavior`].
pub struct Behavior<M> {
    function: Box<Function<M>>,
}

/// Creates an actor from a closure.
///
/// A closure that captures nothing is not allocated. The closure returns any [`Outcome`], and may
/// change its captured variables:
/// ```
/// use garrick_actor::{Local, behavior};
///
/// let local = Local::new()?;
/// let mut sum = 0;
/// let counter = local.spawn(behavior(move |n: u32, _| {
///     sum += n;
///     println!("{sum}");
/// }));
/// counter.send(2)?;
/// counter.send(3)?;
/// local.run();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Examples
/// A flip-flop, in two behaviors that become each other:
/// ```
/// use garrick_actor::{Behavior, Reply, System, behavior};
///
/// enum Msg {
///     Flip,
///     Show(Reply<&'static str>),
/// }
///
/// fn showing(now: &'static str, other: &'static str) -> Behavior<Msg> {
///     behavior(move |msg, cx| {
///         match msg {
///             Msg::Flip => cx.becomes_behavior(showing(other, now)),
///             Msg::Show(reply) => reply.send(now),
///         }
///     })
/// }
///
/// let system = System::new()?;
/// let flip_flop = system.spawn(showing("on", "off"))?;
/// assert_eq!(flip_flop.ask(Msg::Show).wait(), Ok("on"));
/// flip_flop.send(Msg::Flip)?;
/// assert_eq!(flip_flop.ask(Msg::Show).wait(), Ok("off"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn behavior<M, F, O>(mut function: F) -> Behavior<M>
where
    F: FnMut(M, &mut BehaviorContext<'_, M>) -> O + Send + 'static,
    O: Outcome,
{
    Behavior {
        function: Box::new(move |msg, cx| function(msg, cx).into_next()),
    }
}

/// A [`Context`] whose actor can become another.
pub struct BehaviorContext<'a, M> {
    context: Context<'a, M>,
    /// Behavior that the actor becomes if the turn ends in `Continue`.
    staged: Option<Behavior<M>>,
}

impl<M: 'static> BehaviorContext<'_, M> {
    /// Replaces the behavior for the next message if this turn ends in [`Next::Continue`]. If
    /// called more than once, the last call counts.
    pub fn becomes<F, O>(&mut self, function: F)
    where
        F: FnMut(M, &mut BehaviorContext<'_, M>) -> O + Send + 'static,
        O: Outcome,
    {
        self.becomes_behavior(behavior(function));
    }

    /// Replaces the behavior, like [`BehaviorContext::becomes`], by one that exists already.
    pub fn becomes_behavior(&mut self, behavior: Behavior<M>) {
        self.staged = Some(behavior);
    }
}

impl<M: 'static> Actor for Behavior<M> {
    type Msg = M;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, msg: M, cx: &mut Context<'_, M>) -> Next {
        let mut cx = BehaviorContext {
            context: cx.again(),
            staged: None,
        };
        let next = (self.function)(msg, &mut cx);
        let mut left = cx.staged;
        if next == Next::Continue
            && let Some(staged) = &mut left
        {
            mem::swap(self, staged);
        }
        // The captured values of the old closure must not undo the turn that replaces it: the actor
        // has become another one already.
        quiet::drop(left);
        next
    }
}

impl<'a, M> Deref for BehaviorContext<'a, M> {
    type Target = Context<'a, M>;

    fn deref(&self) -> &Self::Target {
        &self.context
    }
}

impl<M> DerefMut for BehaviorContext<'_, M> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.context
    }
}

impl<M> fmt::Debug for Behavior<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Behavior").finish_non_exhaustive()
    }
}

impl<M> fmt::Debug for BehaviorContext<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BehaviorContext")
            .field("context", &self.context)
            .field("becomes", &self.staged.is_some())
            .finish()
    }
}
