//! What a sampler is told once.

use std::fmt;
use std::time::Duration;

use crate::alert::Threshold;

/// The shortest and the longest time between two looks.
const INTERVALS: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(10));

/// The shortest and the longest window.
const WINDOWS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(600));

/// What a sampler is told once.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The time between two looks, 10 ms to 10 s; 100 ms unless told.
    pub interval: Duration,
    /// What rates and percentiles are taken over, 100 ms to 10 min and no less than the interval; 10 s unless told.
    pub window: Duration,
    /// What the process is called; after its executable unless told.
    pub name: Option<String>,
    /// When to be alarmed; [`Threshold::defaults`] unless told.
    pub thresholds: Vec<Threshold>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            interval: Duration::from_millis(100),
            window: Duration::from_secs(10),
            name: None,
            thresholds: Threshold::defaults(),
        }
    }
}

/// An interval or window that is out of range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsError {
    /// What was set.
    what: &'static str,
    given: Duration,
    /// The range.
    least: Duration,
    most: Duration,
}

impl Settings {
    /// Fails if a value is out of range.
    pub(crate) fn check(&self) -> Result<(), SettingsError> {
        let (least, most) = INTERVALS;
        check("interval", self.interval, least, most)?;
        let (least, most) = WINDOWS;
        check("window", self.window, least.max(self.interval), most)
    }
}

fn check(
    what: &'static str,
    given: Duration,
    least: Duration,
    most: Duration,
) -> Result<(), SettingsError> {
    if (least..=most).contains(&given) {
        return Ok(());
    }
    Err(SettingsError {
        what,
        given,
        least,
        most,
    })
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            what,
            given,
            least,
            most,
        } = self;
        write!(
            f,
            "the {what} is {given:?}; it may be {least:?} to {most:?}"
        )
    }
}

impl std::error::Error for SettingsError {}
