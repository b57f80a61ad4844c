//! Threads that begin together.

use std::sync::{Arc, Barrier};
use std::thread;

use garrick_measure::{Clock, Result, Stopwatch};

/// Threads that wait to begin together, each with a result of its own.
#[derive(Debug)]
pub(crate) struct Crowd<R> {
    /// Where they and the measuring thread meet: once when all are there, and once more to begin.
    barrier: Arc<Barrier>,
    threads: Vec<thread::JoinHandle<R>>,
}

impl<R: Send + 'static> Crowd<R> {
    /// Starts `count` threads, each with a body of its own, made from its number.
    pub(crate) fn gather<F: FnOnce() -> R + Send + 'static>(
        count: u64,
        mut body: impl FnMut(u64) -> F,
    ) -> Result<Self> {
        let barrier = Arc::new(Barrier::new(count as usize + 1));
        let start = |number| {
            let (barrier, body) = (barrier.clone(), body(number));
            let thread = thread::Builder::new().name(format!("crowd-{number}"));
            thread.spawn(move || {
                barrier.wait();
                barrier.wait();
                body()
            })
        };
        let threads = (0..count).map(start).collect::<std::io::Result<_>>()?;
        Ok(Self { barrier, threads })
    }

    /// Lets them go, and measures from then on. Their waking is part of the time: were the clock started
    /// after it, they could have done all their work before this thread is given a core again.
    pub(crate) fn begin(&self) -> Stopwatch {
        self.barrier.wait();
        let watch = Stopwatch::start(Clock::Process);
        self.barrier.wait();
        watch
    }

    /// Waits for their ends.
    ///
    /// # Panics
    /// If one of them did.
    pub(crate) fn disperse(self) -> Vec<R> {
        let end =
            |thread: thread::JoinHandle<R>| thread.join().expect("a thread of a crowd panicked");
        self.threads.into_iter().map(end).collect()
    }
}
