//! Shared code of the tests of piped futures: an actor that pipes futures which wait at a gate.
#![allow(dead_code, reason = "each scenario uses a part of it")]

use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Poll, Waker};

use garrick_actor::future::PipeError;
use garrick_actor::{Actor, Context, Next};
use garrick_testkit::fail;

/// A value that counts how many values of its kind exist.
pub(crate) struct Guest(Arc<AtomicUsize>);

impl Guest {
    pub(crate) fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count.clone())
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A message to an actor that pipes futures.
pub(crate) enum Msg {
    /// Pipe that many futures, each of which returns its index. Then end the turn as given.
    Pipe(u32, Next),
    /// Pipe a future that panics when it has been polled the given number of times.
    Panic(u32),
    Piped(Result<u32, PipeError>),
    Fail,
    Stop,
}

/// State of a gate at which futures wait until it opens, with the wakers of these futures.
#[derive(Default)]
struct Lock {
    is_open: bool,
    waiting: Vec<Waker>,
    polled: usize,
}

/// A gate at which futures wait until it opens.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<Mutex<Lock>>);

impl Gate {
    async fn pass(self, n: u32, guest: Guest) -> u32 {
        let mut is_first = true;
        poll_fn(|task| {
            let mut lock = self.0.lock().unwrap();
            lock.polled += usize::from(std::mem::take(&mut is_first));
            if lock.is_open {
                return Poll::Ready(());
            }
            lock.waiting.push(task.waker().clone());
            Poll::Pending
        })
        .await;
        drop(guest);
        n
    }

    /// Opens the gate, and wakes the futures that wait at it.
    pub(crate) fn open(&self) {
        let mut lock = self.0.lock().unwrap();
        lock.is_open = true;
        let waiting = std::mem::take(&mut lock.waiting);
        drop(lock);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Closes the gate, and forgets which futures were polled.
    pub(crate) fn close(&self) {
        *self.0.lock().unwrap() = Lock::default();
    }

    /// Returns how many futures were polled at least once.
    pub(crate) fn polled(&self) -> usize {
        self.0.lock().unwrap().polled
    }
}

/// Pipes futures and sends their results to the test.
pub(crate) struct Piper {
    pub(crate) gate: Gate,
    pub(crate) guests: Arc<AtomicUsize>,
    pub(crate) heard: mpsc::Sender<Result<u32, PipeError>>,
}

impl Actor for Piper {
    type Msg = Msg;
    type Outcome = Next;

    fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) -> Next {
        match msg {
            Msg::Pipe(count, next) => {
                for n in 0..count {
                    let guest = Guest::new(&self.guests);
                    cx.pipe(self.gate.clone().pass(n, guest), Msg::Piped);
                }
                return next;
            }
            Msg::Panic(polls) => {
                let mut left = polls;
                let future = poll_fn(move |task| {
                    left -= 1;
                    if left == 0 {
                        fail();
                    }
                    task.waker().wake_by_ref();
                    Poll::Pending
                });
                cx.pipe(future, Msg::Piped);
            }
            Msg::Piped(result) => self.heard.send(result).unwrap(),
            Msg::Fail => return cx.fail("as told"),
            Msg::Stop => return Next::Stop,
        }
        Next::Continue
    }
}
