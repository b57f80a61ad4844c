//! Wakes a stage at a given time.

use std::time::Duration;

use garrick_sched::{Nanos, Turn};

use crate::post::Wake;

/// Sets a timer that sends [`Wake::Timer`] to the current stage when the thread's clock reaches
/// `deadline`.
pub(crate) fn wake_at(deadline: Nanos, turn: &Turn<'_, Wake>) {
    let delay = Duration::from_nanos(deadline.saturating_sub(turn.now()));
    // The stage sends it to itself, and has not ended.
    let _ = turn.send_after(delay, &turn.address(), Wake::Timer);
}
