//! Options of a connection: limits on sizes, times and queues.

use std::fmt;
use std::time::Duration;

use crate::tag::Suite;

/// Upper limit of [`Options::payload_bytes_max`].
const PAYLOAD_BYTES_LIMIT: u32 = 1 << 30;

/// The options of a connection. Both sides must use the same suite, and should use the same maximum
/// payload size. Each side can choose the other options independently.
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
    /// The cipher suite, which must be the same on both sides.
    pub suite: Suite,
    /// Maximum size of a payload in bytes, from 1 to 2^30. A frame with a longer payload is
    /// rejected before any of its payload is stored. The default is 1 MiB.
    ///
    /// A frame can be authenticated only when all of it has arrived. So an attacker who can change
    /// bytes can make the connection store this number of bytes. The memory for a frame of more
    /// than 2 MiB is allocated while the frame arrives. After the check, such a frame is decrypted
    /// into new memory.
    pub payload_bytes_max: u32,
    /// Time limit for the whole greeting. The default is 10 s.
    pub greeting_timeout: Duration,
    /// Maximum time from the first to the last byte of a received frame. The default is 30 s.
    pub frame_timeout: Duration,
    /// Maximum time to wait until the peer's next frame begins. The default is `None`, which means
    /// no limit.
    pub silence_timeout: Option<Duration>,
    /// Time limit for each write to the transport. If the transport accepts no data for this time,
    /// the connection is closed. The default is 30 s.
    pub write_timeout: Duration,
    /// Maximum number of received frames that the listener has not yet dropped. Frames in the
    /// listener's mailbox and the frame that is being read count as well. When the maximum is
    /// reached, the next frame is read only after the listener has dropped a frame. Must be at
    /// least 1. The default is 32.
    pub window: u32,
    /// Maximum number of payloads that are waiting to be written. Must be at least 1. The default
    /// is 32.
    pub queue: usize,
    /// Maximum number of bytes to read at once. The limit does not apply to a single frame that is
    /// longer. Must be at least 64. The default is 256 KiB.
    pub read_bytes_max: usize,
}

/// The error returned when an option is out of bounds.
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
