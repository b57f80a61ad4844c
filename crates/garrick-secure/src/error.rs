//! Errors that close a connection.

use std::fmt;
use std::io;
use std::time::Duration;

/// A part of the data that the peers exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Part {
    /// The hello at the beginning of a connection.
    Hello,
    /// The proof of the key at the end of the greeting.
    Proof,
    /// The length at the beginning of a frame.
    Length,
    /// The encrypted body of a frame.
    Body,
    /// The tag at the end of a frame.
    Tag,
}

/// A kind of wait that has a time limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Wait {
    /// The wait for the whole greeting.
    Greeting,
    /// The wait for the rest of a frame that has begun.
    Frame,
    /// The wait for the next frame.
    Silence,
    /// The wait for the transport to accept data.
    Write,
}

/// The error returned when a check of the protocol fails, and the reason why a connection was
/// closed. Data that fails a check is never passed to an actor.
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
    /// The peer's first bytes do not belong to this version of the protocol.
    NotOurs {
        /// First four bytes from the peer, where `GRK` and the version are expected.
        found: [u8; 4],
    },
    /// Both sides are clients, or both are servers. An attacker may also have sent this side's
    /// greeting back to it.
    SameRole,
    /// The peer uses another cipher suite.
    Suite {
        /// Number of this side's suite in the greeting.
        ours: u8,
        /// Number of the peer's suite in the greeting.
        theirs: u8,
    },
    /// The peer has another key, or the greeting was changed in transit.
    WrongKey,
    /// The length of a frame is zero or above the limit. For a received frame, both fields count
    /// the encrypted body, which is one byte longer than the payload. For a payload that this side
    /// seals, they count the payload.
    Length {
        /// The rejected length in bytes.
        found: u32,
        /// The maximum length in bytes.
        max: u32,
    },
    /// The tag of a frame is wrong: the frame was changed in transit, or sealed with another key.
    Forged {
        /// Number of the expected frame.
        sequence: u64,
    },
    /// An earlier frame arrived again.
    Replayed {
        /// Number of the expected frame.
        expected: u64,
        /// Number of the received frame.
        found: u64,
    },
    /// A frame arrived too early: earlier frames are missing or delayed.
    OutOfOrder {
        /// Number of the expected frame.
        expected: u64,
        /// Number of the received frame.
        found: u64,
    },
    /// A frame is authentic, but its kind is unknown.
    Kind {
        /// Number of the unknown kind.
        found: u8,
    },
    /// The stream ended in the middle of a part of the data.
    Truncated {
        /// The incomplete part.
        part: Part,
        /// Number of bytes of the part that were received.
        have: usize,
        /// Total number of bytes of the part.
        want: usize,
    },
    /// The stream ended between two frames, but the peer had not sent its last frame. An attacker
    /// may have cut the stream.
    Unfinished,
    /// A wait exceeded its time limit.
    TimedOut {
        /// Kind of the wait.
        wait: Wait,
        /// Time limit of the wait.
        limit: Duration,
    },
    /// The transport failed.
    Io {
        /// Kind of the failure.
        kind: io::ErrorKind,
        /// Message of the transport's error.
        message: String,
    },
    /// All 2^64 - 1 frame numbers of one direction have been used.
    Exhausted,
    /// The operating system could not provide random bytes.
    Randomness,
    /// The listener has stopped.
    Deserted,
    /// The local side closed the connection with [`Connection::close`](crate::Connection::close).
    Closed,
    /// The transport or an actor of the connection has panicked.
    Panicked {
        /// Name of the actor that panicked.
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
