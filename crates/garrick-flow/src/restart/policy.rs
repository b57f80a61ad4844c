//! Limit and delay of a stage's restarts.

use std::time::Duration;

use garrick_core::backoff::{Backoff, Intensity};
use garrick_sched::Nanos;

/// Default maximum number of restarts.
const RESTARTS_MAX: usize = 3;
/// Default period in which the restarts are counted.
const WITHIN: Duration = Duration::from_secs(5);

/// The limit of a stage's restarts, and the delay before each restart.
///
/// The default is three restarts in five seconds, without a delay.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use garrick_flow::{Backoff, Restarts};
///
/// let patient = Restarts::at_most(10, Duration::from_secs(60))
///     .backoff(Backoff::exponential(Duration::from_millis(10), Duration::from_secs(1)));
/// # let _ = patient;
/// ```
#[derive(Debug, Clone)]
pub struct Restarts {
    /// Counter of recent restarts. `None` if the number of restarts is not limited.
    intensity: Option<Intensity>,
    /// Delay before each restart.
    backoff: Backoff,
    /// Number of restarts since the delay was last reset. The delay is reset when the stage has run
    /// for long enough.
    streak: u32,
}

impl Restarts {
    /// Allows at most `count` restarts within any period of length `within`. After one more panic
    /// in the same period, the stage ends and is not restarted.
    #[must_use]
    pub fn at_most(count: usize, within: Duration) -> Self {
        Self {
            intensity: Some(Intensity::new(count, within)),
            ..Self::unlimited()
        }
    }

    /// Allows any number of restarts. Add a delay with [`backoff`](Self::backoff), because without
    /// a delay, a stage that always panics keeps a core busy.
    #[must_use]
    pub fn unlimited() -> Self {
        Self {
            intensity: None,
            backoff: Backoff::NONE,
            streak: 0,
        }
    }

    /// Sets the delay before each restart.
    #[must_use]
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.backoff = backoff;
        self
    }

    /// Counts a restart at the time `now`. `up_since` is the time at which the stage was last
    /// started, and `random` is a random number for the jitter. Returns the delay before the
    /// restart, or the reason why the stage must not be restarted.
    pub(super) fn next(
        &mut self,
        now: Nanos,
        up_since: Nanos,
        random: u64,
    ) -> Result<Duration, String> {
        if let Some(intensity) = &mut self.intensity
            && !intensity.count(now)
        {
            let (max, within) = (intensity.restarts_max(), intensity.within());
            return Err(format!(
                "the restart limit ({max} within {within:?}) was exceeded"
            ));
        }
        if u128::from(now.saturating_sub(up_since)) >= self.backoff.resets_after().as_nanos() {
            self.streak = 0;
        }
        let wait = self.backoff.wait(self.streak, random);
        self.streak = self.streak.saturating_add(1);
        Ok(wait)
    }
}

impl Default for Restarts {
    fn default() -> Self {
        Self::at_most(RESTARTS_MAX, WITHIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_until_the_stage_was_up_for_long() {
        let backoff = Backoff::exponential(Duration::from_nanos(4), Duration::from_nanos(16));
        let mut restarts = Restarts::unlimited().backoff(backoff.jitter(0.0));
        let wait =
            |restarts: &mut Restarts, up| restarts.next(up, 0, 0).map(|wait| wait.as_nanos());
        let waits: Vec<_> = (0..4).map(|_| wait(&mut restarts, 1)).collect();
        assert_eq!(waits, [Ok(4), Ok(8), Ok(16), Ok(16)]);
        assert_eq!(wait(&mut restarts, 16), Ok(4));
    }

    #[test]
    fn one_too_many_is_named() {
        let mut restarts = Restarts::at_most(1, Duration::from_secs(2));
        assert_eq!(restarts.next(0, 0, 0), Ok(Duration::ZERO));
        let refused = restarts.next(1, 0, 0).unwrap_err();
        assert_eq!(refused, "the restart limit (1 within 2s) was exceeded");
    }
}
