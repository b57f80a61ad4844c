//! Why a connection ended: which check failed.

use std::fmt;
use std::io;
use std::time::Duration;

/// A part of what goes over the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Part {
    /// The greeting, with which a connection begins.
    Hello,
    /// The proof that one has the key, which ends the greeting.
    Proof,
    /// The length, with which a frame begins.
    Length,
    /// The encrypted body of a frame.
    Body,
    /// The tag that ends a frame.
    Tag,
}

/// What was waited for in vain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Wait {
    /// The whole greeting.
    Greeting,
    /// The rest of a frame that has begun.
    Frame,
    /// A frame.
    Silence,
    /// The transport, which took nothing of what was to be written.
    Write,
}

/// Which check a connection has failed. Nothing of what failed it has reached anybody.
///
/// # Examples
/// ```
/// use garrick_secure::Error;
///
/// let error = Error::Replayed { expected: 7, found: 5 };
/// assert_eq!(error.to_string(), "frame 5 came again where frame 7 was due");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The peer's first bytes are none of this protocol, or of another version of it.
    NotOurs {
        /// What came instead of `GRK` and the version.
        found: [u8; 4],
    },
    /// Both sides are the one that connects, or both the one that accepts; or our own greeting came back.
    SameRole,
    /// The peer has been set up for another suite.
    Suite {
        /// Our suite's number.
        ours: u8,
        /// The peer's.
        theirs: u8,
    },
    /// The peer has another key, or what was said in the greeting was changed on the way.
    WrongKey,
    /// A frame's length is zero or over the limit.
    Length {
        /// The length that the frame claims.
        found: u32,
        /// The most that is allowed.
        max: u32,
    },
    /// A frame's tag is wrong: it was changed on the way, or was made with another key.
    Forged {
        /// The number of the frame that was due.
        sequence: u64,
    },
    /// A frame that was opened before came again.
    Replayed {
        /// The number of the frame that was due.
        expected: u64,
        /// The number of the frame that came.
        found: u64,
    },
    /// A frame came before its turn: others are missing, or come later.
    OutOfOrder {
        /// The number of the frame that was due.
        expected: u64,
        /// The number of the frame that came.
        found: u64,
    },
    /// An authentic frame is of no kind that is known.
    Kind {
        /// Its kind.
        found: u8,
    },
    /// The stream ended amid something.
    Truncated {
        /// What it ended in.
        part: Part,
        /// Bytes of it that had come.
        have: usize,
        /// Bytes that it has.
        want: usize,
    },
    /// The stream ended between two frames, and the peer had not said that it would: somebody may have cut it.
    Unfinished,
    /// Something took too long.
    TimedOut {
        /// What was waited for.
        wait: Wait,
        /// How long.
        limit: Duration,
    },
    /// The transport failed.
    Io {
        /// What kind of failure it is.
        kind: io::ErrorKind,
        /// What the transport says.
        message: String,
    },
    /// All numbers for frames are used up: 2^64 - 1 of them.
    Exhausted,
    /// The system has no randomness to give.
    Randomness,
    /// Whoever was to be told of frames is gone.
    Deserted,
    /// We closed the connection ourselves, by [`Connection::close`](crate::Connection::close).
    Closed,
    /// A part of the connection has panicked: the transport, or we.
    Panicked {
        /// Which one.
        actor: &'static str,
    },
}

impl Error {
    /// What the transport says, as one of ours.
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
            Self::Greeting => "the greeting was not over",
            Self::Frame => "a frame that had begun was not complete",
            Self::Silence => "no frame began",
            Self::Write => "nothing of what was to be written was taken",
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
                write!(f, "a frame of {found} bytes: 1 to {max} are allowed")
            }
            Self::Forged { sequence } => write!(f, "the tag of frame {sequence} is wrong"),
            Self::Replayed { expected, found } => {
                write!(f, "frame {found} came again where frame {expected} was due")
            }
            Self::OutOfOrder { expected, found } => {
                write!(f, "frame {found} came where frame {expected} was due")
            }
            Self::Kind { found } => write!(f, "an authentic frame of unknown kind {found}"),
            Self::Truncated { part, have, want } => {
                write!(f, "the stream ended after {have} of {want} bytes of {part}")
            }
            Self::Unfinished => f.write_str("the stream ended, and the peer had not said so"),
            Self::TimedOut { wait, limit } => write!(f, "{wait} within {limit:?}"),
            Self::Io { message, .. } => write!(f, "the transport failed: {message}"),
            Self::Exhausted => f.write_str("there are no numbers left for frames"),
            Self::Randomness => f.write_str("the system has no randomness to give"),
            Self::Deserted => f.write_str("nobody is left to be told of frames"),
            Self::Closed => f.write_str("we closed the connection"),
            Self::Panicked { actor } => write!(f, "the connection's {actor} has panicked"),
        }
    }
}

impl std::error::Error for Error {}
