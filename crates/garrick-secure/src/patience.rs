//! Time limits for the receipt of frames. The caller passes the current time, so this module needs
//! no clock.
//!
//! The time limit for a frame starts when the first byte of the frame has arrived and the caller
//! waits for more bytes. The time limit for silence starts when the caller begins to wait for a
//! frame. Timers are never cancelled, but only the most recent timer counts. When this timer
//! expires before the current wait has reached its time limit, a new timer is set. So most frames
//! that arrive in time need no additional timer. The caller reads the clock once for each wait.

use std::time::Duration;

use garrick_actor::system::Nanos;
use garrick_sched::nanos;

use crate::error::{Error, Wait};

/// The kind of the current wait, its time limit, and its deadline.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    wait: Wait,
    limit: Duration,
    deadline: Nanos,
}

/// A request to set a timer. If several timers were set, all except the one that was set last are
/// ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Alarm {
    pub(crate) number: u64,
    pub(crate) delay: Duration,
}

/// The time limits for the receipt of frames, and the state of the current wait.
#[derive(Debug)]
pub(crate) struct Patience {
    frame: Duration,
    silence: Option<Duration>,
    /// Time at which the first byte of the incomplete frame was seen.
    began: Option<Nanos>,
    waiting: Option<Waiting>,
    /// Time at which the current timer expires. `None` if the timer has expired, or if no timer was
    /// set yet.
    rings: Option<Nanos>,
    /// Sequence number of the most recent timer. 0 if no timer was set yet.
    alarms: u64,
}

impl Patience {
    pub(crate) fn new(frame: Duration, silence: Option<Duration>) -> Self {
        Self {
            frame,
            silence,
            began: None,
            waiting: None,
            rings: None,
            alarms: 0,
        }
    }

    /// Records that the current frame has been received completely.
    pub(crate) fn complete(&mut self) {
        self.began = None;
    }

    /// Begins to wait for bytes: for the rest of a frame if `has_begun` is true, and otherwise for
    /// the next frame. Returns a timer to set, if necessary.
    pub(crate) fn wait(&mut self, now: Nanos, has_begun: bool) -> Option<Alarm> {
        let (wait, since, limit) = if has_begun {
            (Wait::Frame, *self.began.get_or_insert(now), self.frame)
        } else {
            (Wait::Silence, now, self.silence?)
        };
        let deadline = since.saturating_add(nanos(limit));
        self.waiting = Some(Waiting {
            wait,
            limit,
            deadline,
        });
        self.alarm(now, deadline)
    }

    /// Ends the current wait, because a read has finished.
    pub(crate) fn served(&mut self) {
        self.waiting = None;
    }

    /// Handles the expiry of the timer with the sequence number `number`. Returns an error if the
    /// time limit of the current wait has been reached. Otherwise returns a timer to set for this
    /// wait. Returns `None` if no wait is in progress, or if the timer is not the most recent one.
    pub(crate) fn ring(&mut self, number: u64, now: Nanos) -> Result<Option<Alarm>, Error> {
        if number != self.alarms {
            return Ok(None);
        }
        self.rings = None;
        match self.waiting {
            Some(due) if due.deadline <= now => Err(Error::TimedOut {
                wait: due.wait,
                limit: due.limit,
            }),
            Some(later) => Ok(self.alarm(now, later.deadline)),
            None => Ok(None),
        }
    }

    /// Returns a timer for `deadline`. Returns `None` if the current timer expires at or before
    /// `deadline`.
    fn alarm(&mut self, now: Nanos, deadline: Nanos) -> Option<Alarm> {
        if self.rings.is_some_and(|rings| rings <= deadline) {
            return None;
        }
        self.rings = Some(deadline);
        self.alarms += 1;
        Some(Alarm {
            number: self.alarms,
            delay: Duration::from_nanos(deadline.saturating_sub(now)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Duration = Duration::from_nanos(10);
    const SILENCE: Duration = Duration::from_nanos(100);

    fn timed_out(wait: Wait, limit: Duration) -> Result<Option<Alarm>, Error> {
        Err(Error::TimedOut { wait, limit })
    }

    fn alarm(number: u64, delay: u64) -> Option<Alarm> {
        let delay = Duration::from_nanos(delay);
        Some(Alarm { number, delay })
    }

    #[test]
    fn a_frame_that_drips_has_one_deadline() {
        let mut patience = Patience::new(FRAME, None);
        assert_eq!(patience.wait(5, true), alarm(1, 10));
        for now in 6..15 {
            patience.served();
            assert_eq!(patience.wait(now, true), None);
        }
        assert_eq!(patience.ring(1, 15), timed_out(Wait::Frame, FRAME));
    }

    #[test]
    fn a_frame_in_time_leaves_a_timer_that_sets_itself_again() {
        let mut patience = Patience::new(FRAME, None);
        assert_eq!(patience.wait(0, true), alarm(1, 10));
        patience.served();
        patience.complete();
        assert_eq!(patience.wait(6, true), None);
        assert_eq!(patience.ring(1, 10), Ok(alarm(2, 6)));
        assert_eq!(patience.ring(2, 16), timed_out(Wait::Frame, FRAME));
    }

    #[test]
    fn silence_is_another_limit_or_none() {
        let mut patience = Patience::new(FRAME, Some(SILENCE));
        assert_eq!(patience.wait(0, false), alarm(1, 100));
        assert_eq!(patience.ring(1, 100), timed_out(Wait::Silence, SILENCE));
        assert_eq!(Patience::new(FRAME, None).wait(0, false), None);
    }

    #[test]
    fn a_nearer_deadline_outdates_the_timer() {
        let mut patience = Patience::new(FRAME, Some(SILENCE));
        assert_eq!(patience.wait(0, false), alarm(1, 100));
        patience.served();
        assert_eq!(patience.wait(50, true), alarm(2, 10));
        assert_eq!(patience.ring(1, 100), Ok(None));
        assert_eq!(patience.ring(2, 100), timed_out(Wait::Frame, FRAME));
    }

    #[test]
    fn who_waits_for_nothing_is_not_late() {
        let mut patience = Patience::new(FRAME, None);
        assert_eq!(patience.wait(0, true), alarm(1, 10));
        patience.served();
        assert_eq!(patience.ring(1, 10), Ok(None));
    }
}
