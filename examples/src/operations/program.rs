//! A running program, and the thread that plays its clients.

use std::any::Any;
use std::fmt;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A running program. Dropping it stops the program.
pub struct Program {
    /// The parts of the program, such as its system. Dropping the parts stops the program.
    _parts: Box<dyn Any + Send>,
}

impl Program {
    pub(super) fn of(parts: impl Any + Send) -> Self {
        Self {
            _parts: Box::new(parts),
        }
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").finish_non_exhaustive()
    }
}

/// A thread that plays the clients of a program. Dropping this value ends the thread.
pub(super) struct Clients {
    /// Channel that is closed to end the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Clients {
    /// Calls `act` once in each period. The argument is the number of the call, counted from 0.
    pub(super) fn every(period: Duration, mut act: impl FnMut(u64) + Send + 'static) -> Self {
        let (stop, stopped) = mpsc::channel::<()>();
        let thread = thread::spawn(move || {
            let mut calls = 0;
            while stopped.recv_timeout(period) == Err(RecvTimeoutError::Timeout) {
                act(calls);
                calls += 1;
            }
        });
        Self {
            stop: Some(stop),
            thread: Some(thread),
        }
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A thread that has panicked has ended too.
            let _ = thread.join();
        }
    }
}
