//! Limits of encoding and decoding.

/// Number of bytes that decoding may allocate for any message, regardless of its length. Without
/// this allowance, a short message with a small map would be refused.
pub(crate) const MEMORY_FREE: usize = 16 * 1024;

/// Limits of the size, the nesting and the memory of a message. The sender and the receiver check
/// the limits, so a sender learns early that its message is too large.
///
/// # Examples
/// ```
/// use garrick_wire::{Limits, Reason};
///
/// let limits = Limits::new().message_bytes(4);
/// let mut bytes = Vec::new();
/// limits.encode("text".to_owned(), &mut bytes)?;
/// assert_eq!(limits.decode::<String>(&bytes)?, "text");
///
/// let error = limits.encode("a text".to_owned(), &mut bytes).unwrap_err();
/// assert_eq!(*error.reason(), Reason::MessageBytes { max: 4 });
/// assert_eq!(bytes, b"text"); // The bytes are as before.
/// # Ok::<(), garrick_wire::WireError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub(crate) message_bytes: usize,
    pub(crate) depth: u32,
    pub(crate) memory_multiple: usize,
}

impl Limits {
    /// Creates the default limits: a message may have up to 1 MiB and up to 64 levels of nested
    /// messages, and decoding may allocate 64 bytes of memory for each byte of the message.
    pub const fn new() -> Self {
        Self {
            message_bytes: 1024 * 1024,
            depth: 64,
            memory_multiple: 64,
        }
    }

    /// Sets the maximum length of a message, in bytes. The default is 1 MiB.
    #[must_use]
    pub const fn message_bytes(self, message_bytes: usize) -> Self {
        Self {
            message_bytes,
            ..self
        }
    }

    /// Sets the maximum depth of nested messages. The default is 64. The decoder needs stack memory
    /// for each level: space for a value of the type, and for the stack frames of the functions
    /// that decode it.
    #[must_use]
    pub const fn depth(self, depth: u32) -> Self {
        Self { depth, ..self }
    }

    /// Sets the number of bytes that decoding may allocate for each byte of a message. The default
    /// is 64. In addition, decoding may allocate 16 KiB for each message.
    ///
    /// The memory is counted before it is allocated. For example, an empty text in a list of texts
    /// takes one byte in the message, but 24 bytes of memory.
    #[must_use]
    pub const fn memory_multiple(self, memory_multiple: usize) -> Self {
        Self {
            memory_multiple,
            ..self
        }
    }

    /// Returns the maximum number of bytes that decoding a message of `len` bytes may allocate.
    pub(crate) const fn memory(&self, len: usize) -> usize {
        self.memory_multiple
            .saturating_mul(len)
            .saturating_add(MEMORY_FREE)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::new()
    }
}
