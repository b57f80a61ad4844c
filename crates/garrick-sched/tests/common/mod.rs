//! Shared code of the scenarios: a clock set by hand, a task made of a closure, silence for panics
//! on purpose, and a timeout for scenarios that hang. Other crates' tests use single files of it.
#![allow(dead_code, unused_imports, reason = "each scenario uses a part of it")]

mod hang;
mod listening;
mod panics;
mod world;

use std::marker::PhantomData;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use garrick_sched::{Flow, Task, Turn};
pub(crate) use hang::{ends, wait};
pub(crate) use listening::Listening;
pub(crate) use panics::{ON_PURPOSE, fail, silence_panics};
pub(crate) use world::ByHand;

/// Runs one test of a file at a time, for counts of the whole process.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `scenario` alone in its file, on a separate thread, whose spare blocks are back when it
/// ends.
pub(crate) fn ends_alone(scenario: impl FnOnce() + Send + 'static) {
    let _alone = alone();
    ends(scenario);
}

/// Panics when dropped.
pub(crate) struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !thread::panicking() {
            fail();
        }
    }
}

/// Calls its closure when dropped.
pub(crate) struct OnDrop<F: FnMut()>(pub(crate) F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

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
