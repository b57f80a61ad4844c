//! Options of a connection: limits on sizes, times and queues.

use std::fmt;
use std::time::Duration;

use crate::tag::Suite;

/// Upper limit of [`Options::payload_bytes_max`].
const PAYLOAD_BYTES_LIMIT: u32 = 1 << 30;

/// Options of a connection. Both sides should use the same suite and the same maximum size of
/// payloads. Each side can choose the other options independently.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use garrick_secure::Options;
///
/// let options = Options {
///     frame_timeout: Duration::from_secs(5),
///     ..Options::default()
/// };
/// assert_eq!(options.check(), Ok(()));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Algorithms.
    pub suite: Suite,
    /// Maximum size of a payload in bytes, 1 to 2^30. A longer frame is rejected before any of its
    /// data is stored.
    pub payload_bytes_max: u32,
    /// Time limit of the greeting.
    pub greeting_timeout: Duration,
    /// Time limit for a whole frame, from its first byte to its last.
    pub frame_timeout: Duration,
    /// Time limit for the silence between two frames. `None` means no limit.
    pub silence_timeout: Option<Duration>,
    /// Maximum time during which the transport may accept no data, although data is waiting to be
    /// written.
    pub write_timeout: Duration,
    /// Maximum number of frames that the listener holds or will receive. While the maximum is
    /// reached, no frame is read.
    pub window: u32,
    /// Maximum number of payloads that wait to be written.
    pub queue: usize,
    /// Maximum number of bytes to read at once. A longer frame may exceed it.
    pub read_bytes_max: usize,
}

/// An option that is out of bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OptionsError {
    option: &'static str,
    allowed: &'static str,
}

impl Options {
    /// Checks that all options are within their bounds.
    ///
    /// # Errors
    /// Returns an error that names the first option that is out of bounds, and its bounds.
    pub fn check(&self) -> Result<(), OptionsError> {
        let wrong = |option, allowed| Err(OptionsError { option, allowed });
        if !(1..=PAYLOAD_BYTES_LIMIT).contains(&self.payload_bytes_max) {
            return wrong("payload_bytes_max", "1 to 2^30");
        }
        if self.window == 0 {
            return wrong("window", "at least 1");
        }
        if self.queue == 0 {
            return wrong("queue", "at least 1");
        }
        if self.read_bytes_max < 64 {
            return wrong("read_bytes_max", "at least 64");
        }
        Ok(())
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            suite: Suite::default(),
            payload_bytes_max: 1 << 20,
            greeting_timeout: Duration::from_secs(10),
            frame_timeout: Duration::from_secs(30),
            silence_timeout: None,
            write_timeout: Duration::from_secs(30),
            window: 32,
            queue: 32,
            read_bytes_max: 256 * 1024,
        }
    }
}

impl fmt::Display for OptionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is out of bounds: {} is allowed",
            self.option, self.allowed
        )
    }
}

impl std::error::Error for OptionsError {}
