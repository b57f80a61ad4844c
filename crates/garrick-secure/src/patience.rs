//! How long a reader waits, without any clock: it is told the time.
//!
//! A frame's time counts from when its first byte was there and others were waited for; silence from when the wait
//! began. One timer at a time is set, and it is not cancelled: when it rings, it is looked whether what is waited for now is
//! due, and if it is not, the timer is set again. So frames that come in time cost a look at the clock when one has to
//! wait for bytes, and no timer.

use std::time::Duration;

use garrick_actor::Nanos;
use garrick_sched::nanos;

use crate::error::{Error, Wait};

/// What is waited for, and since when.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    wait: Wait,
    limit: Duration,
    deadline: Nanos,
}

/// A timer to be set. Only the one that was set last counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Alarm {
    pub(crate) number: u64,
    pub(crate) delay: Duration,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Patience {
    frame: Duration,
    silence: Option<Duration>,
    /// When the first byte of the frame was seen that is not complete.
    began: Option<Nanos>,
    waiting: Option<Waiting>,
    /// When the newest timer rings, if it has not.
    rings: Option<Nanos>,
    /// How many timers there were.
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

    /// The frame is complete.
    pub(crate) fn complete(&mut self) {
        self.began = None;
    }

    /// Bytes are waited for from now on, those of a frame that has begun or of the next one.
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

    /// Bytes have come.
    pub(crate) fn served(&mut self) {
        self.waiting = None;
    }

    /// A timer rings.
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

    /// A timer for `deadline`, unless one rings by then.
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
