//! Requests to end a run early.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::scenario::Result;

/// Exit code of a process that is interrupted twice: the code a shell reports after SIGINT.
const INTERRUPTED: i32 = 130;

/// A request, made from any thread, that a run end early. Clones share it.
///
/// # Examples
/// ```
/// use garrick_measure::Stop;
///
/// let stop = Stop::new();
/// let elsewhere = stop.clone();
/// std::thread::spawn(move || elsewhere.wish()).join().unwrap();
/// assert!(stop.is_wanted());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Creates a request that is not made yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a request that Ctrl-C makes. A second Ctrl-C ends the process at once.
    ///
    /// # Errors
    /// Fails if another part of the process already handles Ctrl-C.
    pub fn on_ctrl_c() -> Result<Self> {
        let stop = Self::new();
        let heard = stop.clone();
        ctrlc::set_handler(move || {
            if heard.is_wanted() {
                process::exit(INTERRUPTED);
            }
            heard.wish();
        })?;
        Ok(stop)
    }

    /// Asks the run to end after the trial in progress.
    pub fn wish(&self) {
        // The flag publishes nothing else.
        self.0.store(true, Relaxed);
    }

    /// Returns true if an early end was requested.
    pub fn is_wanted(&self) -> bool {
        self.0.load(Relaxed)
    }
}
