//! Sleeping as a future.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll};
use std::time::Duration;

use garrick_sched::{Nanos, nanos};

use super::sleepers::{Key, Sleepers};

/// A future that is ready when its time is over. Created by
/// [`AsyncContext::sleep`](crate::AsyncContext::sleep).
///
/// The time counts from the end of the poll in which it is first polled. It is accurate to the
/// timers' resolution of about 10 us, and never early. It must be polled by the actor that created
/// it, or by a future inside that actor.
///
/// # Cancel safety
/// Dropping it cancels it, and leaves nothing behind. A sleep that is polled again later has slept
/// meanwhile.
#[must_use = "a sleep that nobody awaits does not begin"]
pub struct Sleep {
    sleepers: Arc<Sleepers>,
    stage: Stage,
}

enum Stage {
    /// Not polled yet, with the length of the sleep.
    New(Nanos),
    /// Asleep under this key.
    Asleep(Key),
    /// Over.
    Over,
}

impl Sleep {
    pub(super) fn new(sleepers: Arc<Sleepers>, delay: Duration) -> Self {
        let delay = nanos(delay);
        Self {
            sleepers,
            stage: Stage::New(delay),
        }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut task::Context<'_>) -> Poll<()> {
        match self.stage {
            Stage::New(delay) => {
                let key = self.sleepers.begin(delay, context.waker());
                self.stage = Stage::Asleep(key);
                return Poll::Pending;
            }
            Stage::Asleep(key) if !self.sleepers.is_over(key, context.waker()) => {
                return Poll::Pending;
            }
            Stage::Asleep(_) => self.stage = Stage::Over,
            Stage::Over => {}
        }
        Poll::Ready(())
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Stage::Asleep(key) = self.stage {
            self.sleepers.cancel(key);
        }
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleep")
            .field("is_over", &matches!(self.stage, Stage::Over))
            .finish()
    }
}
