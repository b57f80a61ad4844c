//! What the scenarios share: a clock by hand, a task made of a closure, silence for panics on purpose,
//! and an end for scenarios that hang.
#![allow(dead_code, unused_imports, reason = "each scenario uses a part of it")]

mod panics;
mod world;

use std::marker::PhantomData;
use std::panic;
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use garrick_sched::{Flow, Task, Turn};
pub(crate) use panics::{ON_PURPOSE, fail, silence_panics};
pub(crate) use world::ByHand;

/// What a scenario that hangs may take. Nothing is measured by it.
const HANGS_AFTER: Duration = Duration::from_secs(20);

/// A receiver that is given up when the scenario hangs.
pub(crate) fn wait<T>(channel: &mpsc::Receiver<T>) -> T {
    channel.recv_timeout(HANGS_AFTER).expect("it never comes")
}

/// Runs `scenario` on a thread of its own, and fails if it does not end.
pub(crate) fn ends(scenario: impl FnOnce() + Send + 'static) {
    let (ended, end) = mpsc::channel();
    let thread = thread::spawn(move || {
        scenario();
        let _ = ended.send(());
    });
    if end.recv_timeout(HANGS_AFTER) == Err(mpsc::RecvTimeoutError::Timeout) {
        panic!("the scenario hangs");
    }
    if let Err(panic) = thread.join() {
        panic::resume_unwind(panic);
    }
}

/// One test of a file at a time, for counts that are of the whole process.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `scenario` alone in its file, on a thread of its own, whose spare blocks are back when it ends.
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

/// A task that is a closure.
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
