//! Threads that start together.

use std::sync::{Arc, Barrier};
use std::thread;

use garrick_measure::{Clock, Result, Stopwatch};

/// Threads that wait to start together. Each thread returns a result.
#[derive(Debug)]
pub(crate) struct Crowd<R> {
    /// Barrier for the threads and the measuring thread. All of them wait at the barrier twice.
    /// After the first wait, all threads are ready. After the second wait, the threads begin to
    /// work.
    barrier: Arc<Barrier>,
    threads: Vec<thread::JoinHandle<R>>,
}

impl<R: Send + 'static> Crowd<R> {
    /// Starts `count` threads, which are numbered from 0. `body` receives the number of a thread,
    /// and returns the function that this thread runs.
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

    /// Starts the stopwatch, and then releases the threads. So the measurement includes the time to
    /// wake the threads. If the stopwatch were started after the release, the threads could do all
    /// their work before the stopwatch starts.
    pub(crate) fn begin(&self) -> Stopwatch {
        self.barrier.wait();
        let watch = Stopwatch::start(Clock::Process);
        self.barrier.wait();
        watch
    }

    /// Waits for the threads to end.
    ///
    /// # Panics
    /// Panics if one of the threads panicked.
    pub(crate) fn disperse(self) -> Vec<R> {
        let end =
            |thread: thread::JoinHandle<R>| thread.join().expect("a thread of a crowd panicked");
        self.threads.into_iter().map(end).collect()
    }
}
