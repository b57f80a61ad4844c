//! Configuration of a sampler.

use std::fmt;
use std::time::Duration;

use crate::alert::Threshold;

/// Minimum and maximum time between two samples.
const INTERVALS: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(10));

/// Minimum and maximum length of the window.
const WINDOWS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(600));

/// Configuration of a sampler.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Time between two samples, from 10 ms to 10 s. The default is 100 ms.
    pub interval: Duration,
    /// Length of the time window over which rates and percentiles are computed: from 100 ms to 10
    /// min, and at least the `interval`. The default is 10 s.
    pub window: Duration,
    /// Name of the process. The default is the name of its executable.
    pub name: Option<String>,
    /// Thresholds that raise alerts. The default is [`Threshold::defaults`].
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

/// The error returned when an interval or a window is out of range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsError {
    /// Name of the setting that is out of range.
    what: &'static str,
    given: Duration,
    /// Minimum value of the setting. The field `most` contains the maximum value.
    least: Duration,
    most: Duration,
}

impl Settings {
    /// Returns an error if a value is out of range.
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
            "the telemetry {what} is {given:?}, but must be from {least:?} to {most:?}"
        )
    }
}

impl std::error::Error for SettingsError {}
