//! Questions whose answers may be application errors.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{self, Poll};
use std::time::Duration;

use garrick_sched::{Ask, NoReply};

/// A question under way: an [`Ask`] whose answer is `T` or an error `E`. A missing answer is
/// converted into `E`, so that a single `?` is enough.
///
/// # Cancel safety
/// Same as [`Ask`].
#[must_use = "a request that nobody waits for has no result"]
pub struct Request<T: 'static, E: 'static> {
    ask: Ask<Result<T, E>>,
}

impl<T: 'static, E: From<NoReply> + 'static> Request<T, E> {
    pub(crate) fn new(ask: Ask<Result<T, E>>) -> Self {
        Self { ask }
    }

    /// Waits for the answer. Parks the thread.
    ///
    /// # Errors
    /// Returns the error of the answer, or the error converted from [`NoReply`].
    pub fn wait(self) -> Result<T, E> {
        flatten(self.ask.wait())
    }

    /// Waits for the answer for at most `timeout`. Parks the thread.
    ///
    /// # Errors
    /// Returns the errors of [`Request::wait`]. [`NoReply::TimedOut`] is one of the converted
    /// errors.
    pub fn wait_timeout(self, timeout: Duration) -> Result<T, E> {
        flatten(self.ask.wait_timeout(timeout))
    }
}

/// Flattens two errors into one.
pub(crate) fn flatten<T, E: From<NoReply>>(answer: Result<Result<T, E>, NoReply>) -> Result<T, E> {
    answer.unwrap_or_else(|none| Err(none.into()))
}

impl<T: 'static, E: From<NoReply> + 'static> Future for Request<T, E> {
    type Output = Result<T, E>;

    fn poll(mut self: Pin<&mut Self>, context: &mut task::Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.ask).poll(context).map(flatten)
    }
}

impl<T: 'static, E: 'static> fmt::Debug for Request<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Request").field(&self.ask).finish()
    }
}
