//! Requests to stop a run early.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::scenario::Result;

/// Exit code of a process that is interrupted twice. A shell reports the same code after SIGINT.
const INTERRUPTED: i32 = 130;

/// A flag that asks a run to stop early. It can be set from any thread. All clones share the same
/// flag.
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
    /// Creates a flag that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a flag that is set when the user presses Ctrl-C. A second Ctrl-C terminates the
    /// process immediately.
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

    /// Sets the flag, so that the run stops after the current measurement.
    pub fn wish(&self) {
        // Relaxed: no other data is read because of the flag.
        self.0.store(true, Relaxed);
    }

    /// Returns true if the flag is set.
    pub fn is_wanted(&self) -> bool {
        self.0.load(Relaxed)
    }
}
