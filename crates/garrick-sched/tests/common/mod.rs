//! What the scenarios share: a clock by hand, a task made of a closure, silence for panics on purpose,
//! and an end for scenarios that hang.
#![allow(dead_code, reason = "each scenario uses a part of it")]

use std::io;
use std::marker::PhantomData;
use std::panic;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use garrick_sched::{Flow, Nanos, Task, Turn, World};

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

/// What panics say that are part of a scenario.
pub(crate) const ON_PURPOSE: &str = "on purpose";

/// Keeps panics on purpose from being printed.
pub(crate) fn silence_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if info.payload().downcast_ref::<&str>() != Some(&ON_PURPOSE) {
                print(info);
            }
        }));
    });
}

/// Panics on purpose.
pub(crate) fn fail() -> ! {
    panic::panic_any(ON_PURPOSE)
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

/// A world with a clock that is set by hand.
#[derive(Default)]
pub(crate) struct ByHand {
    now: AtomicU64,
}

impl ByHand {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.now.fetch_add(by.as_nanos() as u64, SeqCst);
    }
}

impl World for ByHand {
    fn now(&self) -> Nanos {
        self.now.load(SeqCst)
    }

    fn seed(&self) -> u64 {
        self.now.load(SeqCst)
    }

    fn spawn_thread(
        &self,
        name: String,
        body: Box<dyn FnOnce() + Send>,
    ) -> io::Result<JoinHandle<()>> {
        thread::Builder::new().name(name).spawn(body)
    }
}
