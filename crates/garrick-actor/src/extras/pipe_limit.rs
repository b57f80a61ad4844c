//! Limits on the number of an actor's futures.

use std::fmt;
use std::num::NonZero;
use std::sync::Arc;

use crate::beside::Beside;
use crate::beside::pipes::Pipes;
use crate::model::actor::Actor;
use crate::model::context::Context;

/// An actor with its own limit for [`Context::pipe`], created by [`with_pipe_limit`].
pub struct WithPipeLimit<A> {
    actor: A,
    pipes: Arc<Pipes>,
}

/// Wraps an actor so that at most `limit` of the futures it starts by [`Context::pipe`] are polled
/// at once. The others wait for a free place.
///
/// # Examples
/// ```
/// use std::num::NonZero;
/// use garrick_actor::{Local, behavior, with_pipe_limit};
///
/// let local = Local::new()?;
/// let one_by_one = local.spawn(with_pipe_limit(NonZero::<usize>::MIN, behavior(|n: u32, cx| {
///     if n < 10 {
///         cx.pipe(async move { n + 10 }, |n| n.unwrap_or(0));
///     }
/// })));
/// (0..10).for_each(|n| one_by_one.send(n).unwrap());
/// local.run();
/// # Ok::<(), garrick_actor::StartError>(())
/// ```
pub fn with_pipe_limit<A: Actor>(limit: NonZero<usize>, actor: A) -> WithPipeLimit<A> {
    WithPipeLimit {
        actor,
        pipes: Pipes::limited(limit.get()),
    }
}

impl<A: Actor> Actor for WithPipeLimit<A> {
    type Msg = A::Msg;
    type Outcome = A::Outcome;
    const STARTS: bool = A::STARTS;
    const BLOCKS: bool = A::BLOCKS;

    fn started(&mut self, cx: &mut Context<'_, A::Msg>) -> A::Outcome {
        let beside = Beside {
            pipes: Some(&self.pipes),
            ..cx.beside()
        };
        self.actor.started(&mut cx.with(&beside))
    }

    fn receive(&mut self, msg: A::Msg, cx: &mut Context<'_, A::Msg>) -> A::Outcome {
        let beside = Beside {
            pipes: Some(&self.pipes),
            ..cx.beside()
        };
        self.actor.receive(msg, &mut cx.with(&beside))
    }

    fn name() -> &'static str {
        A::name()
    }
}

impl<A> Drop for WithPipeLimit<A> {
    fn drop(&mut self) {
        self.pipes.cancel();
    }
}

impl<A: fmt::Debug> fmt::Debug for WithPipeLimit<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WithPipeLimit").field(&self.actor).finish()
    }
}
