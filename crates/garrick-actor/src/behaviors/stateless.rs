//! Actors that are functions of a message.

use std::marker::PhantomData;

use crate::actor::{Actor, Next};
use crate::context::Context;

/// See [`stateless`].
pub(super) struct Stateless<M, F> {
    function: F,
    message: PhantomData<fn(M)>,
}

/// Makes an actor of a function that any number of threads could run at once: it changes nothing that it
/// captures, and the compiler checks that it may be shared.
pub(super) fn stateless<M, F>(function: F) -> Stateless<M, F>
where
    M: Send + 'static,
    F: Fn(M, &Context<'_, M>) -> Next + Send + Sync + 'static,
{
    Stateless {
        function,
        message: PhantomData,
    }
}

impl<M, F> Actor for Stateless<M, F>
where
    M: Send + 'static,
    F: Fn(M, &Context<'_, M>) -> Next + Send + Sync + 'static,
{
    type Msg = M;

    #[inline]
    fn receive(&mut self, msg: M, cx: &mut Context<'_, M>) -> Next {
        (self.function)(msg, cx)
    }
}
