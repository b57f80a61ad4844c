//! Asking a run to end early.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::scenario::Result;

/// What a process exits with that is interrupted twice: as the shell does for one that is killed by it.
const INTERRUPTED: i32 = 130;

/// A wish that a run end before its time, which any thread can utter. Clones share it.
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
    /// One that nobody has uttered yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// One that Ctrl-C utters. A second Ctrl-C ends the process at once.
    ///
    /// # Errors
    /// If somebody else in the process waits for Ctrl-C.
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

    /// Asks the run to end after the trial that is under way.
    pub fn wish(&self) {
        // Nothing is published with it.
        self.0.store(true, Relaxed);
    }

    /// Whether that was asked for.
    pub fn is_wanted(&self) -> bool {
        self.0.load(Relaxed)
    }
}
