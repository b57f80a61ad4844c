//! Waking a stage at a time: the one place that knows how.

use std::time::Duration;

use garrick_sched::{Nanos, Turn};

use crate::post::Wake;

/// Sends [`Wake::Timer`] to the stage whose turn it is when its world's clock says `deadline`.
pub(crate) fn wake_at(deadline: Nanos, turn: &Turn<'_, Wake>) {
    let delay = Duration::from_nanos(deadline.saturating_sub(turn.now()));
    // It is sent to the stage itself, which has not ended.
    let _ = turn.send_after(delay, &turn.address(), Wake::Timer);
}
