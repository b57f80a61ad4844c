//! Doors to several receivers with bounded mailboxes.
//!
//! Such a door has no [`Room`](crate::Room) of its own. A sender that must not lose a message tries
//! to send it, and otherwise waits for the receiver whose mailbox is full, and tries again:
//!
//! ```text
//!   try_send ---- Full ----> full: which receiver? ----> free: wait for a place, give it back
//!      ^                                                              |
//!      +--------------------------------------------------------------+
//! ```

use std::fmt;
use std::future::Future;
use std::pin::Pin;

/// The error returned by [`Address::try_send`](crate::Address::try_send) when a message was not
/// accepted. Contains the message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TrySendError<M> {
    /// The mailbox is full.
    Full(M),
    /// The task has stopped, or does not accept the message for a reason other than a full mailbox.
    Stopped(M),
}

impl<M> fmt::Debug for TrySendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "Full(..)",
            Self::Stopped(_) => "Stopped(..)",
        })
    }
}

impl<M> fmt::Display for TrySendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = std::any::type_name::<M>();
        match self {
            Self::Full(_) => write!(f, "the mailbox has no room for this {message}"),
            Self::Stopped(_) => write!(f, "the receiver of this {message} has stopped"),
        }
    }
}

impl<M> std::error::Error for TrySendError<M> {}

/// Access to the bounded mailboxes of several receivers behind a door
/// ([`Gauged::several`](crate::Gauged::several)).
#[doc(hidden)]
pub trait Several<M> {
    /// Sends `message` if all mailboxes that must get it have room now. Does not wait.
    ///
    /// # Errors
    /// Returns the message and the reason.
    fn try_send(&self, message: M) -> Result<(), TrySendError<M>>;

    /// Returns a receiver whose full mailbox makes [`Several::try_send`] fail for `message`. If
    /// `message` is `None`, returns a receiver that makes it fail for every message. A message that
    /// is given is still there after the call.
    fn full(&self, message: &mut Option<M>) -> Option<&(dyn Waits + Sync)>;
}

/// A receiver of messages of any type, with a bounded mailbox.
#[doc(hidden)]
pub trait Waits {
    /// Waits until the mailbox has had a free place.
    fn free(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;

    /// Blocks the calling thread until the mailbox has had a free place.
    fn free_blocking(&self);

    /// Returns true if only the calling thread runs the receiver, so that this thread must not wait
    /// for a place.
    fn is_run_here(&self) -> bool;
}
