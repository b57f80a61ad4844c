//! A future that completes after a delay.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll};
use std::time::Duration;

use garrick_sched::{Nanos, nanos};

use super::sleepers::{Key, Sleepers};

/// A future that completes after a delay. Created by
/// [`AsyncContext::sleep`](crate::AsyncContext::sleep).
///
/// The delay starts at the end of the actor's poll in which this future is first polled. Timers
/// have a resolution of about 10 us, and the future never completes early. This future must be
/// polled by the actor that created it or by a future inside this actor.
///
/// # Cancel safety
/// Dropping this future cancels the sleep and releases all of its resources. The delay also passes
/// while the future is not polled.
#[must_use = "a sleep begins only when it is awaited or polled"]
pub struct Sleep {
    sleepers: Arc<Sleepers>,
    stage: Stage,
}

enum Stage {
    /// The sleep has not been polled yet. Contains its duration.
    New(Nanos),
    /// The sleep has started. Contains the key under which the actor's sleeps store it.
    Asleep(Key),
    /// The sleep is over.
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
