//! Errors that close a connection.

use std::fmt;
use std::io;
use std::time::Duration;

/// A part of the data that the peers exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Part {
    /// The hello: the first message that each side sends.
    Hello,
    /// The proof: the second message that each side sends, which proves that the sender has the
    /// key.
    Proof,
    /// The length field at the beginning of a frame.
    Length,
    /// The encrypted body of a frame.
    Body,
    /// The authentication tag at the end of a frame.
    Tag,
}

/// A kind of wait that has a time limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Wait {
    /// The wait until the greeting, the exchange of messages at the start of a connection, is
    /// complete.
    Greeting,
    /// The wait for the rest of a partly received frame.
    Frame,
    /// The wait until the peer's next frame begins.
    Silence,
    /// The wait until the transport accepts data.
    Write,
}

/// The reason why a check of the protocol failed, or why a connection was closed. Data that fails a
/// check is never passed to an actor.
///
/// # Examples
/// ```
/// use garrick_secure::Error;
///
/// let error = Error::Replayed { expected: 7, found: 5 };
/// assert_eq!(error.to_string(), "frame 5 arrived again, expected frame 7");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The peer's first message does not belong to this version of the protocol.
    NotOurs {
        /// The first four bytes from the peer. They should be `GRK` and the version number.
        found: [u8; 4],
    },
    /// Both sides are clients, or both are servers. This error also occurs if an attacker
    /// sends this side's own greeting back to it.
    SameRole,
    /// The two sides use different cipher suites.
    Suite {
        /// The number that identifies this side's cipher suite in the greeting.
        ours: u8,
        /// The number that identifies the peer's cipher suite in the greeting.
        theirs: u8,
    },
    /// The peer has a different key, or the greeting was changed in transit.
    WrongKey,
    /// The length of a frame is zero or above the limit. For a received frame, `found` and `max`
    /// are lengths of the encrypted body, which is one byte longer than the payload. For a frame to
    /// be sent, `found` and `max` are lengths of the payload.
    Length {
        /// The rejected length in bytes.
        found: u32,
        /// The maximum length in bytes.
        max: u32,
    },
    /// The authentication tag of a frame is wrong. The frame was changed in transit, or was created
    /// with a different key.
    Forged {
        /// Sequence number of the frame that was expected.
        sequence: u64,
    },
    /// An earlier frame arrived again.
    Replayed {
        /// Sequence number of the frame that was expected.
        expected: u64,
        /// Sequence number of the received frame.
        found: u64,
    },
    /// A frame arrived too early: earlier frames are missing or delayed.
    OutOfOrder {
        /// Sequence number of the frame that was expected.
        expected: u64,
        /// Sequence number of the received frame.
        found: u64,
    },
    /// A frame is authentic, but its kind is unknown.
    Kind {
        /// The number that stands for the unknown kind in the frame.
        found: u8,
    },
    /// The stream ended within a frame, or within a message of the greeting.
    Truncated {
        /// The part of the data that is incomplete.
        part: Part,
        /// Number of received bytes of the incomplete part.
        have: usize,
        /// Full size of the incomplete part in bytes.
        want: usize,
    },
    /// The stream ended after a complete message, but the peer has not sent its last frame,
    /// [`Kind::End`](crate::Kind::End). An attacker may have cut the stream.
    Unfinished,
    /// The time limit of a wait was exceeded.
    TimedOut {
        /// The kind of wait that exceeded its time limit.
        wait: Wait,
        /// The time limit that was exceeded.
        limit: Duration,
    },
    /// The transport failed.
    Io {
        /// Kind of the transport's error.
        kind: io::ErrorKind,
        /// Message of the transport's error.
        message: String,
    },
    /// All 2^64 - 1 frame numbers of one direction have been used.
    Exhausted,
    /// The operating system could not provide random bytes.
    Randomness,
    /// The actor that receives the connection's events, the [`Listener`](crate::Listener), has
    /// stopped.
    Deserted,
    /// This side closed the connection by calling [`Connection::close`](crate::Connection::close).
    Closed,
    /// An actor of the connection has panicked. A panic of the transport also causes this error.
    Panicked {
        /// Name of the actor that panicked, or that was using the transport when the transport
        /// panicked.
        actor: &'static str,
    },
}

impl Error {
    /// Converts an error of the transport.
    pub(crate) fn io(error: &io::Error) -> Self {
        Self::Io {
            kind: error.kind(),
            message: error.to_string(),
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hello => "the greeting",
            Self::Proof => "the proof of the key",
            Self::Length => "a frame's length",
            Self::Body => "a frame's body",
            Self::Tag => "a frame's tag",
        })
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Greeting => "the greeting was not complete",
            Self::Frame => "a frame that had begun was not complete",
            Self::Silence => "no frame began",
            Self::Write => "the transport accepted no data",
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotOurs { found } => write!(
                f,
                "the peer uses another protocol or version: its first bytes are {found:02x?}"
            ),
            Self::SameRole => f.write_str("both sides are clients, or both are servers"),
            Self::Suite { ours, theirs } => {
                write!(
                    f,
                    "the peer uses cipher suite {theirs}, but this side uses {ours}"
                )
            }
            Self::WrongKey => {
                f.write_str("the peer has another key, or the greeting was changed in transit")
            }
            Self::Length { found, max } => {
                write!(
                    f,
                    "the length of a frame is {found} bytes, but 1 to {max} are allowed"
                )
            }
            Self::Forged { sequence } => write!(f, "the tag of frame {sequence} is wrong"),
            Self::Replayed { expected, found } => {
                write!(f, "frame {found} arrived again, expected frame {expected}")
            }
            Self::OutOfOrder { expected, found } => {
                write!(
                    f,
                    "frame {found} arrived too early, expected frame {expected}"
                )
            }
            Self::Kind { found } => write!(f, "an authentic frame has the unknown kind {found}"),
            Self::Truncated { part, have, want } => {
                write!(f, "the stream ended after {have} of {want} bytes of {part}")
            }
            Self::Unfinished => f.write_str("the stream ended without an end frame"),
            Self::TimedOut { wait, limit } => write!(f, "{wait} within {limit:?}"),
            Self::Io { message, .. } => write!(f, "the transport failed: {message}"),
            Self::Exhausted => f.write_str("no frame numbers are left"),
            Self::Randomness => f.write_str("the operating system could not provide random bytes"),
            Self::Deserted => f.write_str("the listener has stopped"),
            Self::Closed => f.write_str("this side closed the connection"),
            Self::Panicked { actor } => {
                write!(f, "the {actor} actor of the connection has panicked")
            }
        }
    }
}

impl std::error::Error for Error {}
