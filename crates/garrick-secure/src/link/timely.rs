//! Limits the time that a future may take.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use garrick_actor::AsyncContext;

use crate::error::{Error, Wait};

/// Returns the result of `future`, or an error if the future is not ready within `limit`. If the
/// future is ready at once, no timer is set.
pub(super) async fn timely<M: Send + 'static, R>(
    cx: &AsyncContext<M>,
    wait: Wait,
    limit: Duration,
    future: impl Future<Output = Result<R, Error>>,
) -> Result<R, Error> {
    let mut future = pin!(future);
    let mut time_over = pin!(cx.sleep(limit));
    poll_fn(|task| match future.as_mut().poll(task) {
        Poll::Pending => time_over
            .as_mut()
            .poll(task)
            .map(|()| Err(Error::TimedOut { wait, limit })),
        ready => ready,
    })
    .await
}
