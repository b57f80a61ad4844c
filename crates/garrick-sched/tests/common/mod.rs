//! Code that several tests share: a task made of a closure, and a task that reports its messages.
//! Code that tests of other crates use as well is in `garrick-testkit`.
#![allow(dead_code, unused_imports, reason = "each scenario uses a part of it")]

mod listening;

use std::marker::PhantomData;

use garrick_sched::{Flow, Task, Turn};
pub(crate) use listening::Listening;

/// A task made of a closure.
pub(crate) struct Does<M, F> {
    receive: F,
    message: PhantomData<fn(M)>,
}

/// Makes a task of a closure.
pub(crate) fn does<M, F>(receive: F) -> Does<M, F>
where
    M: 'static,
    F: FnMut(M, &Turn<'_, M>) -> Flow + 'static,
{
    Does {
        receive,
        message: PhantomData,
    }
}

impl<M, F> Task for Does<M, F>
where
    M: 'static,
    F: FnMut(M, &Turn<'_, M>) -> Flow + 'static,
{
    type Message = M;

    fn receive(&mut self, message: M, turn: &Turn<'_, M>) -> Flow {
        (self.receive)(message, turn)
    }
}
