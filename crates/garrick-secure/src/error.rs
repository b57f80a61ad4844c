//! Errors that close a connection.

use std::fmt;
use std::io;
use std::time::Duration;

/// A part of the data on the wire.
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

/// A wait that can time out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Wait {
    /// Wait for the whole greeting.
    Greeting,
    /// Wait for the rest of a frame that has begun.
    Frame,
    /// Wait for the next frame.
    Silence,
    /// Wait for the transport to accept data.
    Write,
}

/// A failed check of a connection. Data that failed a check is never passed to an actor.
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
        /// Bytes received instead of `GRK` and the version.
        found: [u8; 4],
    },
    /// Both sides connect, or both accept. The greeting of this side may also have been sent back
    /// to it.
    SameRole,
    /// The peer uses another suite.
    Suite {
        /// Number of this side's suite.
        ours: u8,
        /// Number of the peer's suite.
        theirs: u8,
    },
    /// The peer has another key, or the greeting was changed on the way.
    WrongKey,
    /// The length of a frame is zero or above the limit.
    Length {
        /// Length that the frame claims.
        found: u32,
        /// Maximum length allowed.
        max: u32,
    },
    /// The tag of a frame is wrong: the frame was changed on the way, or sealed with another key.
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
    /// A frame arrived too early: other frames are missing or delayed.
    OutOfOrder {
        /// Number of the expected frame.
        expected: u64,
        /// Number of the received frame.
        found: u64,
    },
    /// An authentic frame has an unknown kind.
    Kind {
        /// Number of the received kind.
        found: u8,
    },
    /// The stream ended inside a part.
    Truncated {
        /// The incomplete part.
        part: Part,
        /// Number of bytes received.
        have: usize,
        /// Number of bytes of the whole part.
        want: usize,
    },
    /// The stream ended between two frames, but the peer had not sent its last frame. An attacker
    /// may have cut the stream.
    Unfinished,
    /// A wait took too long.
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
    /// All 2^64 - 1 frame numbers are used up.
    Exhausted,
    /// The system has no randomness.
    Randomness,
    /// The listener has stopped.
    Deserted,
    /// The local side closed the connection with [`Connection::close`](crate::Connection::close).
    Closed,
    /// A part of the connection has panicked: the transport, or an actor of the connection.
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
            Self::NotOurs { found } => write!(f, "the peer speaks another protocol: {found:02x?}"),
            Self::SameRole => f.write_str("both sides connect, or both accept"),
            Self::Suite { ours, theirs } => {
                write!(f, "the peer uses suite {theirs}, and we use {ours}")
            }
            Self::WrongKey => f.write_str("the peer has another key"),
            Self::Length { found, max } => {
                write!(f, "a frame of {found} bytes: 1 to {max} bytes are allowed")
            }
            Self::Forged { sequence } => write!(f, "the tag of frame {sequence} is wrong"),
            Self::Replayed { expected, found } => {
                write!(f, "frame {found} arrived again, expected frame {expected}")
            }
            Self::OutOfOrder { expected, found } => {
                write!(f, "frame {found} came early, expected frame {expected}")
            }
            Self::Kind { found } => write!(f, "an authentic frame of unknown kind {found}"),
            Self::Truncated { part, have, want } => {
                write!(f, "the stream ended after {have} of {want} bytes of {part}")
            }
            Self::Unfinished => f.write_str("the stream ended without an end frame"),
            Self::TimedOut { wait, limit } => write!(f, "{wait} within {limit:?}"),
            Self::Io { message, .. } => write!(f, "the transport failed: {message}"),
            Self::Exhausted => f.write_str("no frame numbers are left"),
            Self::Randomness => f.write_str("the system has no randomness"),
            Self::Deserted => f.write_str("the listener has stopped"),
            Self::Closed => f.write_str("this side closed the connection"),
            Self::Panicked { actor } => write!(f, "the connection's {actor} has panicked"),
        }
    }
}

impl std::error::Error for Error {}
