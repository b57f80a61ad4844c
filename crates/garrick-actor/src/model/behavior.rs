//! Actors written as closures. Such an actor can replace its closure for the next messages.
//!
//! A behavior is a function that handles one message. [`BehaviorContext::becomes`] replaces the
//! behavior, starting with the next message. If a function does not change its captured variables,
//! a turn that is undone has no effect at all. Changes to captured variables are not undone, just
//! like changes to the fields of an actor. The function owns the message, so the message is dropped
//! even if the turn fails. If the message contains a [`Reply`](crate::Reply), the asker then gets
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

/// An actor that consists of a closure. Created by [`behavior`].
pub struct Behavior<M> {
    function: Box<Function<M>>,
}

/// Creates an actor from a closure.
///
/// A closure that captures nothing needs no allocation. The closure can return any [`Outcome`] and
/// may change its captured variables:
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
/// A flip-flop that consists of two behaviors. Each of them replaces itself with the other:
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

/// The [`Context`] of an actor that consists of a closure. The closure can also use this context to
/// replace itself by a different closure for the next messages.
pub struct BehaviorContext<'a, M> {
    context: Context<'a, M>,
    /// The new behavior of the actor if the turn returns `Continue`.
    staged: Option<Behavior<M>>,
}

impl<M: 'static> BehaviorContext<'_, M> {
    /// Replaces the actor's closure with `function`, starting with the next message. Has an effect
    /// only if this turn returns [`Next::Continue`]. If a turn calls this method more than once,
    /// only the last call has an effect.
    pub fn becomes<F, O>(&mut self, function: F)
    where
        F: FnMut(M, &mut BehaviorContext<'_, M>) -> O + Send + 'static,
        O: Outcome,
    {
        self.becomes_behavior(behavior(function));
    }

    /// Replaces the actor's closure with `behavior`, like [`BehaviorContext::becomes`].
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
        // The behavior has already been replaced, so a panic while the old closure is dropped must
        // not undo the turn.
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
