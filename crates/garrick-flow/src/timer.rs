//! Wakes a stage at a given time.

use garrick_sched::{Nanos, Timer, Turn};

use crate::post::Wake;

/// Timer of a stage. Each stage has at most one timer in the timing wheel of its thread, even
/// if the stage changes the time that it waits for.
#[derive(Default)]
pub(crate) struct Alarm {
    /// Handle of the timer, or `None` if the stage has not waited for a time yet.
    timer: Option<Timer>,
    /// Time at which the timer fires. `None` if a [`Wake::Timer`] has arrived since the timer was
    /// set.
    due: Option<Nanos>,
}

impl Alarm {
    /// Makes sure that a [`Wake::Timer`] arrives at the current stage no later than `deadline`. If
    /// the timer is already set for an earlier time, leaves it unchanged, so that a stage that
    /// often waits for a long time need not set its timer each time. Otherwise, `deadline` replaces
    /// the earlier setting.
    pub(crate) fn set(&mut self, deadline: Nanos, turn: &Turn<'_, Wake>) {
        if self.due.is_some_and(|due| due <= deadline) {
            return;
        }
        self.due = Some(deadline);
        let timer = self.timer.get_or_insert_with(Timer::repeating);
        // The stage sends it to itself, and has not ended.
        let _ = turn.set_timer(timer, deadline, &turn.address(), Wake::Timer);
    }

    /// Records that a [`Wake::Timer`] has arrived. If the timer was set again after this message
    /// was sent, the timer will still fire. The next call of [`set`](Self::set) then replaces the
    /// deadline of this timer, so the stage never has two timers.
    pub(crate) fn rang(&mut self) {
        self.due = None;
    }

    /// Cancels the timer, because the stage ends with the current turn.
    pub(crate) fn cancel(&mut self) {
        if let Some(timer) = self.timer.take() {
            timer.cancel();
        }
    }
}
