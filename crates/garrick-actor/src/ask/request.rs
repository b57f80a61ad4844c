//! Asks whose answers are `Result`s.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{self, Poll};
use std::time::Duration;

use garrick_sched::{Ask, NoReply};

/// A pending [`Ask`] whose answer is a `Result<T, E>`. If there is no answer, the [`NoReply`] is
/// converted into an `E`. So a single `?` handles both kinds of errors.
///
/// # Cancel safety
/// A request is cancel safe, like an [`Ask`].
#[must_use = "the result is lost unless you await the request or call `wait`"]
pub struct Request<T: 'static, E: 'static> {
    ask: Ask<Result<T, E>>,
}

impl<T: 'static, E: From<NoReply> + 'static> Request<T, E> {
    /// Creates a request from an ask.
    #[doc(hidden)]
    pub fn new(ask: Ask<Result<T, E>>) -> Self {
        Self { ask }
    }

    /// Blocks the thread until the answer arrives.
    ///
    /// # Errors
    /// Returns the error that the answer contains. If there is no answer, or if an actor calls this
    /// method, returns the error converted from [`NoReply`].
    pub fn wait(self) -> Result<T, E> {
        flatten(self.ask.wait())
    }

    /// Blocks the thread until the answer arrives, but for at most `timeout`.
    ///
    /// # Errors
    /// Returns the same errors as [`Request::wait`]. If the answer does not arrive within
    /// `timeout`, returns the error converted from [`NoReply::TimedOut`].
    pub fn wait_timeout(self, timeout: Duration) -> Result<T, E> {
        flatten(self.ask.wait_timeout(timeout))
    }
}

/// Flattens a nested result. The outer error is converted into the type of the inner error.
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
