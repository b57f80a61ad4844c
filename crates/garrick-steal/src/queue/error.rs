//! The errors that a push or a pop returns. The error of a push contains the value that was not
//! sent.

use std::{error::Error, fmt};

/// The error returned by a send if the queue is closed or the receiver was dropped. The error
/// contains the values that were not sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SendError<T>(pub T);

/// The error returned by a send that does not wait. Contains the value that was not sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TrySendError<T> {
    /// The queue is full.
    Full(T),
    /// The queue is closed, or the receiver was dropped.
    Closed(T),
}

/// The error returned by a receive with a timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PopTimeoutError {
    /// No value arrived before the timeout.
    Timeout,
    /// The queue is empty and will receive no more values, because it is closed or all senders were
    /// dropped.
    Closed,
}

impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SendError(..)")
    }
}

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the queue is closed")
    }
}

impl<T> Error for SendError<T> {}

impl<T> fmt::Debug for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "Full(..)",
            Self::Closed(_) => "Closed(..)",
        })
    }
}

impl<T> fmt::Display for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "the queue is full",
            Self::Closed(_) => "the queue is closed",
        })
    }
}

impl<T> Error for TrySendError<T> {}

impl fmt::Display for PopTimeoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Timeout => "no value arrived before the timeout",
            Self::Closed => "the queue is empty and closed",
        })
    }
}

impl Error for PopTimeoutError {}
