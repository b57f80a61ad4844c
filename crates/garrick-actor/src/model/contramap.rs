//! Addresses mapped through a function.

use std::fmt;
use std::marker::PhantomData;

use garrick_sched::Address;

use crate::model::actor::Actor;
use crate::model::context::Context;
use crate::model::next::Next;

/// Maps an address through a function of the messages.
pub trait Contramap<M> {
    /// Creates an actor that receives `N`, and sends the result of `function` to this address.
    /// Spawn it where it is to run, and give its address away in place of this one.
    ///
    /// The actor stops when it finds that the actor behind this address has stopped. The message by
    /// which it finds out is counted as a dead letter.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::{Contramap, Local};
    ///
    /// let local = Local::new()?;
    /// let length = local.spawn_behavior(|n: usize, _| {
    ///     assert_eq!(n, 5);
    /// });
    /// let word = local.spawn(length.contramap(|word: &str| word.len()));
    /// word.send("hello")?;
    /// local.run();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn contramap<N, F>(&self, function: F) -> Contramapped<N, M, F>
    where
        N: 'static,
        F: Fn(N) -> M + 'static;
}

impl<M: 'static> Contramap<M> for Address<M> {
    fn contramap<N, F>(&self, function: F) -> Contramapped<N, M, F>
    where
        N: 'static,
        F: Fn(N) -> M + 'static,
    {
        Contramapped {
            to: self.clone(),
            function,
            from: PhantomData,
        }
    }
}

/// The actor made by [`Contramap::contramap`].
pub struct Contramapped<N, M, F> {
    to: Address<M>,
    function: F,
    from: PhantomData<fn(N)>,
}

impl<N, M, F> Actor for Contramapped<N, M, F>
where
    N: 'static,
    M: 'static,
    F: Fn(N) -> M + 'static,
{
    type Msg = N;
    type Outcome = Next;
    const STARTS: bool = false;

    #[inline]
    fn receive(&mut self, msg: N, cx: &mut Context<'_, N>) -> Next {
        cx.relay(&self.to, (self.function)(msg))
    }
}

impl<N, M, F> fmt::Debug for Contramapped<N, M, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Contramapped")
            .field("to", &self.to)
            .finish_non_exhaustive()
    }
}
