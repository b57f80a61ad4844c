//! Requests to stop a run early.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::scenario::Result;

/// Exit code of a process that is interrupted twice. A shell reports the same code after SIGINT.
const INTERRUPTED: i32 = 130;

/// A request to stop a run early, which can be made from any thread. Clones refer to the same
/// request.
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
    /// Creates a request that has not been made yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a request that is made when the user presses Ctrl-C. A second Ctrl-C terminates the
    /// process at once.
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

    /// Requests that the run stops after the current trial.
    pub fn wish(&self) {
        // The flag publishes nothing else.
        self.0.store(true, Relaxed);
    }

    /// Returns true if the stop was requested.
    pub fn is_wanted(&self) -> bool {
        self.0.load(Relaxed)
    }
}
