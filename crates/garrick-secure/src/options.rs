//! What a connection is set up with: limits on sizes, times and places.

use std::fmt;
use std::time::Duration;

use crate::tag::Suite;

/// The most that [`Options::payload_bytes_max`] may be.
const PAYLOAD_BYTES_LIMIT: u32 = 1 << 30;

/// Limits of a connection. Both sides should agree on the suite and on the size of payloads; the rest is each side's own
/// business.
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
    /// The algorithms.
    pub suite: Suite,
    /// Bytes of the longest payload, 1 to 2^30. A frame that claims to be longer is refused before any of it is kept.
    pub payload_bytes_max: u32,
    /// How long the greeting may take.
    pub greeting_timeout: Duration,
    /// How long a frame may take from its first byte to its last.
    pub frame_timeout: Duration,
    /// How long it may be silent between two frames; for ever, if none.
    pub silence_timeout: Option<Duration>,
    /// How long the transport may take nothing of what is to be written.
    pub write_timeout: Duration,
    /// Frames that may lie with whoever is told of them, or on the way there. While so many do, nothing is read.
    pub window: u32,
    /// Payloads that may wait to be written.
    pub queue: usize,
    /// Bytes that are read at once, at most, unless a frame is longer.
    pub read_bytes_max: usize,
}

/// A limit that leaves no room, or too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OptionsError {
    option: &'static str,
    allowed: &'static str,
}

impl Options {
    /// Whether one can work within these limits.
    ///
    /// # Errors
    /// Names the first option that is out of bounds, and the bounds.
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
