//! Code that several tests share: a task made of a closure, a task that reports its messages, a
//! task that makes a tree of tasks, and the counters of a kind of task. Code that tests of other
//! crates use as well is in `garrick-testkit`.
#![allow(dead_code, unused_imports, reason = "each scenario uses a part of it")]

mod listening;

use std::marker::PhantomData;

use garrick_sched::{Flow, Handle, KindSample, Task, Turn};
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

/// A task that makes two tasks of its own kind, until the number is 0.
pub(crate) struct Fork;

impl Task for Fork {
    type Message = u32;

    fn receive(&mut self, depth: u32, turn: &Turn<'_, u32>) -> Flow {
        for _ in 0..if depth > 0 { 2 } else { 0 } {
            turn.send(&turn.spawn(Fork), depth - 1).unwrap();
        }
        Flow::Continue
    }
}

/// Returns the counters of the kind of task whose name ends with `name`. Returns `None` if no task
/// of this kind was counted.
pub(crate) fn kind(handle: &Handle, name: &str) -> Option<KindSample> {
    let mut kinds = handle.sample().kinds.into_iter();
    kinds.find(|kind| kind.name.ends_with(name))
}
